# tests/python/autograd/test_function_jvp.py -- custom functions in forward mode.
import pytest

import ebb
from ebb.autograd import Function, forward_ad, grad
from tests.python.autograd.function_support import Cube
from tests.python.leaves import leaf


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


class ScaleInPlace(Function):
    """Multiplies its first argument, in place, by the second."""

    @staticmethod
    def forward(ctx, x, scale):
        before = x.clone()
        ctx.save_for_backward(before, scale)
        ctx.save_for_forward(before, scale)
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    def backward(ctx, g):
        before, scale = ctx.saved_tensors
        return g * scale, g * before

    @staticmethod
    def jvp(ctx, x_tangent, scale_tangent):
        before, scale = ctx.saved_tensors
        total = None if x_tangent is None else x_tangent.mul_(scale)  # it may be written
        if scale_tangent is not None:
            total = before * scale_tangent + (0 if total is None else total)
        return total


def dual(value, tangent):
    return forward_ad.make_dual(ebb.tensor(value), ebb.tensor(tangent))


def tangent_of(tensor):
    return forward_ad.unpack_dual(tensor).tangent.tolist()


def test_an_input_may_be_written():
    direction = ebb.tensor([1.0, 10.0])
    with forward_ad.dual_level():
        x = forward_ad.make_dual(ebb.tensor([2.0, 3.0]), direction)
        out = ScaleInPlace.apply(x, dual([5.0, 7.0], [100.0, 1000.0]))
        assert out is x and x.tolist() == [10.0, 21.0]
        assert tangent_of(x) == [205.0, 3070.0]
        assert tangent_of(ScaleInPlace.apply(x, ebb.tensor([2.0, 2.0]))) == [410.0, 6140.0]
    assert direction.tolist() == [1.0, 10.0]


def test_a_written_input_gets_a_tangent_or_loses_it():
    with forward_ad.dual_level():
        x = ebb.tensor([2.0])
        ScaleInPlace.apply(x, dual([5.0], [100.0]))
        assert tangent_of(x) == [200.0]
        forgetful = type("Made", (ScaleInPlace,), {"jvp": staticmethod(lambda *arguments: None)})
        forgetful.apply(x, ebb.tensor([2.0]))
        assert tangent_of(x) == [0.0]


def test_views_of_a_written_input_follow():
    with forward_ad.dual_level():
        x = dual([[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]) * 1
        row, column = x[0], x[:, 1]
        ScaleInPlace.apply(row, ebb.tensor([10.0, 100.0]))
        assert tangent_of(x) == [[10.0, 100.0], [1.0, 1.0]]
        assert tangent_of(column) == [100.0, 1.0]
        ScaleInPlace.apply(x, ebb.full((2, 2), 2.0))
        assert tangent_of(row) == [20.0, 200.0]


def test_writing_combines_with_reverse_mode_and_nested_levels():
    x = leaf(3.0)
    with forward_ad.dual_level():
        y = ScaleInPlace.apply(forward_ad.make_dual(x, ebb.ones(1)) * 1, ebb.tensor([5.0]))
        (slope,) = grad((y * y).sum(), x)  # 50 x
        assert slope.tolist() == [150.0] and tangent_of(slope) == [50.0]
    with forward_ad.dual_level() as outer:
        scale = dual([5.0], [10.0])
        with forward_ad.dual_level():
            y = ScaleInPlace.apply(dual([3.0], [1.0]) * 1, scale)
            inner = forward_ad.unpack_dual(y).tangent
            assert inner.tolist() == [5.0]
            assert forward_ad.unpack_dual(inner, level=outer).tangent.tolist() == [10.0]
