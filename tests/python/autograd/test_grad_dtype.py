# tests/python/autograd/test_grad_dtype.py -- leaves whose gradients have another dtype than they.
import copy

import pytest

import ebb
from ebb.autograd import grad


def half_leaf(*values):
    leaf = ebb.tensor(list(values), dtype=ebb.bfloat16, requires_grad=True)
    leaf.grad_dtype = ebb.float32
    return leaf


def test_a_leaf_has_gradients_of_its_own_dtype_by_default():
    for x in (ebb.ones(1), ebb.ones(1, dtype=ebb.float64, requires_grad=True)):
        assert x.grad_dtype is x.dtype


def test_gradients_arrive_in_the_dtype_that_was_set():
    x, seen = half_leaf(1.0, 2.0), []
    x.register_hook(lambda grad: seen.append(grad.dtype))
    (x * 3).sum().backward()
    assert x.grad.dtype is ebb.float32 and x.grad.tolist() == [3.0, 3.0]
    assert grad((x * 3).sum(), x)[0].dtype is ebb.float32
    assert seen == [ebb.float32] * 2


def test_gradients_are_summed_in_the_dtype_that_was_set():
    step = 2.0**-9  # 1 + step is 1 in bfloat16
    for dtype, total in ((ebb.bfloat16, 1.0), (ebb.float32, 1.0 + 4 * step)):
        x = ebb.tensor([1.0], dtype=ebb.bfloat16, requires_grad=True)
        x.grad_dtype = dtype
        (x * 1).backward()
        for _ in range(4):
            (x * step).backward()
        assert x.grad.item() == total


def test_a_gradient_that_is_set_needs_the_dtype_that_was_set():
    x = half_leaf(1.0)
    with pytest.raises(
        TypeError, match="grad: needs the tensor's grad_dtype float32, got bfloat16"
    ):
        x.grad = ebb.ones(1, dtype=ebb.bfloat16)
    x.grad = ebb.ones(1)
    with pytest.raises(TypeError, match="needs the dtype of the gradient there is, float32"):
        x.grad_dtype = ebb.bfloat16
    x.grad = None
    x.grad_dtype = ebb.bfloat16
    (x * 2).backward()
    assert x.grad.dtype is ebb.bfloat16


def test_only_a_leaf_that_requires_a_gradient_may_have_another():
    x = half_leaf(1.0)
    with pytest.raises(RuntimeError, match=r"needs a leaf, got bfloat16 \[1\] made by Mul"):
        _ = (x * 2).grad_dtype
    with pytest.raises(RuntimeError, match="needs a leaf that requires a gradient"):
        ebb.ones(1).grad_dtype = ebb.float64
    for wrong in (ebb.int64, ebb.complex64):
        with pytest.raises(TypeError, match="needs a real floating dtype for a leaf of bfloat16"):
            x.grad_dtype = wrong
    with pytest.raises(TypeError, match="needs a dtype, got NoneType"):
        x.grad_dtype = None


def test_it_stays_with_the_leaf_as_long_as_its_dtype_does():
    x = half_leaf(1.0)
    x.data = ebb.zeros(1, dtype=ebb.bfloat16)
    assert x.grad_dtype is ebb.float32
    (x * 2).backward()
    twin = copy.deepcopy(x)
    assert twin.grad_dtype is ebb.float32 and twin.grad.tolist() == [2.0]
    x.grad = None
    x.data = ebb.zeros(1, dtype=ebb.float64)
    assert x.grad_dtype is ebb.float64


def test_indexing_broadcasting_and_second_derivatives_keep_to_it():
    x = half_leaf(1.0, 2.0)
    y = (x[ebb.tensor([0, 0, 1])] * x.sum()).sum()
    (first,) = grad(y, x, create_graph=True)  # y = (2a + b)(a + b)
    assert first.dtype is ebb.float32 and first.tolist() == [10.0, 7.0]
    assert grad(first.sum(), x)[0].tolist() == [7.0, 5.0]


def test_optimizers_and_modules_take_gradients_of_another_dtype():
    layer = ebb.nn.Linear(2, 1, bias=False).to(ebb.bfloat16)
    layer.weight.grad_dtype = ebb.float32
    layer(ebb.ones(1, 2, dtype=ebb.bfloat16)).sum().backward()
    before = layer.weight.tolist()
    ebb.optim.SGD(layer.parameters(), lr=1.0).step()
    assert layer.weight.tolist() != before
    layer.to(ebb.float64)
    assert layer.weight.grad.dtype is layer.weight.grad_dtype is ebb.float64
