# tests/python/autograd/test_function_failures.py -- custom functions: what is refused, and
# exceptions.
import traceback

import pytest

import ebb
from ebb.autograd import Function
from tests.python.autograd.function_support import Cube, make
from tests.python.leaves import leaf


def test_vjp_is_another_name_for_backward():
    x = leaf(1.0)
    make(lambda ctx, x: x * 2, vjp=staticmethod(lambda ctx, g: g * 2)).apply(x).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_both_or_neither_of_backward_and_vjp():
    both = make(lambda ctx, x: x * 2, lambda ctx, g: g, vjp=staticmethod(lambda ctx, g: g))
    with pytest.raises(RuntimeError, match=r"one of backward.. and vjp.., which mean the same"):
        both.apply(leaf(1.0)).sum().backward()
    neither = make(lambda ctx, x: x * 2)
    with pytest.raises(NotImplementedError, match=r"Made: needs a static method backward"):
        neither.apply(leaf(1.0)).sum().backward()


def test_forward_is_required_and_instances_are_refused():
    with pytest.raises(NotImplementedError, match=r"Empty.apply: needs a static method forward"):
        type("Empty", (Function,), {}).apply(1)
    with pytest.raises(TypeError, match=r"(?s)Cube: needs no instance.*Cube.apply"):
        Cube()


@pytest.mark.parametrize(
    ("result", "error", "text"),
    [
        (lambda g: (g, g), ValueError, "one gradient per argument of forward.., 1, got 2"),
        (lambda g: (), ValueError, "one gradient per argument of forward.., 1, got 0"),
        (lambda g: 3, TypeError, "gradient 0 must be a Tensor or None, got int"),
        (lambda g: ebb.ones(5), ValueError, "MadeBackward"),
    ],
)
def test_wrong_gradients_are_refused(result, error, text):
    y = make(lambda ctx, x: x * 2, lambda ctx, g: result(g)).apply(leaf(1.0, 2.0)).sum()
    with pytest.raises(error, match=text):
        y.backward()


class SpecialError(Exception):
    pass


@pytest.mark.parametrize("error", [SpecialError, KeyboardInterrupt, StopIteration])
def test_exceptions_of_backward_keep_type_and_traceback(error):
    def backward(ctx, g):
        raise error("from backward")

    x = leaf(1.0)
    y = make(lambda ctx, x: x * 2, backward).apply(x).sum()
    with pytest.raises(error, match=r"from backward") as caught:
        y.backward()
    assert any(
        frame.name == "backward" for frame in traceback.extract_tb(caught.value.__traceback__)
    )
    assert any("MadeBackward, recorded at" in note for note in caught.value.__notes__)
    assert x.grad is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_exceptions_of_forward_put_the_mode_back():
    def forward(ctx, x):
        ebb.set_grad_enabled(True)
        raise SpecialError("from forward")

    with pytest.raises(SpecialError), ebb.no_grad():
        make(forward).apply(leaf(1.0))
    assert ebb.is_grad_enabled()
