# tests/python/saved/test_checkpoint_writes.py -- what changes between a checkpointed call, the same
# call made again, and backward: saved values that are written to, arguments that become leaves.
import pytest

import ebb
from ebb.utils.checkpoint import checkpoint
from tests.fuzz.features.helpers import functions_of
from tests.python.leaves import leaf

keeps_result = functions_of(ebb)["Tanh"]


@pytest.mark.parametrize("op", [ebb.exp, ebb.tanh, keeps_result])
@pytest.mark.parametrize("options", [{}, {"early_stop": False}])
def test_a_value_that_the_function_writes_to_after_it_was_saved_is_an_error(op, options):
    def function(x):
        y = op(x)
        y.mul_(0.5)
        return y, y.sin()  # what sin() saves, the recomputation goes on for

    x = leaf(0.5)
    y, _ = checkpoint(function, x, **options)
    with pytest.raises(ebb.AutogradError, match=r"it was when an op saved it, got .* by mul_ at"):
        y.sum().backward()


def test_a_write_that_the_recomputation_does_not_come_to_is_none():
    x, again = leaf(0.5), leaf(0.5)
    checkpoint(lambda x: x.tanh().mul_(0.5), x).backward(ebb.ones(1))
    (again.tanh() * 0.5).backward(ebb.ones(1))
    assert x.grad.tolist() == again.grad.tolist()


def test_a_write_beside_what_was_saved_is_none():
    def function(x):
        y = x * 1
        z = y[:1].exp()
        y[1:].mul_(2)
        return z + y.sin().sum()

    x, again = leaf(0.5, 1.0), leaf(0.5, 1.0)
    checkpoint(function, x).backward(ebb.ones(1))
    function(again).backward(ebb.ones(1))
    assert x.grad.tolist() == again.grad.tolist()


def test_an_argument_that_asks_for_a_gradient_later_is_a_constant_of_the_call():
    x, w = ebb.tensor([5.0]), leaf(2.0)
    y = checkpoint(lambda x: x * w, x)
    x.requires_grad_()
    y.backward(ebb.ones(1))
    assert w.grad.tolist() == [5.0] and x.grad is None
