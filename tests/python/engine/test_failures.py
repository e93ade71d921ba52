# tests/python/engine/test_failures.py -- a training step that fails at any point where it calls the
# user.
"""One step calls out at every place there is: hooks of each kind, both halves of a custom function,
packing and unpacking, a checkpointed function, a callback at the end. Each call in turn raises; the
error must arrive as it is, the gradients must be whole or absent, and the next step must be right.
"""

import pytest

import ebb
from ebb.autograd import graph
from ebb.utils.checkpoint import checkpoint
from tests.python.held import live_without_garbage


class PlannedError(Exception):
    """What a call-out raises."""


class CallOuts:
    """Notes each call to the user's code and raises at one of them."""

    def __init__(self, fails_at=None):
        self.fails_at = fails_at
        self.kinds = []

    def visit(self, kind):
        self.kinds.append(kind)
        if len(self.kinds) - 1 == self.fails_at:
            raise PlannedError(kind)


class Scale(ebb.autograd.Function):
    @staticmethod
    def forward(ctx, input, calls):
        calls.visit("function forward")
        ctx.calls = calls
        ctx.save_for_backward(input)
        return input * 2

    @staticmethod
    def backward(ctx, grad):
        ctx.calls.visit("function backward")
        (saved,) = ctx.saved_tensors
        return grad * 2 + saved * 0, None


def noting(calls, kind, result=None):
    """A hook that notes its call and changes nothing."""

    def hook(*_):
        calls.visit(kind)
        return result

    return hook


def make_leaves():
    """A leaf without a gradient, one that has one, one with a post-accumulate hook to come."""
    plain, summed, hooked = (
        ebb.full((2, 2), value, requires_grad=True) for value in (0.5, -0.25, 0.75)
    )
    summed.grad = ebb.ones(2, 2)
    return plain, summed, hooked


def forward(leaves, calls):
    """The loss, with a hook at every place."""
    plain, summed, hooked = leaves

    def pack(tensor):
        calls.visit("pack")
        return tensor.clone()

    def unpack(packed):
        calls.visit("unpack")
        return packed

    def recomputed(input):
        calls.visit("checkpointed function")
        return (input * input).tanh()

    def on_loss(_):
        calls.visit("tensor hook, non-leaf")
        graph.queue_callback(lambda: calls.visit("final callback"))

    plain.register_hook(noting(calls, "tensor hook, leaf"))
    hooked.register_post_accumulate_grad_hook(noting(calls, "post-accumulate hook"))
    with graph.saved_tensors_hooks(pack, unpack):
        hidden = (plain @ summed).tanh()
    hidden = Scale.apply(hidden, calls)
    hidden.grad_fn.register_prehook(noting(calls, "node pre-hook"))
    hidden.grad_fn.register_hook(noting(calls, "node post-hook"))
    graph.register_multi_grad_hook((plain, summed), noting(calls, "multi-grad hook"))
    loss = (checkpoint(recomputed, hidden * hooked)).sum()
    loss.register_hook(on_loss)
    return loss


def values(leaves):
    return [None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]


def run_step(calls):
    """Run one step on fresh leaves; return their gradients, after a failure as well."""
    leaves = make_leaves()
    error = None
    try:
        forward(leaves, calls).backward()
    except PlannedError as planned:
        error = planned
    return values(leaves), error


def reference():
    calls = CallOuts()
    grads, error = run_step(calls)
    assert error is None
    return grads, calls.kinds


KINDS = {
    "checkpointed function",
    "final callback",
    "function backward",
    "function forward",
    "multi-grad hook",
    "node post-hook",
    "node pre-hook",
    "pack",
    "post-accumulate hook",
    "tensor hook, leaf",
    "tensor hook, non-leaf",
    "unpack",
}


def test_the_step_calls_out_at_every_kind_of_place():
    assert set(reference()[1]) == KINDS


def test_a_failure_at_any_call_out_arrives_as_it_is_and_leaves_whole_gradients():
    expected, kinds = reference()
    before = values(make_leaves())
    for place, kind in enumerate(kinds):
        grads, error = run_step(CallOuts(place))
        assert type(error) is PlannedError and str(error).startswith(kind), (place, kind, error)
        for got, start, end in zip(grads, before, expected, strict=True):
            assert got in (start, end), (place, kind)
        assert run_step(CallOuts())[0] == expected, (place, kind)
    print(f"failed at {len(kinds)} of {len(kinds)} call-outs")


@pytest.mark.parametrize("kind", ["function backward", "tensor hook, leaf", "unpack"])
def test_a_failed_call_out_leaves_leaves_without_a_gradient_without_one(kind):
    place = reference()[1].index(kind)
    grads, _ = run_step(CallOuts(place))
    assert grads[0] is None


def test_failed_steps_leave_no_memory_behind():
    kinds = reference()[1]

    run_step(CallOuts(0))
    start = live_without_garbage()
    for place in range(len(kinds)):
        run_step(CallOuts(place))
    assert live_without_garbage() == start


def test_a_failed_allocation_anywhere_in_a_step_leaves_whole_gradients_and_no_memory():
    expected, _ = reference()
    before = values(make_leaves())
    failures = 0
    while True:
        leaves = make_leaves()
        ebb._C._fail_allocation_after(failures, False)
        try:
            forward(leaves, CallOuts()).backward()
            break
        except MemoryError:
            failures += 1
        finally:
            ebb._C._fail_allocation_after(-1, False)
        for got, start, end in zip(values(leaves), before, expected, strict=True):
            assert got in (start, end), failures
    assert failures > 50 and values(leaves) == expected
    print(f"failed at {failures} of {failures} allocations")
