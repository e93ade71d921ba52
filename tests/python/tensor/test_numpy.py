# tests/python/tensor/test_numpy.py -- NumPy in and out without copies, and what is refused.
import datetime
import gc
import weakref

import numpy as np
import pytest

import ebb

DTYPES = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
          "float16", "float32", "float64", "complex64", "complex128"]  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_memory_is_shared_both_ways(name):
    array = np.ones((2, 3), dtype=name)
    x = ebb.from_numpy(array)
    assert x.dtype is getattr(ebb, name) and x.shape == (2, 3)
    back = x.numpy()
    assert back.dtype == array.dtype and np.shares_memory(back, array)
    array[0, 0] = 0
    assert back[0, 0] == 0 and x[0, 0].item() == 0


def test_strided_broadcast_and_empty_arrays():
    base = np.arange(24.0).reshape(4, 6)
    for array in (base.T, base[::2, 1::3], np.broadcast_to(base[0], (3, 6)), base[:0], base[1, 2]):
        array = np.asarray(array)
        x = ebb.from_numpy(array)
        assert x.shape == array.shape and np.array_equal(x.numpy(), array)
        assert np.array_equal(np.asarray(x), array)


def test_the_array_lives_as_long_as_the_tensor():
    class Array(np.ndarray):
        pass

    array = np.zeros(3).view(Array)
    gone = weakref.ref(array)
    x = ebb.from_numpy(array)
    view = x[1:]
    del array, x
    gc.collect()
    assert gone() is not None and view.tolist() == [0.0, 0.0]
    del view
    gc.collect()
    assert gone() is None


def test_the_memory_lives_as_long_as_the_array():
    x = ebb.ones(1000)
    array = x.numpy()
    del x
    gc.collect()
    junk = [ebb.zeros(1000) for _ in range(10)]
    assert array.sum() == 1000 and len(junk) == 10


def test_new_data_does_not_move_an_array():
    x = ebb.ones(3)
    array = x.numpy()
    x.data = ebb.zeros(3)
    assert array.tolist() == [1.0, 1.0, 1.0]


def test_read_only_arrays_stay_read_only():
    array = np.arange(3.0)
    array.flags.writeable = False
    x = ebb.from_numpy(array)
    assert not x.numpy().flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        x.add_(1)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1.0


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: [1.0], TypeError, "needs a numpy.ndarray, got list"),
        (lambda: np.float32(1), TypeError, "needs a numpy.ndarray"),
        (lambda: np.array([None]), TypeError, "got object"),
        (lambda: np.array(["a"]), TypeError, "got <U1"),
        (lambda: np.array([b"a"]), TypeError, r"got \|S1"),
        (lambda: np.zeros(2, dtype="datetime64[s]"), TypeError, "datetime64"),
        (lambda: np.zeros(2, dtype=[("a", "f4")]), TypeError, "from_numpy"),
        (lambda: np.zeros(2, dtype=np.longdouble), TypeError, "got float128"),
        (lambda: np.zeros(2, dtype=">f4"), ValueError, "byte order, got >f4"),
        (lambda: np.arange(4)[::-1], ValueError, "not negative, got -8 bytes in dim 0"),
        (lambda: np.zeros(3, dtype="f4,i1")["f0"], ValueError, "multiples of the element size"),
        (lambda: np.zeros(9, np.uint8)[1:].view(np.float64), ValueError, "aligned"),
    ],
)
def test_arrays_that_cannot_be_shared_are_refused(make, error, text):
    with pytest.raises(error, match=text):
        ebb.from_numpy(make())


def test_tensor_copies_what_cannot_be_shared():
    assert ebb.tensor(np.arange(4)[::-1]).tolist() == [3, 2, 1, 0]
    assert ebb.tensor(np.array([1.0, 2.0], dtype=">f4")).tolist() == [1.0, 2.0]
    assert ebb.tensor(np.float64(2)).dtype is ebb.float64
    array = np.zeros(2)
    x = ebb.tensor(array)
    array[0] = 1
    assert x.tolist() == [0.0, 0.0]


ONE, TWO = np.array([0, 1]), ebb.tensor([2, 3])


@pytest.mark.parametrize(
    ("data", "values"),
    [
        ([ONE], [[0, 1]]),
        ([ONE, TWO, (4, 5)], [[0, 1], [2, 3], [4, 5]]),
        ([[ONE, [TWO[0], np.int8(3)]]], [[[0, 1], [2, 3]]]),
        ([ONE[::-1], ONE.astype(">i2")], [[1, 0], [0, 1]]),
        ([np.ones((2, 0)), np.ones((2, 0))], [[[], []], [[], []]]),
        ([ebb.ones(2, requires_grad=True) * 3, ONE], [[3, 3], [0, 1]]),
    ],
)
def test_arrays_and_tensors_inside_sequences_are_inner_dims(data, values):
    x = ebb.tensor(data)
    assert x.tolist() == values and x.is_leaf and not x.requires_grad
    assert ebb.as_tensor(data, dtype=ebb.float64).tolist() == values


def test_arrays_and_tensors_inside_sequences_promote_with_numbers():
    assert ebb.tensor([ONE.astype(np.int8), TWO.to(ebb.int16)]).dtype is ebb.int16
    assert ebb.tensor([ONE.astype(np.float64), [1, 2]]).dtype is ebb.float64
    assert ebb.tensor([TWO.to(ebb.int8), [1, 2]]).dtype is ebb.int64
    assert ebb.tensor([TWO, [0.5, 1]]).dtype is ebb.float32
    assert ebb.tensor([np.array(1.5), 2]).dtype is ebb.float64  # of 0 dims


@pytest.mark.parametrize(
    "data",
    [[ONE, [1]], [[1], ONE], [ONE, 1], [1, ONE], [ONE, np.ones((2, 2))], [[], np.array(3)]],
)
def test_arrays_of_other_shapes_are_ragged(data):
    with pytest.raises(ValueError, match=r"^tensor: sequences must not be ragged: .* at \[1"):
        ebb.tensor(data)


def test_arrays_inside_sequences_count_their_dims():
    deep = np.ones((1,) * 31)
    assert ebb.tensor([deep, deep]).shape == (2, *(1,) * 31)
    with pytest.raises(ValueError, match="at most 32 nested"):
        ebb.tensor([[deep]])


def test_as_tensor_shares_if_it_can():
    array = np.zeros(2)
    assert np.shares_memory(ebb.as_tensor(array).numpy(), array)
    x = ebb.ones(2)
    assert ebb.as_tensor(x) is x and ebb.asarray(x) is x
    assert ebb.as_tensor(array, dtype=ebb.float32).dtype is ebb.float32
    assert ebb.as_tensor([1, 2]).tolist() == [1, 2]


def test_numpy_refuses_history_and_bfloat16():
    with pytest.raises(RuntimeError, match=r"hint: use tensor.detach\(\).numpy\(\)"):
        ebb.ones(2, requires_grad=True).numpy()
    with pytest.raises(RuntimeError, match="not require grad"):
        np.asarray(ebb.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match="NumPy has no bfloat16"):
        ebb.ones(2, dtype=ebb.bfloat16).numpy()


def test_numpy_takes_tensors_with_history_under_no_grad():
    x = ebb.tensor([1.0, 2.0], requires_grad=True)
    with ebb.no_grad():
        assert x.numpy().tolist() == np.asarray(x * 1).tolist() == [1.0, 2.0]
        x.numpy()[0] = 5.0
    assert x.tolist() == [5.0, 2.0]


def test_numpy_numbers_count_as_numbers():
    x = ebb.ones(2)
    for number in (np.float32(2), np.float64(2), np.int64(2), np.uint8(2)):
        for y in (x * number, number * x):
            assert isinstance(y, ebb.Tensor) and y.dtype is ebb.float32 and y.tolist() == [2, 2]
    assert (x > np.float32(0)).tolist() == [True, True]
    assert ebb.zeros(np.int64(3)).shape == (3,)
    assert ebb.full((2,), np.float32(3)).tolist() == [3.0, 3.0]
    assert ebb.sum(ebb.ones(2, 2), np.int64(0), np.bool_(True)).shape == (1, 2)


def test_arrays_beside_tensors_become_tensors():
    x, array = ebb.ones(2), np.array([1.0, 2.0], dtype=np.float32)
    for y in (x + array, array + x):
        assert isinstance(y, ebb.Tensor) and y.tolist() == [2.0, 3.0]
    assert (array - x).tolist() == [0.0, 1.0]


def test_numpy_functions_take_tensors():
    assert np.sin(ebb.zeros(2)).tolist() == [0.0, 0.0]
    assert np.asarray(ebb.ones(2), dtype=np.float64).dtype == np.float64


def test_memoryview_sees_the_memory():
    x = ebb.arange(6).reshape(2, 3)
    view = memoryview(x)
    assert view.shape == (2, 3) and view.tolist() == [[0, 1, 2], [3, 4, 5]]
    view[0, 0] = 9
    assert x[0, 0].item() == 9


class Elsewhere:
    """An array that says where it is."""

    def __init__(self, device):
        self.device, self.asked = device, False

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.asked = True
        return np.ones(2).__dlpack__()


@pytest.mark.parametrize("device, error, text", [
    ((2, 0), ebb.errors.DeviceError, "^from_dlpack: needs memory of the CPU, .* 2\nhint"),
    ((99, 0), ebb.errors.DeviceError, "of kind 99"),
    (None, TypeError, "needs a pair of numbers from __dlpack_device__, got NoneType"),
    ((1,), TypeError, "needs a pair of numbers"),
    (("cpu", 0), TypeError, "needs a pair of numbers"),
])  # fmt: skip
def test_an_owner_elsewhere_is_not_asked_for_its_memory(device, error, text):
    owner = Elsewhere(device)
    with pytest.raises(error, match=text):
        ebb.from_dlpack(owner)
    assert not owner.asked


@pytest.mark.parametrize("device", [(1, 0), (3, 0)])
def test_memory_that_a_processor_reads_is_taken(device):
    owner = Elsewhere(device)
    assert ebb.from_dlpack(owner).tolist() == [1, 1] and owner.asked


def test_the_largest_integers_are_those_of_uint64():
    most = 2**64 - 1
    for given in (most, [most, 1], [[most], [2**63]], [np.uint64(most), 0]):
        made = ebb.tensor(given, dtype=ebb.uint64)
        assert made.tolist() == (np.array(given, dtype=np.uint64)).tolist()
    assert ebb.asarray(most, dtype=ebb.uint64).item() == most
    assert ebb.tensor(ebb.iinfo(ebb.uint64).max, dtype=ebb.uint64).item() == most


def test_integers_that_no_dtype_of_integers_holds_become_floats_where_those_are_asked_for():
    assert ebb.tensor(2**70, dtype=ebb.float64).item() == 2.0**70
    assert ebb.tensor([1.0, 2**70], dtype=ebb.float64).tolist() == [1.0, 2.0**70]
    for call, text in (
        (lambda: ebb.tensor(2**63), "must fit into int64, got 9223372036854775808"),
        (
            lambda: ebb.tensor(2**64, dtype=ebb.uint64),
            "must fit into uint64, got 18446744073709551616",
        ),
        (lambda: ebb.tensor(-(2**63) - 1), "must fit into int64, got -9223372036854775809"),
        (lambda: ebb.tensor([2**63, -1], dtype=ebb.uint64), "must fit into uint64, got -1"),
    ):
        with pytest.raises(ebb.errors.ValueError, match=f"^tensor: the number {text}"):
            call()


def test_capsules_that_hold_no_tensor_are_told_apart():
    taken = ebb.ones(2).__dlpack__()
    assert ebb.from_dlpack(taken).tolist() == [1, 1]
    with pytest.raises(
        ebb.errors.ValueError, match=r"^from_dlpack: .*, got one that was taken\nhint"
    ):
        ebb.from_dlpack(taken)
    with pytest.raises(
        ebb.errors.ValueError, match=r"^from_dlpack: .*, got 'datetime.datetime_CAPI'"
    ):
        ebb.from_dlpack(datetime.datetime_CAPI)


@pytest.mark.parametrize("given, text", [
    (5, r"^from_dlpack: needs a capsule from __dlpack__, got int"),
    (datetime.datetime_CAPI, r"^from_dlpack: needs a capsule named 'dltensor' .*, got 'datetime"),
])  # fmt: skip
def test_an_owner_that_gives_no_capsule_of_dlpack_is_told_so(given, text):
    class Owner:
        def __dlpack__(self, **options):
            return given

    with pytest.raises(ebb.Error, match=text):
        ebb.from_dlpack(Owner())
