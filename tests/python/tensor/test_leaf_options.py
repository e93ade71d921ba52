# tests/python/tensor/test_leaf_options.py -- requires_grad, layout, pin_memory and memory_format of
# functions that make tensors; copy, force and requires_grad of those that hand values over.
import numpy as np
import pytest

import ebb

X = ebb.zeros(2, 3)
MAKERS = {
    "empty": lambda **given: ebb.empty(2, 3, **given),
    "zeros": lambda **given: ebb.zeros(2, 3, **given),
    "ones": lambda **given: ebb.ones((2, 3), **given),
    "full": lambda **given: ebb.full((2, 3), 1.0, **given),
    "arange": lambda **given: ebb.arange(3.0, **given),
    "linspace": lambda **given: ebb.linspace(0, 1, 3, **given),
    "logspace": lambda **given: ebb.logspace(0, 1, 3, **given),
    "range": lambda **given: ebb.range(1, 3, **given),
    "eye": lambda **given: ebb.eye(3, **given),
    "rand": lambda **given: ebb.rand(3, **given),
    "randn": lambda **given: ebb.randn(3, **given),
    "normal": lambda **given: ebb.normal(0.0, 1.0, (3,), **given),
    "empty_strided": lambda **given: ebb.empty_strided((2, 3), (3, 1), **given),
    "empty_permuted": lambda **given: ebb.empty_permuted((2, 3), (0, 1), **given),
    "empty_like": lambda **given: ebb.empty_like(X, **given),
    "zeros_like": lambda **given: ebb.zeros_like(X, **given),
    "ones_like": lambda **given: ebb.ones_like(X, **given),
    "full_like": lambda **given: ebb.full_like(X, 1, **given),
    "rand_like": lambda **given: ebb.rand_like(X, **given),
    "randn_like": lambda **given: ebb.randn_like(X, **given),
    "randint_like": lambda **given: ebb.randint_like(X, 3, **given),
    "new_empty": lambda **given: X.new_empty(2, **given),
    "new_zeros": lambda **given: X.new_zeros(2, **given),
    "new_ones": lambda **given: X.new_ones(2, **given),
    "new_full": lambda **given: X.new_full((2,), 1, **given),
    "new_tensor": lambda **given: X.new_tensor([1.0], **given),
    "new_empty_strided": lambda **given: X.new_empty_strided((2,), (1,), **given),
    "bartlett_window": lambda **given: ebb.bartlett_window(3, **given),
    "kaiser_window": lambda **given: ebb.kaiser_window(3, **given),
    "fft.fftfreq": lambda **given: ebb.fft.fftfreq(3, **given),
}
WHOLE = {
    "randint": lambda **given: ebb.randint(3, (2,), **given),
    "randperm": lambda **given: ebb.randperm(3, **given),
    "tril_indices": lambda **given: ebb.tril_indices(2, 2, **given),
    "triu_indices": lambda **given: ebb.triu_indices(2, 2, **given),
}
ALL = {**MAKERS, **WHOLE}


@pytest.mark.parametrize("name", ALL)
def test_options_that_ask_for_what_is_done_anyway_change_nothing(name):
    plain = ALL[name]()
    for given in (
        {"layout": ebb.strided},
        {"layout": None},
        {"pin_memory": False},
        {"pin_memory": True, "layout": ebb.strided},
    ):
        made = ALL[name](**given)
        assert (made.shape, made.dtype, made.stride()) == (plain.shape, plain.dtype, plain.stride())
        assert made.layout is ebb.strided
        can_pin = ebb.ones(1).pin_memory().is_pinned()  # where a device has such memory
        assert made.is_pinned() is (can_pin and given.get("pin_memory", False))


@pytest.mark.parametrize("name", ALL)
def test_another_layout_is_refused_by_name(name):
    with pytest.raises(ebb.errors.ValueError) as caught:
        ALL[name](layout=ebb.sparse_coo)
    assert str(caught.value).startswith(f"{name}(): layout must be ebb.strided, got ")
    assert "sparse_coo" in str(caught.value)


@pytest.mark.parametrize("name", ALL)
def test_pin_memory_takes_a_bool(name):
    with pytest.raises(TypeError) as caught:
        ALL[name](pin_memory=3)
    assert str(caught.value) == f"{name}(): argument 'pin_memory' must be bool, got int"


@pytest.mark.parametrize("name", MAKERS)
def test_a_new_tensor_may_be_a_leaf(name):
    made = MAKERS[name](requires_grad=True)
    assert made.is_leaf
    made.sum().backward()
    assert made.grad.tolist() == ebb.ones(made.shape).tolist()
    assert not MAKERS[name]().requires_grad


@pytest.mark.parametrize("name", WHOLE)
def test_integers_take_no_gradient(name):
    assert not WHOLE[name](requires_grad=False).requires_grad
    with pytest.raises(ebb.Error):
        WHOLE[name](requires_grad=True)


def test_a_leaf_like_another_tensor_has_no_history():
    x = ebb.ones(2, requires_grad=True)
    made = ebb.zeros_like(x * 2, requires_grad=True)
    assert made.is_leaf and made.requires_grad
    (made * x).sum().backward()
    assert (made.grad.tolist(), x.grad.tolist()) == ([1.0, 1.0], [0.0, 0.0])


@pytest.mark.parametrize(
    "make", [ebb.empty_like, ebb.zeros_like, ebb.ones_like, ebb.clone, ebb.Tensor.contiguous]
)
def test_no_memory_format_may_be_said(make):
    assert make(X, memory_format=None).stride() == (3, 1)
    with pytest.raises(ebb.Error, match="memory_format"):
        make(X, memory_format="rows")


def test_empty_lies_in_the_order_of_a_format():
    made = ebb.empty(1, 2, 3, 4, memory_format=ebb.channels_last, requires_grad=True)
    assert made.stride() == (24, 1, 8, 2)
    assert made.requires_grad and made.is_leaf
    with pytest.raises(ebb.ShapeError, match=r"^empty: this memory_format needs 4 dims"):
        ebb.empty(2, 3, memory_format=ebb.channels_last)


@pytest.mark.parametrize("name", ebb.signal.windows.__all__)
def test_windows_take_a_layout(name):
    make = getattr(ebb.signal.windows, name)
    given = {"a": [0.5, 0.5]} if name == "general_cosine" else {}
    plain = make(4, **given)
    assert make(4, layout=ebb.strided, **given).tolist() == plain.tolist()
    with pytest.raises(ebb.errors.ValueError, match=r"layout must be ebb.strided"):
        make(4, layout=ebb.sparse_csr, **given)


def test_asarray_shares_copies_and_makes_leaves():
    values = np.zeros(2, dtype=np.float32)
    shared, copied = ebb.asarray(values), ebb.asarray(values, copy=True)
    values[0] = 1
    assert (shared.tolist(), copied.tolist()) == ([1.0, 0.0], [0.0, 0.0])
    assert ebb.asarray(obj=values, copy=False).tolist() == [1.0, 0.0]
    for obj, dtype in ((values, ebb.float64), ([1.0], None)):
        with pytest.raises(ebb.errors.ValueError, match=r"^asarray: needs a copy .* copy=False"):
            ebb.asarray(obj, dtype=dtype, copy=False)
    x = ebb.zeros(2)
    leaf = ebb.asarray(x, requires_grad=True)
    assert leaf.requires_grad and leaf.is_leaf and not x.requires_grad
    assert leaf.data_ptr() == x.data_ptr()


def test_numpy_by_force_gives_the_values_alone():
    x = ebb.ones(2, requires_grad=True) * 2
    with pytest.raises(ebb.Error, match=r"^numpy: needs a tensor that does not require grad"):
        x.numpy(force=False)
    assert x.numpy(force=True).tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match=r"^numpy\(\): "):
        x.numpy(True)


def test_cpu_takes_a_memory_format():
    x = ebb.zeros(1, 2, 3, 4)
    assert x.cpu(memory_format=ebb.channels_last).stride() == (24, 1, 8, 2)
    assert x.cpu() is x
    assert x.cpu(memory_format=ebb.preserve_format) is x
