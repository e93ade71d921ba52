# tests/python/autograd/function_support.py -- custom functions made in one line, for tests.
from ebb.autograd import Function


def make(forward, backward=None, **more):
    """A class called Made."""
    methods = {"forward": staticmethod(forward), **more}
    if backward is not None:
        methods["backward"] = staticmethod(backward)
    return type("Made", (Function,), methods)


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
