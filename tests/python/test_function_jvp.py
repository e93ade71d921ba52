# tests/python/test_function_jvp.py -- custom functions in forward mode.
import pytest

import ebb
from ebb.autograd import Function, forward_ad, grad
from tests.python.function_support import Cube, leaf


class Square(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.scale = scale
        return x * x * scale

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] * 2 * ctx.scale, None

    @staticmethod
    def jvp(ctx, x_tangent, scale_tangent):
        assert scale_tangent is None
        return x_tangent * ctx.saved_tensors[0] * 2 * ctx.scale


def tangent_through(function, x, direction):
    with forward_ad.dual_level():
        y = function(forward_ad.make_dual(x, direction))
        return forward_ad.unpack_dual(y).tangent


def test_jvp_gives_the_tangent():
    tangent = tangent_through(lambda x: Square.apply(x, 5), ebb.tensor([3.0]), ebb.tensor([2.0]))
    assert tangent.tolist() == [60.0]


def test_the_tangent_can_be_differentiated_backwards():
    x = leaf(3.0)
    tangent = tangent_through(lambda x: Square.apply(x, 5), x, ebb.tensor([2.0]))
    assert grad(tangent.sum(), x)[0].tolist() == [20.0]


def test_a_function_without_jvp_is_refused():
    with pytest.raises(NotImplementedError, match=r"Cube: needs a static method jvp"):
        tangent_through(Cube.apply, ebb.tensor([3.0]), ebb.tensor([2.0]))


@pytest.mark.parametrize(
    ("result", "error", "text"),
    [
        ((1, 2), ValueError, r"one tangent per output, 1, got 2"),
        (3, TypeError, r"tangent 0 must be a Tensor or None, got int"),
        (ebb.ones(7), ValueError, r"tangent 0 must have its output's shape"),
    ],
)
def test_wrong_tangents_are_refused(result, error, text):
    made = type("Made", (Square,), {"jvp": staticmethod(lambda ctx, x, scale: result)})
    with pytest.raises(error, match=text):
        tangent_through(lambda x: made.apply(x, 1), ebb.tensor([3.0]), ebb.tensor([2.0]))


def test_none_stands_for_a_tangent_of_zero():
    made = type("Made", (Square,), {"jvp": staticmethod(lambda ctx, x, scale: None)})
    tangent = tangent_through(lambda x: made.apply(x, 1), ebb.tensor([3.0]), ebb.tensor([2.0]))
    assert tangent is None
