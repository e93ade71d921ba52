# tests/python/nn/modules/test_module_hook_gradients.py -- backward hooks that replace several
# gradients.
import gc

import pytest

import ebb
from ebb import nn
from ebb.autograd import Function, grad
from tests.python.held import live, live_without_garbage


class Call(nn.Module):
    """A module that calls a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Pass(Function):
    """The identity of several tensors: what PyTorch puts before and behind a hooked module."""

    @staticmethod
    def forward(ctx, hook, *tensors):
        ctx.hook = hook
        ctx.set_materialize_grads(False)
        return tuple(tensor.clone() for tensor in tensors)

    @staticmethod
    def backward(ctx, *grads):
        return (None, *ctx.hook(grads))


def between_identities(function, before, after, args):
    """What a hooked module computes, with nodes of its own instead of gates."""
    entered = []

    def enter(grads):
        entered[:] = before(grads)
        return entered

    inner = Pass.apply(lambda grads: after(grads, tuple(entered)), *args)
    return Pass.apply(enter, *function(*inner))


def leaf(*values):
    return ebb.tensor(list(values), dtype=ebb.float64, requires_grad=True)


def numbers(grads):
    return [None if grad is None else grad.tolist() for grad in grads]


def scaled(grads, factors):
    pairs = zip(grads, factors, strict=True)
    return tuple(None if grad is None else grad * factor for grad, factor in pairs)


def shares_work(x, y):
    features = (x * y).sin()
    return features, features * x, y * 3


def splits(x, y):
    first, second = (x * y).split(1)
    return first, second, (x + second).exp()


def uses_one(x, y):
    return x * 2, x.exp(), x * x


def calls_itself(x, y):
    inner = Call(shares_work)
    inner.register_full_backward_pre_hook(lambda m, outs: scaled(outs, (7, 8, 9)))
    inner.register_full_backward_hook(lambda m, ins, outs: (ins[0] + outs[1], ins[1] * 2))
    return inner(x * 2, y.exp())


def calls_itself_between_identities(x, y):
    return between_identities(
        shares_work,
        lambda outs: scaled(outs, (7, 8, 9)),
        lambda ins, outs: (ins[0] + outs[1], ins[1] * 2),
        (x * 2, y.exp()),
    )


def assert_close(got, expected):
    """Compare lists of numbers and None, lists of them, and so on."""
    if isinstance(expected, (list, tuple)):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_close(one, other)
    else:
        assert got == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("wanted", [(0, 1, 2), (1,), (2, 1)])
@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (shares_work, shares_work),
        (splits, splits),
        (uses_one, uses_one),
        (calls_itself, calls_itself_between_identities),
    ],
)
def test_gates_do_what_identities_around_the_module_would(
    function, reference, wanted, create_graph
):
    def after(grads, entered):
        told.append((numbers(grads), numbers(entered)))
        return scaled(grads, (10, 100))

    def run(call):
        x, y = leaf(1.0, 2.0), leaf(0.5, 0.25)
        outs = call(x.exp(), y)
        loss = sum((outs[index] * outs[index]).sum() for index in wanted)
        return numbers(grad(loss, [x, y], create_graph=create_graph, allow_unused=True))

    told = []
    module = Call(function)
    module.register_full_backward_pre_hook(lambda m, outs: scaled(outs, (2, 3, 5)))
    module.register_full_backward_hook(lambda m, ins, outs: after(ins, outs))
    mine = run(module), told
    told = []
    theirs = run(
        lambda *args: between_identities(
            reference, lambda outs: scaled(outs, (2, 3, 5)), after, args
        )
    )
    assert_close(mine, (theirs, told))


def test_what_hooks_return_is_differentiated():
    module = Call(lambda x, y: (x**3, x * y))
    handle = module.register_full_backward_hook(lambda m, ins, outs: (ins[0] * 10, ins[1] * ins[1]))
    x, y = leaf(2.0), leaf(3.0)
    cube, product = module(x, y)
    handle.remove()
    first, other = grad(cube + product, [x, y], create_graph=True)
    assert (first.tolist(), other.tolist()) == ([150.0], [4.0])  # 10 (3 x^2 + y), x^2
    assert grad(first, [x, y], retain_graph=True)[0].tolist() == [120.0]  # 60 x
    assert grad(other, x)[0].tolist() == [4.0]


def test_inputs_and_outputs_may_be_written_in_place():
    def writes(x, y):
        x.mul_(y)
        return x, y * 2

    module = Call(writes)
    module.register_full_backward_pre_hook(lambda m, outs: scaled(outs, (2, 3)))
    module.register_full_backward_hook(lambda m, ins, outs: scaled(ins, (10, 100)))
    x, y = leaf(2.0), leaf(3.0)
    argument = x * 1
    left, right = module(argument, y)
    assert left is argument
    left.mul_(5)
    right[0] += 1.0
    argument.add_(1)
    (left + right).sum().backward()
    assert x.grad.tolist() == [300.0]  # 5, times 2, times y, times 10
    assert y.grad.tolist() == [2600.0]  # (5 * 2 * x + 3 * 2) * 100


def test_what_the_module_has_no_part_in_is_left_alone():
    module = Call(lambda x, y: (x, y, y))
    module.register_full_backward_pre_hook(lambda m, outs: scaled(outs, (2, 3, 5)))
    module.register_full_backward_hook(lambda m, ins, outs: scaled(ins, (10, 100)))
    x, y = leaf(1.0), leaf(1.0)
    outs = module(x, y)
    (sum(outs) + x + y).sum().backward()
    assert x.grad.tolist() == [21.0]
    assert y.grad.tolist() == [801.0]
    assert type(Call(lambda x: [x])(x)) is list


def test_none_takes_a_gradient_away():
    module = Call(lambda x, y: (x * 2, x * y))
    seen = []
    module.register_full_backward_pre_hook(lambda m, outs: (None, outs[1]))
    module.register_full_backward_hook(lambda m, ins, outs: seen.append(numbers(outs)))
    module.register_full_backward_hook(lambda m, ins, outs: (ins[0], None))
    x, y = leaf(2.0), leaf(3.0)
    sum(module(x, y)).backward()
    assert x.grad.tolist() == [3.0] and y.grad is None
    assert seen == [[None, [1.0]]]


def test_a_run_that_needs_some_inputs_only_drops_the_others():
    module = Call(lambda x, y: (x * y, (x * y).exp(), x + y))
    seen = []
    module.register_full_backward_hook(lambda m, ins, outs: seen.append(numbers(ins)))
    module.register_full_backward_hook(lambda m, ins, outs: (ebb.full_like(x, 7.0), outs[0]))
    x, y = leaf(0.0), leaf(3.0)
    outs = module(x, y)
    assert grad(sum(outs), x, retain_graph=True)[0].tolist() == [7.0]
    assert seen == [[[7.0], None]]  # 3 + 3 + 1
    assert grad(sum(outs), outs[0], retain_graph=True)[0].tolist() == [1.0]
    assert len(seen) == 1
    firsts = grad(sum(outs), [x, y], no_grad_vars=outs[2])
    assert numbers(firsts) == [[7.0], [1.0]]
    assert seen[1:] == [[[6.0], [0.0]]]


def test_a_failed_run_can_be_repeated():
    fails = [True]

    def after(module, ins, outs):
        if fails.pop():
            raise ZeroDivisionError
        return scaled(ins, (10, 100))

    module = Call(lambda x, y: (x * y, x + y))
    module.register_full_backward_hook(after)
    x, y = leaf(2.0), leaf(3.0)
    loss = sum(module(x, y))
    with pytest.raises(ZeroDivisionError) as caught:
        loss.backward(retain_graph=True)
    assert "module hook 'Call' of" in caught.value.__notes__[0]
    assert x.grad is None and y.grad is None
    fails.append(False)
    loss.backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([40.0], [300.0])


def test_hooks_may_run_the_graph_again():
    inner_runs = []

    def before(module, outs):
        if not inner_runs:
            inner_runs.append(None)
            inner_runs[0] = numbers(grad(total, [x, y], retain_graph=True))
        return scaled(outs, (2, 3))

    module = Call(lambda x, y: (x * y, x + y))
    module.register_full_backward_pre_hook(before)
    x, y = leaf(2.0), leaf(3.0)
    total = sum(module(x, y))
    assert numbers(grad(total, [x, y], retain_graph=True)) == [[9.0], [7.0]]
    assert inner_runs == [[[9.0], [7.0]]]


def test_wrong_results_say_which_module():
    module = Call(lambda x, y: (x * y, x + y))
    module.register_full_backward_hook(lambda m, ins, outs: (ins[0], ebb.ones(5)))
    with pytest.raises(ValueError, match="module hook 'Call': must return a gradient of float64"):
        sum(module(leaf(1.0), leaf(1.0))).backward()


def test_hooked_modules_leave_nothing_behind():
    def step():
        module = Call(shares_work)
        module.register_full_backward_pre_hook(lambda m, outs: scaled(outs, (2, 3, 5)))
        module.register_full_backward_hook(lambda m, ins, outs: scaled(ins, (10, 100)))
        sum(module(leaf(1.0), leaf(2.0))).backward()

    step()
    gc.collect()
    gc.disable()
    try:
        before = live_without_garbage()
        for _ in range(3):
            step()
        assert live() == before
    finally:
        gc.enable()
