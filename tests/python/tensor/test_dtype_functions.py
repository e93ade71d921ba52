# tests/python/tensor/test_dtype_functions.py -- promotion asked for, memory shared, switches.
import array
import ctypes

import numpy as np
import pytest

import ebb

KNOWN = [ebb.bool, ebb.uint8, ebb.int8, ebb.int32, ebb.int64, ebb.float16, ebb.bfloat16,
         ebb.float32, ebb.float64, ebb.complex64, ebb.complex128]  # fmt: skip


@pytest.mark.parametrize("left", KNOWN, ids=str)
def test_types_promote_as_sums_do(left):
    for right in KNOWN:
        summed = ebb.zeros(1, dtype=left) + ebb.zeros(1, dtype=right)
        assert ebb.promote_types(left, right) is summed.dtype


def test_numbers_and_tensors_without_dims_promote_less():
    whole, real = ebb.ones(2, dtype=ebb.int32), ebb.ones((), dtype=ebb.float64)
    assert ebb.result_type(whole, 1) is ebb.int32
    assert ebb.result_type(1.5, whole) is ebb.float32
    assert ebb.result_type(ebb.ones(2), real) is ebb.float32
    assert ebb.result_type(1, 2.0) is ebb.float32


def test_a_cast_must_not_lose_a_kind_of_number():
    assert ebb.can_cast(ebb.int64, ebb.uint8) and ebb.can_cast(ebb.bool, ebb.int8)
    assert not ebb.can_cast(ebb.float16, ebb.int64)
    assert not ebb.can_cast(ebb.complex64, ebb.float64)
    assert not ebb.can_cast(ebb.int8, ebb.bool)
    with pytest.raises(TypeError, match="can_cast: needs a dtype, got str"):
        ebb.can_cast("int8", ebb.bool)


def test_one_element_tells_whether_it_is_zero():
    assert ebb.is_nonzero(ebb.tensor([[-2.0]])) and not ebb.tensor(0).is_nonzero()
    with pytest.raises(ValueError, match=r"is_nonzero: needs a tensor of one element, got \[2\]"):
        ebb.is_nonzero(ebb.ones(2))


def test_dlpack_shares_memory_both_ways():
    theirs = np.arange(4.0)
    ours = ebb.from_dlpack(theirs)
    theirs[1] = 7
    assert ours.tolist() == [0, 7, 2, 3]
    back = np.from_dlpack(ours)
    ours[2] = 9
    assert back.tolist() == [0, 7, 9, 3]
    assert ours.__dlpack_device__() == (1, 0)
    copied = ebb.from_dlpack(theirs, copy=True)
    theirs[0] = 5
    assert copied[0].item() == 0


def test_a_capsule_of_dlpack_is_taken_once():
    x = ebb.arange(6.0).reshape(2, 3).mT
    capsule = ebb.to_dlpack(x)
    back = ebb.from_dlpack(capsule)
    back[0, 1] = 9.0
    assert x[0, 1] == 9.0 and back.shape == (3, 2)
    with pytest.raises(ValueError, match="from_dlpack: "):
        ebb.from_dlpack(capsule)
    with pytest.raises(TypeError, match="to_dlpack: argument 'tensor' must be Tensor"):
        ebb.to_dlpack([1.0])


class Exporter:
    """What another library has: an object that gives capsules of a tensor's memory."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


@pytest.mark.parametrize(
    "view", [lambda x: x, lambda x: x.mT, lambda x: x[1:, ::2], lambda x: x[1, 2], lambda x: x[:0]]
)
@pytest.mark.parametrize(
    "exchange",
    [
        lambda x: ebb.from_dlpack(Exporter(x)),
        lambda x: ebb.from_dlpack(ebb.to_dlpack(x)),
        lambda x: ebb.from_dlpack(x.__dlpack__(max_version=(1, 0))),
    ],
)
def test_bfloat16_goes_through_dlpack_in_place(exchange, view):
    x = view(ebb.arange(12.0).reshape(3, 4).bfloat16())
    back = exchange(x)
    assert back.dtype is ebb.bfloat16 and back.tolist() == x.tolist()
    assert back.shape == x.shape
    back.add_(1)
    assert back.tolist() == x.tolist()


def test_capsules_of_bfloat16_say_so():
    x = ebb.ones(2, dtype=ebb.bfloat16)
    for one in (Exporter(x), Capsule(x.__dlpack__())):
        with pytest.raises((BufferError, RuntimeError), match="Unsupported dtype"):
            np.from_dlpack(one)
    int16 = ebb.ones(2, dtype=ebb.int16)
    assert np.from_dlpack(Exporter(int16)).dtype == np.int16
    assert ebb.from_dlpack(ebb.to_dlpack(int16)).dtype is ebb.int16
    assert ebb.from_dlpack(ebb.to_dlpack(int16.half())).dtype is ebb.float16
    with pytest.raises((BufferError, RuntimeError), match="Unsupported dtype"):
        ebb.from_dlpack(Strange())


class Capsule:
    """A capsule as an object."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


class Strange(Capsule):
    """Elements of a kind that neither library has: bfloat16 of 8 bits."""

    def __init__(self):
        super().__init__(None)

    def __dlpack__(self, **_):
        capsule = ebb.ones(2, dtype=ebb.int8).__dlpack__()
        find = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", ctypes.pythonapi)
        )
        ctypes.c_uint8.from_address(find(capsule, b"dltensor") + 20).value = 4
        return capsule


def test_dlpack_is_a_module_of_utils():
    from ebb.utils.dlpack import from_dlpack, to_dlpack

    assert from_dlpack is ebb.from_dlpack and to_dlpack is ebb.to_dlpack
    assert ebb.utils.dlpack.to_dlpack is to_dlpack


def test_dlpack_refuses_what_it_cannot_share():
    with pytest.raises(TypeError, match="from_dlpack: needs an object that has __dlpack__"):
        ebb.from_dlpack([1.0])
    with pytest.raises(ebb.AutogradError, match="to_dlpack: needs a tensor that requires no grad"):
        ebb.to_dlpack(ebb.ones(2, requires_grad=True))


def test_buffers_are_read_in_place():
    memory = array.array("d", [1.0, 2.0, 3.0])
    view = ebb.frombuffer(memory, dtype=ebb.float64, offset=8)
    memory[1] = 5.0
    assert view.tolist() == [5.0, 3.0]
    assert ebb.frombuffer(b"\x01\x02\x03", dtype=ebb.uint8, count=2).tolist() == [1, 2]
    with pytest.raises(ValueError, match="frombuffer: "):
        ebb.frombuffer(b"\x01", dtype=ebb.float64)


def test_switches_read_back_what_was_asked_for():
    try:
        ebb.use_deterministic_algorithms(True, warn_only=True)
        assert ebb.are_deterministic_algorithms_enabled()
        assert ebb.is_deterministic_algorithms_warn_only_enabled()
        assert ebb.get_deterministic_debug_mode() == 1
        ebb.set_float32_matmul_precision("high")
        assert ebb.get_float32_matmul_precision() == "high"
    finally:
        ebb.set_deterministic_debug_mode("default")
        ebb.set_float32_matmul_precision("highest")
    assert not ebb.are_deterministic_algorithms_enabled()
    with pytest.raises(ValueError, match="needs 'highest', 'high' or 'medium', got 'low'"):
        ebb.set_float32_matmul_precision("low")


def test_a_tensor_says_how_it_lies():
    x = ebb.ones(2, 3).t()
    assert x.dim_order() == (1, 0) and x.get_device() == -1 and x.is_signed()
    assert x.resolve_conj() is x and not x.is_conj() and not x.is_neg() and not x.is_shared()
    assert x.cfloat().dtype is ebb.complex64 and x.cdouble().dtype is ebb.complex128
