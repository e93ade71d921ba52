# tests/python/autograd/test_data_attribute.py -- `x.data = y`: other memory, dtype or shape.
#
# Graphs that were recorded before keep what they saved; a leaf of another shape is another leaf to
# them.
"""What graphs, gradients, names and hooks make of new data."""

import gc

import numpy as np
import pytest

import ebb
from ebb import nn, optim

SHAPES = [(), (0,), (1,), (3,), (2, 3), (2, 1, 2, 1)]


def leaf(*shape, dtype=ebb.float32):
    return ebb.ones(*shape, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("before", SHAPES, ids=str)
@pytest.mark.parametrize("after", SHAPES, ids=str)
def test_a_leaf_takes_data_of_any_shape(before, after):
    x = ebb.ones(before, requires_grad=True)
    (x * 2).sum().backward()
    x.data = ebb.full(after, 3.0)
    assert x.shape == after and x.is_leaf and x.requires_grad
    if before != after:
        assert x.grad is None
    x.grad = None
    (x * x).sum().backward()
    assert x.grad.shape == after and np.all(x.grad.numpy() == 6.0)


def test_graphs_from_before_do_not_reach_a_leaf_of_another_shape():
    x, w = leaf(2), leaf(2)
    y = (x * w).sum()
    x.data = ebb.ones(3)
    y.backward()
    assert x.grad is None and w.grad.tolist() == [1.0, 1.0]
    assert ebb.autograd.grad((x * 2).sum(), x)[0].shape == (3,)


def test_the_same_shape_keeps_gradient_and_graphs():
    x = leaf(2)
    y = (x * 3).sum()
    y.backward(retain_graph=True)
    x.data = ebb.zeros(2)
    y.backward()
    assert x.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize("shape", [(2,), (3,)], ids=["same", "other"])
def test_what_was_saved_of_a_plain_tensor_stays(shape):
    x, factor = leaf(2), ebb.full((2,), 7.0)
    y = (x * factor).sum()
    factor.data = ebb.zeros(shape)
    assert factor.shape == shape and factor.sum().item() == 0
    y.backward()
    assert x.grad.tolist() == [7.0, 7.0]


@pytest.mark.parametrize("prepare", [lambda y: None, lambda y: y.retain_grad()], ids=["", "kept"])
@pytest.mark.parametrize("op", [lambda y, w: y * w, lambda y, w: w.exp() * y, lambda y, w: y @ w])
def test_what_was_saved_of_a_result_stays(op, prepare):
    wanted, found = [], []
    for takes_data, grads in [(False, wanted), (True, found)]:
        x, w = ebb.tensor([0.5, 2.0], requires_grad=True), leaf(2)
        y = x.exp()
        z = op(y, w).sum()
        prepare(y)  # after z has saved y
        if takes_data:
            y.data = ebb.tensor([7.0, 9.0])
            assert y.tolist() == [7.0, 9.0] and y.grad_fn is not None
        z.backward()
        grads += [x.grad.tolist(), w.grad.tolist(), y.grad.tolist() if y.retains_grad else None]
    assert found == wanted


def test_a_result_with_other_data_goes_on_from_its_history():
    x, w = ebb.tensor([0.5, 2.0], requires_grad=True), leaf(2)
    y = x.exp()
    before = (y * w).sum()
    y.name, y.note, same = "result", "kept", y
    y.register_hook(lambda grad: grad * 3)
    y.data = ebb.tensor([7.0, 9.0])
    assert same is y and (y.name, y.note) == ("result", "kept") and y.requires_grad
    after = (y * w).sum()
    (of_w,) = ebb.autograd.grad(after, w, retain_graph=True)
    assert of_w.tolist() == [7.0, 9.0]
    of_x, of_w = ebb.autograd.grad(before + after, (x, w))
    exp = x.exp().detach()
    np.testing.assert_allclose(of_x, 6 * exp)
    np.testing.assert_allclose(of_w, exp + ebb.tensor([7.0, 9.0]))


def test_refused_data_leave_a_saved_result_as_it_was():
    x, w = ebb.tensor([0.5, 2.0], requires_grad=True), leaf(2)
    y = x.exp()
    z = (y * w).sum()
    y.retain_grad()
    with pytest.raises(ValueError, match="hint: what has history keeps its shape"):
        y.data = ebb.ones(3)
    z.backward()
    assert y.grad.tolist() == [1.0, 1.0]


def test_an_object_with_attributes_stays_the_same_object():
    x, factor = leaf(2), ebb.full((2,), 7.0)
    factor.note = "kept"
    y = (x * factor).sum()
    same = factor
    factor.data = ebb.zeros(2)
    factor.data = ebb.ones(4)
    assert same is factor and factor.note == "kept"
    del same, factor
    gc.collect()
    y.backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_views_stay_views_of_the_memory_they_were_made_of():
    x = ebb.zeros(4)
    view = x[:2]
    x.data = ebb.ones(3)
    view.fill_(5.0)
    assert x.tolist() == [1.0, 1.0, 1.0] and view.tolist() == [5.0, 5.0]


def test_a_frozen_leaf_stays_frozen():
    x = leaf(2).requires_grad_(False)
    x.data = ebb.ones(3)
    assert not x.requires_grad
    x.requires_grad_()
    x.sum().backward()
    assert x.grad.shape == (3,)


def test_names_and_grad_dtype_stay():
    x = leaf(2)
    x.name = "weight"
    x.grad_dtype = ebb.float64
    x.data = ebb.ones(3)
    x.sum().backward()
    assert x.name == "weight" and x.grad.dtype == ebb.float64


def test_hooks_refuse_another_shape_until_they_are_gone():
    x = leaf(2)
    handle = x.register_hook(lambda grad: grad)
    with pytest.raises(
        ValueError, match=r"data: needs float32 \[2\], got float32 \[3\]\nhint: rem"
    ):
        x.data = ebb.ones(3)
    assert x.shape == (2,)
    handle.remove()
    x.data = ebb.ones(3)
    assert x.shape == (3,)


def test_a_leaf_of_few_dims_takes_no_more_than_it_has_room_for():
    x, many = leaf(2), leaf(1, 2, 1, 2, 1, 2, 1)
    with pytest.raises(ValueError, match="hint: memory was taken for few dims"):
        x.data = many.detach()
    many.data = ebb.ones(1, 3, 1, 3, 1, 3)
    many.sum().backward()
    assert many.grad.shape == (1, 3, 1, 3, 1, 3)
    with pytest.raises(ValueError, match=r"data: needs float32 \[1, 3, 1, 3, 1, 3\], got"):
        many.data = ebb.ones(*[1] * 9)


def test_what_has_history_keeps_its_shape():
    y = leaf(2) * 2
    with pytest.raises(ValueError, match="hint: what has history keeps its shape"):
        y.data = ebb.ones(3)
    y.data = ebb.zeros(2)
    assert y.tolist() == [0.0, 0.0]


def test_a_gradient_still_refuses_another_dtype():
    x = leaf(2)
    x.sum().backward()
    with pytest.raises(TypeError, match="data: needs float32"):
        x.data = ebb.ones(2, dtype=ebb.float64)
    with pytest.raises(TypeError, match="data: needs float32"):
        x.data = ebb.ones(3, dtype=ebb.float64)
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("value", [None, 3.0, [1.0], np.ones(2)], ids=lambda v: type(v).__name__)
def test_what_is_no_tensor_is_refused(value):
    x = ebb.ones(2)
    with pytest.raises(TypeError, match="data: needs a Tensor, got"):
        x.data = value


def test_a_layer_is_pruned_and_trains_on():
    layer = nn.Linear(4, 3)
    step = optim.SGD(layer.parameters(), lr=0.1)
    loss = layer(ebb.ones(2, 4)).sum()
    loss.backward()
    layer.weight.data = layer.weight.data[:2].clone()
    layer.bias.data = layer.bias.data[:2].clone()
    step.zero_grad()
    before = layer.weight.detach().clone()
    layer(ebb.ones(2, 4)).sum().backward()
    step.step()
    np.testing.assert_allclose(layer.weight.detach().numpy(), before.numpy() - 0.2, rtol=1e-6)
