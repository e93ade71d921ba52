# tests/python/amp/test_backward_threads.py -- modes of threads that work for a backward run.
"""A run computes in the dtypes of forward on each thread that takes part, wherever it is called."""

import pytest

import ebb
from ebb.nn import functional
from tests.python.held import backward_threads

SIDE = 96


def branch(seed, x, weight):
    """A chain that is worth a thread of its own, with a product at its end."""
    for _ in range(40):
        x = (x * (1.0 + seed / 16)).tanh()
    return functional.linear(x, weight).float().sum()


def leaves():
    ebb.manual_seed(0)
    return [ebb.rand(60, SIDE).requires_grad_(), *(ebb.rand(SIDE, SIDE) for _ in range(6))]


def gradients(threads, forward, around):
    """The gradients of six branches recorded in a block and run in another."""
    ebb.set_num_threads(threads)
    x, *weights = leaves()
    weights = [one.requires_grad_() for one in weights]
    with ebb.autocast("cpu", enabled=forward):
        loss = sum(branch(seed, x, weight) for seed, weight in enumerate(weights))
    with ebb.autocast("cpu", enabled=around):
        loss.backward()
    assert {one.grad.dtype for one in (x, *weights)} == {ebb.float32}
    return [one.grad.tolist() for one in (x, *weights)]


@pytest.mark.parametrize("around", [False, True], ids=["outside", "inside"])
@pytest.mark.parametrize("forward", [False, True], ids=["float32", "autocast"])
def test_every_thread_of_a_run_computes_as_forward_did(forward, around, eager_teams):
    expected = gradients(1, forward, False)
    before = backward_threads()["teams"]
    for threads in (2, 4):
        assert gradients(threads, forward, around) == expected
    assert backward_threads()["teams"] > before


def test_the_two_kinds_of_runs_differ(eager_teams):
    assert gradients(4, True, False) != gradients(4, False, False)  # the test above can fail
