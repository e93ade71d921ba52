# tests/python/saved/test_selective_checkpoint.py -- checkpoints that keep the results of chosen
# ops.
from collections import Counter
from functools import partial

import pytest

import ebb
from ebb.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
    set_checkpoint_debug_enabled,
)
from tests.python.held import live_without_garbage


def contexts(policy, **options):
    return partial(create_selective_checkpoint_contexts, policy, **options)


def block(x, w):
    return ((x @ w).sin() @ w).sin().exp()


def operands():
    ebb.manual_seed(0)
    return ebb.randn(4, 4, requires_grad=True), ebb.randn(4, 4, requires_grad=True)


def gradients(function, *inputs, **options):
    for one in inputs:
        one.grad = None
    checkpoint(function, *inputs, **options).sum().backward()
    return [one.grad.tolist() for one in inputs]


def plain_gradients(function, *inputs):
    for one in inputs:
        one.grad = None
    function(*inputs).sum().backward()
    return [one.grad.tolist() for one in inputs]


def kernel_runs(body):
    """How often each op ran in forward and recomputation: those of the profile."""
    with ebb.profiler.profile() as profile:
        body()
    return Counter(one.name for one in profile.ranges)


class Policy:
    """Saves matmuls, and notes what it is asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, ctx, op, *args, **kwargs):
        self.asked.append((op, ctx.is_recompute, len(args)))
        saves = op is ebb.matmul
        return CheckpointPolicy.MUST_SAVE if saves else CheckpointPolicy.PREFER_RECOMPUTE


@pytest.mark.parametrize("policy", [Policy(), [ebb.matmul], [ebb.sin, ebb.exp], lambda *a: True])
def test_gradients_are_those_without_a_checkpoint(policy):
    x, w = operands()
    assert gradients(block, x, w, context_fn=contexts(policy)) == plain_gradients(block, x, w)


def test_kept_ops_run_once_and_others_twice():
    x, w = operands()
    forward = kernel_runs(lambda: block(x, w))
    with_backward = kernel_runs(lambda: block(x, w).sum().backward())
    kept = kernel_runs(
        lambda: checkpoint(block, x, w, context_fn=contexts([ebb.matmul])).sum().backward()
    )
    bare = kernel_runs(lambda: checkpoint(block, x, w).sum().backward())
    assert forward["matmul"] == 2 and forward["sin"] == 2
    assert bare["matmul"] - with_backward["matmul"] == 2
    assert kept["matmul"] == with_backward["matmul"]
    assert kept["sin"] == bare["sin"] == with_backward["sin"] + 2


def test_the_policy_is_asked_in_both_calls_with_all_arguments():
    x, w = operands()
    policy = Policy()
    gradients(block, x, w, context_fn=contexts(policy))
    ops = [ebb.matmul, ebb.sin, ebb.matmul, ebb.sin, ebb.exp]
    counts = [2, 1, 2, 1, 1]
    expected = [
        (op, again, n) for again in (False, True) for op, n in zip(ops, counts, strict=True)
    ]
    assert policy.asked == expected


def test_the_policy_sees_values_of_every_type():
    seen = []

    def policy(ctx, op, *args):
        seen.append((op, args[1:]))
        return False

    x = ebb.ones(2, 3, requires_grad=True)
    gradients(lambda t: ebb.sum(t * 2, [0], keepdim=True), x, context_fn=contexts(policy))
    assert seen[:2] == [(ebb.mul, (2,)), (ebb.sum, ((0,), True, None))]


@pytest.mark.parametrize("seed", [0, 1])
def test_random_numbers_after_a_kept_random_op_are_the_same(seed):
    def function(x):
        return ebb.nn.functional.dropout(ebb.nn.functional.dropout(x).sin()).exp()

    asked = []

    def keeps_first(ctx, op, *args):
        if "dropout" in getattr(op, "__name__", op):
            asked.append(ctx.is_recompute)
            return asked.count(ctx.is_recompute) == 1
        return False

    x = ebb.ones(64, requires_grad=True)
    ebb.manual_seed(seed)
    kept = gradients(function, x, context_fn=contexts(keeps_first))
    assert True in asked
    ebb.manual_seed(seed)
    assert kept == plain_gradients(function, x)


def test_nested_checkpoints_with_and_without_policies():
    x, w = operands()

    def outer(x, w):
        y = checkpoint(block, x, w, context_fn=contexts([ebb.matmul]))
        return checkpoint(block, (y @ w).sin(), w)

    def plain(x, w):
        return block((block(x, w) @ w).sin(), w)

    expected = plain_gradients(plain, x, w)
    assert gradients(outer, x, w, context_fn=contexts([ebb.matmul])) == expected
    assert gradients(outer, x, w) == expected
    assert gradients(outer, x, w, context_fn=contexts([ebb.sin]), early_stop=False) == expected


def test_ops_with_several_results_are_kept():
    def function(x):
        values, _ = ebb.max(x.sin(), 1)
        return ebb.nn.functional.layer_norm(values.exp(), (4,))

    x, _ = operands()
    names = [op for op in (ebb.max, getattr(ebb, "layer_norm", None)) if op is not None]
    assert gradients(function, x, context_fn=contexts(names)) == plain_gradients(function, x)


def test_views_and_writes_are_made_again():
    def function(x):
        y = x.sin().reshape(2, 8)
        z = y.exp() * 2
        z.add_(1.0)
        return z.t().sin()

    x, _ = operands()
    keep = contexts(lambda ctx, op, *args: op is not ebb.mul)
    assert gradients(function, x, context_fn=keep) == plain_gradients(function, x)


def test_a_kept_result_that_was_written_to_is_refused():
    def function(x):
        y = x * 2
        y.sin_()
        return y.exp()

    x, _ = operands()
    y = checkpoint(function, x, context_fn=contexts([ebb.mul]))
    with pytest.raises(CheckpointError, match=r"the result of mul at .*has been mutated since"):
        y.sum().backward()
    y = checkpoint(lambda t: (t * 2).sin(), x, context_fn=contexts([ebb.sin]))
    y.detach().zero_()
    with pytest.raises(CheckpointError, match="mutated"):
        checkpoint(lambda t: t * t.cos(), y, context_fn=contexts([ebb.cos])).sum().backward()


def test_mutation_can_be_allowed():
    def function(x):
        y = x * 2
        z = y + 1
        y.detach().fill_(5.0)  # nothing has saved y
        return z.exp()

    x = ebb.zeros(1, requires_grad=True)
    with pytest.raises(CheckpointError, match="mutated"):
        gradients(function, x, context_fn=contexts([ebb.mul]))
    keep = contexts([ebb.mul], allow_cache_entry_mutation=True)
    (grad,) = gradients(function, x, context_fn=keep)
    assert grad == pytest.approx([2 * 2.718281828**6], rel=1e-5)  # of what y was overwritten with


def test_a_policy_that_changes_its_mind_is_refused():
    def policy(ctx, op, *args):
        return ctx.is_recompute

    x, w = operands()
    y = checkpoint(block, x, w, context_fn=contexts(policy))
    with pytest.raises(CheckpointError, match=r"call 1 of matmul at .*of 0 saved"):
        y.sum().backward()


def test_a_retained_graph_runs_again():
    x, w = operands()
    expected = plain_gradients(block, x, w)
    x.grad = w.grad = None
    y = checkpoint(block, x, w, context_fn=contexts([ebb.matmul])).sum()
    y.backward(retain_graph=True)
    x.grad = w.grad = None
    y.backward()
    assert [x.grad.tolist(), w.grad.tolist()] == expected


def test_nothing_is_kept_after_backward():
    x = ebb.ones(1000, requires_grad=True)

    before = live_without_garbage()
    y = checkpoint(lambda t: t.sin().exp().sin(), x, context_fn=contexts([ebb.exp]))
    assert live_without_garbage() - before >= 8000  # the output, and what is kept
    y.sum().backward()
    del y
    x.grad = None
    assert live_without_garbage() - before < 1000


def test_without_a_graph_nothing_is_asked_or_kept():
    policy = Policy()
    x, w = operands()
    with ebb.no_grad():
        checkpoint(block, x, w, context_fn=contexts(policy))
    assert policy.asked == []


def test_an_error_in_the_policy_reaches_the_caller_and_leaves_no_policy_behind():
    def policy(ctx, op, *args):
        raise KeyError("mine")

    x, w = operands()
    with pytest.raises(KeyError, match="mine"):
        checkpoint(block, x, w, context_fn=contexts(policy))
    block(x, w).sum().backward()


def test_derivatives_of_higher_order():
    x = ebb.tensor([0.3, 0.5], requires_grad=True)
    y = checkpoint(lambda t: t.sin() * t.exp(), x, context_fn=contexts([ebb.sin, ebb.mul]))
    (first,) = ebb.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = ebb.autograd.grad(first.sum(), x)
    expected = 2 * x.detach().cos() * x.detach().exp()  # (e^x sin x)'' = 2 e^x cos x
    assert second.tolist() == pytest.approx(expected.tolist(), rel=1e-5)


def test_a_backward_inside_of_the_function_says_what_is_missing():
    def function(x):
        y = x.sin()
        (slope,) = ebb.autograd.grad(y.sum(), x, create_graph=True)
        return (slope * y).exp()

    x = ebb.tensor([0.3], requires_grad=True)
    recomputed = gradients(function, x, context_fn=contexts([ebb.exp]))
    assert recomputed == plain_gradients(function, x)
    y = checkpoint(function, x, context_fn=contexts([ebb.sin]))
    with pytest.raises(ebb.errors.AutogradError, match="backward pass inside of the function"):
        y.backward()


@pytest.mark.parametrize(
    "policy, error", [(3, TypeError), ([ebb.mm], ValueError), (["x"], ValueError)]
)
def test_what_is_no_policy_is_refused(policy, error):
    with pytest.raises(error, match="create_selective_checkpoint_contexts"):
        create_selective_checkpoint_contexts(policy)


def test_a_policy_must_answer_with_a_policy():
    x, w = operands()
    with pytest.raises(TypeError, match="must return a CheckpointPolicy or a bool, got str"):
        checkpoint(block, x, w, context_fn=contexts(lambda *args: "save"))


class Different:
    """Does other work on its second call."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x.sin().exp() if self.calls == 1 else x.sin().sum().exp()


@pytest.mark.parametrize("how", ["argument", "context"])
def test_debug_shows_the_ops_of_both_calls_side_by_side(how):
    x = ebb.ones(3, requires_grad=True)
    if how == "argument":
        y = checkpoint(Different(), x, debug=True)
    else:
        with set_checkpoint_debug_enabled(True):
            y = checkpoint(Different(), x)
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    lines = str(caught.value).splitlines()
    sin = next(line for line in lines if "sin -> float32 [3] at " in line)
    assert sin.count("test_selective_checkpoint.py") == 2 and not sin.startswith("  !")
    differing = next(line for line in lines if "exp -> " in line and "| sum -> " in line)
    assert differing.startswith(" !")


def test_debug_can_be_switched_off_from_outside():
    x = ebb.ones(3, requires_grad=True)
    with set_checkpoint_debug_enabled(False):
        y = checkpoint(Different(), x, debug=True)
    with pytest.raises(CheckpointError, match="debug=True shows the ops of both calls"):
        y.sum().backward()
