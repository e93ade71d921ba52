# tests/python/tensor/test_fill.py -- fill_ of dense memory that starts and ends anywhere, and
# copies of repeated elements.
import numpy as np
import pytest

import ebb

WHOLE = ["int8", "int16", "int32", "int64"]
NUMBERS = {
    **dict.fromkeys(WHOLE, -77),
    **dict.fromkeys(["float16", "bfloat16", "float32", "float64"], 1.375),
    **dict.fromkeys(["complex64", "complex128"], 1.5 - 0.25j),
}


@pytest.mark.parametrize("dtype", NUMBERS)
def test_every_element_is_written_and_no_other(dtype):
    number = NUMBERS[dtype]
    for count in [*range(20), 31, 32, 33, 63, 64, 65, 1000]:
        for offset in range(5):
            room = ebb.zeros(count + 8, dtype=getattr(ebb, dtype))
            room[offset : offset + count].fill_(number)
            wanted = [number if offset <= i < offset + count else 0 for i in range(count + 8)]
            assert room.tolist() == wanted


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
def test_memory_larger_than_caches_is_filled_to_its_ends(dtype, threads):
    number = NUMBERS[dtype]
    item = np.dtype(dtype).itemsize
    count = (64 << 20) // item + 5
    ebb.set_num_threads(threads)
    room = ebb.zeros(count + 4, dtype=getattr(ebb, dtype))
    room[3:-1].fill_(number)
    values = room.numpy()
    assert (values[3:-1] == number).all()
    room[5:-3].zero_()
    assert not values[5:-3].any()
    assert (values[3:5] == number).all()
    assert (values[-3:-1] == number).all()
    assert not values[:3].any()
    assert not values[-1]


def test_complex_numbers_between_blocks_of_16_bytes_are_filled():
    room = np.zeros(50)
    start = 1 if room.ctypes.data % 16 == 0 else 2
    place = room[start : start + 40].view(np.complex128)
    ebb.from_numpy(place).fill_(2 - 3j)
    assert place.ctypes.data % 16 == 8
    assert (place == 2 - 3j).all()
    assert not room[:start].any()
    assert not room[start + 40 :].any()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_copies_of_one_element_are_written_and_nothing_beside_them(dtype):
    number = NUMBERS[dtype]
    one = ebb.tensor([number], dtype=getattr(ebb, dtype))
    for count in [*range(1, 40), 63, 64, 65, 511, 512, 513, 1000]:
        assert one.expand(count).clone().tolist() == [number] * count
        room = ebb.zeros(count + 2, dtype=one.dtype)
        room[1:-1] = one
        assert room.tolist() == [0, *[number] * count, 0]


@pytest.mark.parametrize("width", [1, 3, 15, 16, 17, 64, 100, 600])
def test_columns_that_are_repeated_keep_their_rows(width):
    column = ebb.arange(40.0).reshape(40, 1)
    wanted = np.repeat(column.numpy(), width, axis=1)
    assert np.array_equal(column.expand(40, width).contiguous().numpy(), wanted)
    assert np.array_equal(column.repeat(1, width).numpy(), wanted)
    assert np.array_equal(column.reshape(40).repeat_interleave(width).numpy(), wanted.reshape(-1))
    assert np.array_equal((-column.expand(40, width)).numpy(), -wanted)
