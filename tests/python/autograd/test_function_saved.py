# tests/python/autograd/test_function_saved.py -- what ctx.saved_tensors gives: the leaf, places,
# histories.
import pytest

import ebb
from ebb.autograd import Function, grad, graph
from tests.python.autograd.function_support import make
from tests.python.leaves import leaf


def saved_in_backward(save, *arguments, create_graph=False):
    """What backward() sees of what ``save(ctx, inputs, outputs)`` keeps."""
    seen = []

    def forward(ctx, *tensors):
        outputs = tuple(sum(tensors) * number for number in (2, 3))
        ctx.save_for_backward(*save(tensors, outputs))
        return outputs

    def backward(ctx, *grads):
        seen.extend(ctx.saved_tensors)
        return (sum(grads),) * len(arguments)

    outputs = make(forward, backward).apply(*arguments)
    ebb.autograd.backward(sum(outputs), create_graph=create_graph)
    return seen, outputs


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_saved_leaf_is_that_leaf(create_graph):
    x, outside = leaf(2.0), leaf(5.0)
    seen, _ = saved_in_backward(lambda ins, outs: (*ins, outside), x, create_graph=create_graph)
    assert seen[0] is x and seen[1] is outside


@pytest.mark.parametrize("create_graph", [False, True])
def test_saved_results_keep_their_place_in_the_graph(create_graph):
    x = leaf(2.0)
    h = x * 3
    seen, outs = saved_in_backward(lambda ins, outs: (*ins, *outs), h, create_graph=create_graph)
    assert seen[0].grad_fn is h.grad_fn
    for one, out in zip(seen[1:], outs, strict=True):
        assert one.grad_fn is out.grad_fn and one.output_nr == out.output_nr
        assert one.requires_grad and not one.is_leaf


def test_a_saved_leaf_that_was_given_other_memory_is_not_that_leaf():
    both = ebb.tensor([1.0, 2.0])
    x = both[:1].detach().requires_grad_()
    seen = []

    def backward(ctx, g):
        seen.extend(ctx.saved_tensors)
        return g

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    y = make(forward, backward).apply(x)
    x.data = both[1:]
    y.backward()
    assert seen[0].tolist() == [1.0] and seen[0] is not x and seen[0].requires_grad


class Adjoint(Function):
    """d/dt y = w y by Euler's steps; backward computes them again and differentiates those."""

    @staticmethod
    def forward(ctx, y, w, steps):
        ctx.steps = steps
        ctx.save_for_backward(y, w)
        return Adjoint.solve(y, w, steps)

    @staticmethod
    def solve(y, w, steps):
        for _ in range(steps):
            y = y + w * y / steps
        return y

    @staticmethod
    def backward(ctx, g):
        y, w = ctx.saved_tensors
        with ebb.enable_grad():
            start = y.detach().requires_grad_()
            end = Adjoint.solve(start, w, ctx.steps)
        grads = grad(end, (start, w), g, create_graph=ebb.is_grad_enabled())
        return (*grads, None)


@pytest.mark.parametrize("where", ["leaf", "result"])
def test_backward_differentiates_what_it_computes_of_a_saved_tensor(where):
    numbers = []
    for solve in (Adjoint.apply, Adjoint.solve):
        y, w = leaf(2.0), leaf(0.5)
        rate = w if where == "leaf" else w * 1
        solve(y, rate, 4).backward()
        numbers.append((y.grad.item(), w.grad.item()))
    assert numbers[0] == pytest.approx(numbers[1])


def test_a_backward_inside_backward_reaches_the_saved_leaf():
    w = leaf(3.0)

    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        with ebb.enable_grad():
            (x.detach() * w * g).sum().backward()
        return g * w, None

    x = leaf(2.0)
    make(forward, backward).apply(x, w).sum().backward()
    assert (x.grad.item(), w.grad.item()) == (3.0, 2.0)


@pytest.mark.parametrize("how", ["leaf", "input", "output"])
def test_a_saved_tensor_returned_as_a_gradient_brings_no_history(how):
    x = leaf(2.0)

    def forward(ctx, x):
        y = x * 1
        ctx.save_for_backward(y if how == "output" else x)
        return y

    made = make(forward, lambda ctx, g: ctx.saved_tensors[0])
    given = x if how == "leaf" else x * 1
    (found,) = grad(made.apply(given), given)
    assert found.item() == 2.0 and not found.requires_grad and found is not given
    made.apply(x).backward()
    x.grad.add_(1)
    assert x.item() == 2.0 and x.grad.item() == 3.0 and not x.grad.requires_grad


def test_what_backward_sets_of_the_modes_ends_with_it():
    x, modes = leaf(2.0), []

    def backward(ctx, g):
        modes.append(ebb.is_grad_enabled())
        ebb.set_grad_enabled(True)
        return g * 1

    made = make(lambda ctx, x: x * 1, backward)
    made.apply(made.apply(x)).backward()
    assert modes == [False, False] and not x.grad.requires_grad


def test_hooks_that_pack_give_a_saved_leaf_its_place():
    x = leaf(2.0)
    with graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        seen, _ = saved_in_backward(lambda ins, outs: ins, x)
    assert seen[0].requires_grad and seen[0].is_leaf
    (seen[0] * 3).backward()
    assert x.grad.item() == 5.0  # 1 + 1 of the run, and 3
