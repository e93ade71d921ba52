# tests/python/autograd/test_function_marks.py -- custom functions: dirty inputs, outputs without
# gradient.

import pytest

import ebb
from ebb.autograd import Function
from tests.python.autograd.function_support import make
from tests.python.leaves import leaf


def test_missing_gradients_are_zeros_or_none():
    seen = []

    def forward(ctx, x, materializes):
        ctx.set_materialize_grads(materializes)
        return x * 1, x * 2

    def backward(ctx, a, b):
        seen.append(b if b is None else b.tolist())
        return a, None

    made = make(forward, backward)
    made.apply(leaf(1.0, 2.0), True)[0].sum().backward()
    made.apply(leaf(1.0, 2.0), False)[0].sum().backward()
    assert seen == [[0.0, 0.0], None]


def test_none_as_gradient_leaves_grad_none():
    x = leaf(1.0)
    make(lambda ctx, x: x * 1, lambda ctx, g: None).apply(x).sum().backward()
    assert x.grad is None


def test_non_differentiable_outputs():
    seen = []

    def forward(ctx, x):
        mask = x * 0
        ctx.mark_non_differentiable(mask)
        return x * 2, mask, (x > 0)

    def backward(ctx, g, mask, positive):
        seen.append((mask.tolist(), positive.tolist()))
        return g * 2

    x = leaf(1.0)
    y, mask, positive = make(forward, backward).apply(x)
    assert y.requires_grad and not mask.requires_grad and not positive.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0] and seen[0][0] == [0.0]


class DoubleInPlace(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_a_dirty_input_is_returned_itself_with_new_history():
    x = leaf(3.0)
    y = x * 1
    version = y._version
    z = DoubleInPlace.apply(y)
    assert z is y and y.grad_fn.name() == "DoubleInPlaceBackward" and y._version > version
    y.sum().backward()
    assert x.grad.tolist() == [2.0]


def test_a_dirty_leaf_is_refused():
    with pytest.raises(RuntimeError, match="DoubleInPlace: a leaf that requires a gradient"):
        DoubleInPlace.apply(leaf(3.0))
    with ebb.no_grad():
        x = leaf(3.0)
        assert DoubleInPlace.apply(x) is x


def test_a_dirty_tensor_must_be_an_input_and_be_returned():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 2

    with pytest.raises(RuntimeError, match="marked dirty must be returned"):
        make(forward).apply(leaf(1.0) * 1)

    def forward_other(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    with pytest.raises(RuntimeError, match="mark_dirty: needs inputs of forward"):
        make(forward_other).apply(leaf(1.0) * 1)


def test_two_outputs_one_of_them_dirty():
    def forward(ctx, x):
        y = x * 3
        x.mul_(2)
        ctx.mark_dirty(x)
        return y, x

    x = leaf(1.0)
    z = x * 1
    y, same = make(forward, lambda ctx, a, b: a * 3 + b * 2).apply(z)
    assert same is z and z.output_nr == 1
    (y + z).sum().backward()
    assert x.grad.tolist() == [5.0]
