# tests/python/tensor/test_foreign_arrays.py -- tensors of other libraries' arrays, and of buffers.
import array

import numpy as np
import pytest

import ebb


class Capsuled:
    """An array of another library, which also is a sequence, as PyTorch's tensors are."""

    def __init__(self, values):
        self.values = np.array(values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        raise AssertionError("read element by element")


class Arrayed:
    def __init__(self, values):
        self.values = np.array(values)

    def __array__(self, dtype=None, copy=None):
        return self.values


@pytest.mark.parametrize("kind", [Capsuled, Arrayed])
def test_arrays_of_others_are_copied_by_tensor_and_shared_by_as_tensor(kind):
    foreign = kind([[1.0, 2.0], [3.0, 4.0]])
    copied, shared = ebb.tensor(foreign), ebb.as_tensor(foreign)
    foreign.values[0, 0] = 9
    assert copied.tolist() == [[1, 2], [3, 4]] and copied.dtype is ebb.float64
    assert shared.tolist() == [[9, 2], [3, 4]] and ebb.asarray(foreign).data_ptr() == (
        shared.data_ptr()
    )
    assert ebb.asarray(foreign, copy=True).data_ptr() != shared.data_ptr()


@pytest.mark.parametrize("kind", [Capsuled, Arrayed])
def test_they_get_the_dtype_and_the_gradient_that_are_asked_for(kind):
    foreign = kind([1, 2])
    made = ebb.tensor(foreign, dtype=ebb.float32, requires_grad=True)
    made.sum().backward()
    assert made.dtype is ebb.float32 and made.grad.tolist() == [1, 1]
    assert ebb.as_tensor(foreign, dtype=ebb.int16).dtype is ebb.int16
    with pytest.raises(ValueError, match=r"asarray: needs a copy .* got copy=False"):
        ebb.asarray(foreign, dtype=ebb.int16, copy=False)


def test_a_sequence_with_an_array_is_read_as_a_sequence():
    class Both(list):
        def __array__(self, dtype=None, copy=None):
            raise AssertionError("asked for an array")

    assert ebb.tensor(Both([1.0, 2.0])).dtype is ebb.float32
    assert ebb.tensor(bytearray(b"ab")).tolist() == [97, 98]


@pytest.mark.parametrize("make", [ebb.tensor, ebb.as_tensor, ebb.asarray])
def test_what_their_arrays_hold_must_be_numbers(make):
    with pytest.raises(TypeError, match=f"{make.__name__}: "):
        make(Arrayed(["a"]))
    with pytest.raises(TypeError, match=f"{make.__name__}: needs numbers .* got object"):
        make(object())


def test_asarray_shares_buffers_as_elements_of_their_format():
    numbers = array.array("i", [1, 2])
    shared = ebb.asarray(numbers)
    numbers[0] = 7
    assert shared.tolist() == [7, 2] and shared.dtype is ebb.int32
    assert ebb.asarray(memoryview(np.ones((2, 2), np.int16))).tolist() == [1, 1, 1, 1]
    assert ebb.asarray(bytearray(b"\x01\x00\x02\x00"), dtype=ebb.int16).tolist() == [1, 2]
    assert ebb.asarray(numbers, copy=True).data_ptr() != shared.data_ptr()


def test_buffers_that_may_not_be_written_stay_as_they_are():
    content = b"ab"
    made = ebb.asarray(content)
    assert made.tolist() == [97, 98] and made.dtype is ebb.uint8
    with pytest.raises(ValueError, match="read-only"):
        made.fill_(1)


def test_buffers_of_parts_of_elements_are_refused():
    with pytest.raises(ValueError, match=r"asarray: needs a buffer of whole elements of .*, got 3"):
        ebb.asarray(b"abc", dtype=ebb.int16)
    with pytest.raises(NotImplementedError, match=r"asarray: needs a dtype of NumPy .* bfloat16"):
        ebb.asarray(b"abcd", dtype=ebb.bfloat16)
