# tests/python/package/test_signature.py -- functions that say once what they take.
import inspect

import pytest

import ebb
from ebb._base.signature import takes


def _two(x: float, y: float = 2.0) -> tuple[float, ...]:
    return float(x), y


@takes(_two)
def times(x, y) -> float:
    """Multiply."""
    return x * y


def test_a_function_gets_what_its_signature_makes_of_a_call():
    assert times(3) == 6.0 and times(y=4.0, x="2") == 8.0
    assert str(inspect.signature(times)) == "(x: float, y: float = 2.0) -> float"
    assert (times.__name__, times.__doc__) == ("times", "Multiply.")


def test_arguments_that_do_not_fit_are_refused_under_the_functions_name():
    with pytest.raises(ebb.errors.DTypeError, match=r"^times\(\): got an unexpected keyword arg"):
        times(1, z=2)
    with pytest.raises(ebb.errors.DTypeError, match=r"^times\(\): missing 1 required positional"):
        times()


def test_a_value_that_the_signature_cannot_read_keeps_its_error():
    with pytest.raises(TypeError, match="must be a string or a real number, not 'list'"):
        times([])
    with pytest.raises(
        TypeError, match=r"clip_grad_norm_: argument 'parameters' must be .*got int"
    ):
        ebb.nn.utils.clip_grad_norm_(3, 1.0)
