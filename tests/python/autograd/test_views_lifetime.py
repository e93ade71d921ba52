# tests/python/autograd/test_views_lifetime.py -- whatever views, writes, gradients and drops come
# together, nothing stays: tensors, nodes and what they saved all live in the memory that is
# counted.
"""Lifetimes of views and of what is written through them."""

import contextlib
import itertools
import sys

import pytest

import ebb
from tests.python.held import live_without_garbage
from tests.python.threads import on_threads


def base_of_history(x):
    return x * 2


def base_without_history(x):
    return ebb.zeros(4, 4)


VIEWS = {
    "row": lambda y: y[1],
    "view of a view": lambda y: y[1:].t()[0],
    "parts": lambda y: y.split(2)[1],
    "flat": lambda y: y.view(-1),
}
WRITES = {
    "multiply": lambda part, x: part.mul_(x[0, 0]),
    "saved as it is": lambda part, x: part.add_((part._base * part._base).sum() * x[0, 0]),
    "constant": lambda part, x: part.fill_(3.0),
}
USES = {
    "backward": lambda y, part, x: (y.sum() + part.sum()).backward(),
    "create graph": lambda y, part, x: (y * y.clone()).sum().backward(create_graph=True),
    "dropped": lambda y, part, x: None,
}


def attempt(call):
    """What was saved may be stale: then the run fails, and must leave nothing either."""
    with contextlib.suppress(ebb.AutogradError):
        call()


def step(make_base, view, write, use):
    x = ebb.ones(4, 4, requires_grad=True)
    y = make_base(x)
    part = view(y)
    other = view(y)
    part.requires_grad and part.retain_grad()
    write(part, x)
    other.add_(1.0)
    y.requires_grad and y.retain_grad()
    if y.requires_grad:
        attempt(lambda: use(y, part, x))


def growth(call, times=20):
    for _ in range(3):
        call()
    before = live_without_garbage()
    for _ in range(times):
        call()
    return live_without_garbage() - before


@pytest.mark.parametrize(
    ("view", "write", "use"), list(itertools.product(VIEWS, WRITES, USES)), ids="-".join
)
def test_nothing_stays(view, write, use):
    for make_base in (base_of_history, base_without_history):
        assert growth(lambda m=make_base: step(m, VIEWS[view], WRITES[write], USES[use])) == 0


def keep_view_only():
    x = ebb.ones(4, requires_grad=True)
    part = (x * 2)[1:]  # the base is kept by its view
    part.mul_(3)
    part.sum().backward()


def keep_base_only():
    x = ebb.ones(4, requires_grad=True)
    y = x * 2
    y[1:].mul_(x[0])
    y.sum().backward()


def stale_views_never_read():
    y = ebb.ones(4, requires_grad=True) * 2
    parts = [y[at:] for at in range(4)]
    y.mul_(3)
    del y
    parts.clear()


def a_loop_that_fills_rows():
    w = ebb.ones(3, requires_grad=True)
    out = ebb.zeros(5, 3)
    for t in range(5):
        out[t].copy_(w * t)
        out[t] = w
    out.sum().backward()


def a_gradient_that_is_a_view():
    x = ebb.ones(2, 2, requires_grad=True)
    x.grad = ebb.zeros(4).view(2, 2)
    x.t().sum().backward()
    x.grad.view(-1)[0] = 3.0


def a_detached_base():
    y = ebb.ones(4, requires_grad=True) * 2
    part = y[1:]
    y.detach_()
    y.fill_(1.0)
    assert part.grad_fn is None


def a_failed_write():
    x = ebb.ones(4, requires_grad=True)
    with pytest.raises(ebb.AutogradError):
        x[1:].add_(1)


def a_view_in_an_attribute_of_another():
    y = ebb.ones(4, requires_grad=True) * 2
    z = ebb.zeros(4)
    z.part = y[1:]
    y.mul_(2)


def second_derivatives():
    x = ebb.ones(4, requires_grad=True)
    y = x * x
    y[1:].mul_(x[:3])
    (first,) = ebb.autograd.grad(y.sum(), x, create_graph=True)
    first[0].mul_(x[1])
    first.sum().backward()


OTHERS = [
    keep_view_only,
    keep_base_only,
    stale_views_never_read,
    a_loop_that_fills_rows,
    a_gradient_that_is_a_view,
    a_detached_base,
    a_failed_write,
    a_view_in_an_attribute_of_another,
    second_derivatives,
]


@pytest.mark.parametrize("scenario", OTHERS, ids=lambda one: one.__name__)
def test_nothing_stays_of_other_programs(scenario):
    assert growth(scenario) == 0


def test_a_view_keeps_its_base_and_gives_it_back():
    x = ebb.ones(4, requires_grad=True)
    y = x * 2
    part = y[1:]
    count = sys.getrefcount(y)
    assert part._base is y
    assert sys.getrefcount(y) == count
    del y
    assert part._base.shape == (4,)


def test_threads_may_read_stale_views_together():
    x = ebb.ones(4, requires_grad=True)
    for _ in range(20):
        buffer = ebb.zeros(4)
        parts = [buffer[at:] for at in range(4)]
        buffer.add_(x)
        seen = []

        def read(parts=parts, seen=seen):
            seen.append(all((part * 2).requires_grad for part in parts))

        on_threads(*[read] * 4)
        assert seen == [True] * 4
