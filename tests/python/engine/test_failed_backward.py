# tests/python/engine/test_failed_backward.py -- what a failed backward() leaves in `.grad`: what
# was there before.
import itertools

import pytest

import ebb
from ebb import nn


class FailError(Exception):
    pass


def failing(value):
    """The tensor, whose gradient no run gets past."""

    def fail(grad):
        raise FailError

    value.register_hook(fail)
    return value


def leaves(count, grad=5.0):
    made = [ebb.tensor([float(k + 1)], requires_grad=True) for k in range(count)]
    for one in made:
        one.grad = None if grad is None else ebb.tensor([grad])
    return made


def failed_loss(used):
    """A loss of leaves, and of one more that is reached after all of them."""
    start = failing(ebb.ones(1, requires_grad=True) * 2)
    for one in used:
        start = start * one
    return start.sum()


def run(loss, **options):
    with pytest.raises(FailError):
        loss.backward(**options)


@pytest.mark.parametrize("options", [{}, {"create_graph": True}, {"retain_graph": True}])
@pytest.mark.parametrize("grad", [5.0, None])
def test_leaves_keep_the_gradients_that_they_had(grad, options):
    used = leaves(4, grad)
    before = [one.grad for one in used]
    run(failed_loss(used), **options)
    assert (
        [one.grad for one in used] == before
        if grad is None
        else all(
            one.grad is was and was.item() == 5.0 for one, was in zip(used, before, strict=True)
        )
    )


@pytest.mark.parametrize("grad", [5.0, None])
def test_inputs_that_are_named_keep_theirs(grad):
    used = leaves(3, grad)
    middle = used[0] * 1
    loss = failed_loss([middle, *used[1:]])
    start = ebb.ones(1, requires_grad=True)
    run(loss + failing(start * 2).sum(), inputs=[middle, *used[1:], start])
    assert middle.grad is None and start.grad is None
    assert all((one.grad is None) if grad is None else one.grad.item() == 5.0 for one in used)


def test_sparse_gradients_stay():
    table = nn.Embedding(4, 2, sparse=True)
    index = ebb.tensor([1, 1])
    table(index).sum().backward()
    before = table.weight.grad.to_dense()
    run((failing(ebb.ones(1, requires_grad=True) * 2) * table(index)).sum())
    assert table.weight.grad.to_dense().equal(before)


def test_a_run_of_several_threads_leaves_gradients():
    model = nn.ModuleList([nn.Linear(64, 64) for _ in range(6)])
    for one in model.parameters():
        one.grad = ebb.ones_like(one)
    start = failing(ebb.randn(32, 64, requires_grad=True) * 2)
    run(sum(one(start).square().sum() for one in model))
    assert all((one.grad == 1).all() for one in model.parameters())


def test_a_repeated_run_adds_once():
    used = leaves(2)
    start = ebb.ones(1, requires_grad=True) * 2
    calls = itertools.count()

    def fail_once(grad):
        if next(calls) == 0:
            raise FailError

    start.register_hook(fail_once)
    loss = (start * used[0] * used[1]).sum()
    run(loss, retain_graph=True)
    loss.backward()
    assert [one.grad.item() for one in used] == [9.0, 7.0]


# Hooks that see the new gradient have it at once; it is taken back.


@pytest.mark.parametrize("grad", [5.0, None])
@pytest.mark.parametrize("writes", [False, True])
def test_a_gradient_that_a_hook_has_seen_is_taken_back(grad, writes):
    used = leaves(2, grad)
    before = [one.grad for one in used]
    seen = []

    def see(leaf):
        seen.append(leaf.grad.item())
        if writes:
            leaf.grad.mul_(100.0)

    for one in used:
        one.register_post_accumulate_grad_hook(see)
    run(failed_loss(used))
    assert len(seen) == 2 and all(one != 5.0 for one in seen)
    assert all(one.grad is was for one, was in zip(used, before, strict=True))
    assert grad is None or all(one.item() == 5.0 for one in before)


def test_a_gradient_is_taken_back_if_the_hook_itself_fails():
    (used,) = leaves(1)

    def fail(leaf):
        leaf.grad.mul_(100.0)
        raise FailError

    used.register_post_accumulate_grad_hook(fail)
    run((used * 3).sum())
    assert used.grad.item() == 5.0


def test_a_gradient_that_a_hook_has_used_up_is_named():
    (used,) = leaves(1, None)

    def step(leaf):
        leaf.grad = None

    used.register_post_accumulate_grad_hook(step)
    with pytest.raises(FailError) as caught:
        failed_loss([used]).backward()
    assert used.grad is None
    assert any("already added to 1 leaf" in note for note in caught.value.__notes__)


def test_a_gradient_that_somebody_else_has_added_to_since_stays_and_is_named():
    (used,) = leaves(1)
    used.register_post_accumulate_grad_hook(lambda leaf: None)
    start = ebb.ones(1, requires_grad=True) * 2

    def add_and_fail(grad):
        used.grad.add_(1.0)
        raise FailError

    start.register_hook(add_and_fail)
    with pytest.raises(FailError) as caught:
        (start * used).sum().backward()
    assert used.grad.item() == 8.0
    assert any("already added to 1 leaf" in note for note in caught.value.__notes__)


def test_a_retained_gradient_is_taken_back():
    (used,) = leaves(1)
    start = ebb.ones(1, requires_grad=True) * 2
    middle = start * used
    middle.retain_grad()
    loss = (middle * 3).sum()
    loss.backward(retain_graph=True)
    failing(start)
    run(loss, retain_graph=True)
    assert middle.grad.item() == 3.0


def test_gradients_are_added_in_place():
    used = leaves(2)
    before = [one.grad for one in used]
    (used[0] * used[1]).sum().backward()
    assert all(one.grad is was for one, was in zip(used, before, strict=True))
    assert [one.item() for one in before] == [7.0, 6.0]


def test_gradients_may_be_added_as_they_come():
    used = leaves(2)
    with ebb.autograd.atomic_accumulation(False), pytest.raises(FailError) as caught:
        failed_loss(used).backward()
    assert any(one.grad.item() != 5.0 for one in used)
    assert any("already added to 2 leaves" in note for note in caught.value.__notes__)
