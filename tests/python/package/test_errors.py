# tests/python/package/test_errors.py -- classes of exceptions, and the texts of bad calls.
import builtins

import pytest

import ebb
from tests.python.fresh import finished


@pytest.mark.parametrize(
    ("name", "standard"),
    [
        ("ShapeError", ValueError),
        ("ValueError", ValueError),
        ("DTypeError", TypeError),
        ("IndexError", IndexError),
        ("AutogradError", RuntimeError),
        ("NotImplementedError", NotImplementedError),
        ("OutOfMemoryError", MemoryError),
        ("IoError", OSError),
        ("DeviceError", RuntimeError),
        ("InternalError", RuntimeError),
    ],
)
def test_each_class_is_its_standard_class_and_a_runtime_error(name, standard):
    error = getattr(ebb.errors, name)
    assert issubclass(error, standard) and issubclass(error, RuntimeError)
    assert issubclass(error, ebb.Error) and error.__module__ == "ebb.errors"


def test_an_unknown_instruction_set_is_refused_at_import():
    result = finished("import ebb", EBB_ISA="sse9")
    assert result.returncode == 1
    assert "EBB_ISA: needs baseline, avx2 or avx512, got sse9" in result.stderr


def test_builtin_names_are_not_hidden():
    assert not hasattr(ebb, "ValueError") and not hasattr(ebb, "IndexError")
    assert builtins.ValueError is ValueError


X = ebb.ones(2, 3)

BAD_CALLS = {
    "add(): argument 'other' (position 2) must be Tensor or number, got str": lambda: ebb.add(
        X, "a"
    ),
    "add(): argument 'other' (position 1) must be Tensor or number, got str": lambda: X.add("a"),
    "add(): argument 'input' (position 1) must be Tensor or number, got NoneType": lambda: ebb.add(
        None, X
    ),
    "add(): needs argument 'other' (position 2), got none": lambda: ebb.add(X),
    "add(): got an unexpected keyword argument 'foo'": lambda: ebb.add(X, X, foo=1),
    "add(): takes 2 positional arguments, got 4": lambda: ebb.add(X, X, X, X),
    "add(): got two values for argument 'input'": lambda: ebb.add(X, X, input=X),
    "exp(): takes 0 positional arguments, got 1": lambda: X.exp(1),
    "exp(): takes 1 positional argument, got 2": lambda: ebb.exp(X, 1),
    "relu(): argument 'input' (position 1) must be Tensor, got int": lambda: ebb.relu(3),
    "reshape(): argument 'shape' (position 1) must be int or sequence of ints, got str": (
        lambda: X.reshape("a")
    ),
    "reshape(): argument 'shape' (position 1) must be a sequence of ints, "
    "got float at position 1": (lambda: X.reshape((1, 2.0))),
    "transpose(): argument 'dim1' (position 2) must be int, got float": lambda: X.transpose(0, 1.0),
    "sum(): argument 'keepdim' (position 2) must be bool, got int": lambda: X.sum(0, 1),
    "sum(): argument 'dtype' (position 4) must be ebb.dtype, got str": (
        lambda: ebb.sum(X, dtype="float32")
    ),
    "cat(): argument 'tensors' (position 1) must be sequence of Tensors, got Tensor": None,
    "cat(): argument 'tensors' (position 1) must be a sequence of Tensors, got int at position 1": (
        lambda: ebb.cat([X, 3])
    ),
    "where(): argument 'condition' (position 1) must be Tensor, got bool": (
        lambda: ebb.where(True, X, X)
    ),
    "cross_entropy(): argument 'reduction' (position 5) must be 'none', 'mean' or 'sum', "
    "got 'avg'": (lambda: ebb.cross_entropy(X, ebb.tensor([0, 1]), reduction="avg")),
    "zeros(): argument 'size' (position 1) must be int or sequence of ints, got float": (
        lambda: ebb.zeros(2.5)
    ),
    "randn(): argument 'generator' (position 5) must be ebb.Generator, got int": (
        lambda: ebb.randn(2, generator=3)
    ),
}


@pytest.mark.parametrize("text", [text for text, call in BAD_CALLS.items() if call])
def test_a_bad_call_says_what_it_needs(text):
    with pytest.raises(TypeError if "'none'" not in text else ValueError) as caught:
        BAD_CALLS[text]()
    assert str(caught.value) == text
    assert isinstance(caught.value, ebb.Error)


def test_a_failed_allocation_is_a_memory_error():
    x = ebb.ones(100_000)
    ebb._C._fail_allocation_after(0, True)
    try:
        with pytest.raises(MemoryError, match="live"):
            x + x
    finally:
        ebb._C._fail_allocation_after(-1)
    assert (x + x)[0].item() == 2.0


def test_sizes_that_overflow_are_refused():
    for size in ((2**62, 4), (2**40, 2**40), (-1,), (2**63 - 1,)):
        with pytest.raises((ValueError, MemoryError)):
            ebb.zeros(size)
    with pytest.raises(ValueError, match="64 bits"):
        ebb.zeros(2**64)


def test_devices_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="zeros: needs a device that is there, got cuda:0"):
        ebb.zeros(1, device="cuda:0")
    with pytest.raises(ValueError, match="teapot"):
        ebb.zeros(1, device="teapot")


def test_attributes_check_their_values():
    x = ebb.ones(2)
    with pytest.raises(TypeError, match="requires_grad: needs a bool, got int"):
        x.requires_grad = 1
    with pytest.raises(TypeError, match="grad: needs a Tensor or None, got str"):
        x.grad = "a"
    with pytest.raises(ValueError, match=r"needs the tensor's shape \[2\], got \[3\]"):
        x.grad = ebb.ones(3)
    with pytest.raises(TypeError, match="floating or complex"):
        ebb.ones(2, dtype=ebb.int64).requires_grad_()
    with pytest.raises(AttributeError):
        x.shape = (1,)


def test_errors_leave_the_interpreter_lock_alone():
    x = ebb.ones(300, 300)
    for _ in range(10):
        with pytest.raises(ValueError, match="matmul"):
            x @ ebb.ones(299, 300)
    assert (x @ x).shape == (300, 300)
