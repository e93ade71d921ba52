# tests/python/autograd/function_support.py -- custom functions made in one line, for tests.
import threading

from ebb.autograd import Function


def make(forward, backward=None, name="Made", **more):
    """A class of that name."""
    methods = {"forward": staticmethod(forward), **more}
    if backward is not None:
        methods["backward"] = staticmethod(backward)
    return type(name, (Function,), methods)


def double(backward=lambda ctx, grad: grad * 2, name="Double"):
    """x -> 2 x, with a backward of its own."""
    return make(lambda ctx, x: x * 2, backward, name).apply


def noting_double(note):
    """x -> 2 x, whose backward gives ``note`` the number of its thread."""

    def backward(ctx, grad):
        note(threading.get_ident())
        return grad * 2

    return double(backward)


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * x * 3


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x
