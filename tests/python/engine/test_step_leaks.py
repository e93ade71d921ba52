# tests/python/engine/test_step_leaks.py -- no training step leaves memory: hooks x runs x ways to
# compute.
#
# A step makes all it uses, a model included, and drops it; then as many bytes, tensors and nodes
# are alive as before. What users close into a cycle themselves is in test_cycles_unseen.py.
import contextlib
import copy
import gc
import itertools
import pickle

import pytest

import ebb
from ebb import nn
from ebb.autograd import Function, detect_anomaly, grad, graph
from ebb.utils.checkpoint import checkpoint
from tests.fuzz import seeds
from tests.python.held import live_without_garbage

SIZE = 40  # a leaf of so many rows and columns: 6400 bytes


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.scale = 2
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * ctx.scale


class TwoOutputs(Function):
    @staticmethod
    def forward(ctx, x):
        first, second = x * 2, x * x
        ctx.save_for_backward(x, first, second)
        return first, second

    @staticmethod
    def backward(ctx, first, second):
        return first * 2 + second * ctx.saved_tensors[0] * 2


def write_in_place(h):
    h = h * 1
    h[0].mul_(2)
    return h * h


def pack(h):
    with graph.saved_tensors_hooks(lambda t: (t.clone(),), lambda kept: kept[0]):
        return h * h


def keep_forever(h):
    h.kept = h * h  # an attribute of the operand itself
    value = h.kept * 1
    del h.kept
    return value


WAYS = {
    "plain": lambda h: h * h,
    "function": Square.apply,
    "two outputs": lambda h: sum(TwoOutputs.apply(h)),
    "checkpoint": lambda h: checkpoint(lambda t: (t * t).sin(), h),
    "nested checkpoint": lambda h: checkpoint(lambda t: checkpoint(Square.apply, t).sin(), h),
    "captured": lambda h: checkpoint(lambda: (h * h).sin()),
    "in place": write_in_place,
    "packed": pack,
    "attribute": keep_forever,
}


def on_nothing(model, h):
    pass


def on_tensor(model, h):
    h.register_hook(lambda g: g * 2)


def on_leaf(model, h):
    model.weight.register_hook(lambda g: g * 2)
    model.weight.register_post_accumulate_grad_hook(lambda leaf: None)


def on_node(model, h):
    h.grad_fn.register_hook(lambda inputs, outputs: None)
    h.grad_fn.register_prehook(lambda outputs: None)


def on_several(model, h):
    graph.register_multi_grad_hook([h, model.weight], lambda grads: None)


def retaining(model, h):
    h.retain_grad()


def in_module(model, h):
    """The hooks were registered before the call: see make_model()."""


HOOKS = {
    "none": on_nothing,
    "tensor": on_tensor,
    "leaf": on_leaf,
    "node": on_node,
    "several": on_several,
    "retain": retaining,
    "module": in_module,
}


def make_model(hook):
    model = nn.Linear(SIZE, SIZE)
    if hook == "module":
        model.register_full_backward_pre_hook(lambda module, outputs: None)
        model.register_full_backward_hook(lambda module, inputs, outputs: None)
        model.register_forward_hook(lambda module, args, output: None)
    return model


def run_plain(loss, model):
    loss.backward()


def run_retained(loss, model):
    loss.backward(retain_graph=True)
    loss.backward()


def run_recorded(loss, model):
    loss.backward(create_graph=True)


def run_twice_recorded(loss, model):
    loss.backward(create_graph=True)
    model.weight.grad.sum().backward(create_graph=True)


def run_grad(loss, model):
    (first,) = grad(loss, model.weight, create_graph=True)
    first.sum().backward()


def run_anomaly(loss, model):
    with detect_anomaly():
        loss.backward()


def run_none(loss, model):
    pass


def run_failing(loss, model):
    model.weight.register_hook(lambda g: 1 / 0)
    with contextlib.suppress(ZeroDivisionError):
        loss.backward(create_graph=True)


RUNS = {
    "none": run_none,
    "backward": run_plain,
    "retained": run_retained,
    "recorded": run_recorded,
    "recorded twice": run_twice_recorded,
    "grad": run_grad,
    "anomaly": run_anomaly,
    "failing": run_failing,
}


def left_after(step, steps=4):
    """Bytes that a step leaves on average; a few are made once per process."""
    for _ in range(2):
        step()
    before = live_without_garbage()
    for _ in range(steps):
        step()
    return (live_without_garbage() - before) / steps


def closes_a_cycle(way, hook, run):
    """The user's own: h keeps a gradient whose graph keeps a function that captured h."""
    return (
        way == "captured" and hook == "retain" and run in ("recorded", "recorded twice", "failing")
    )


ALL = [names for names in itertools.product(WAYS, HOOKS, RUNS) if not closes_a_cycle(*names)]
SAMPLE = seeds.fixed("step leaks").sample(ALL, 30)


def check_step(way, hook, run):
    def step():
        model = make_model(hook)
        x = ebb.ones(2, SIZE, requires_grad=True)
        h = model(x)
        HOOKS[hook](model, h)
        RUNS[run](WAYS[way](h).sum(), model)

    assert left_after(step) < SIZE  # less than a row of numbers


@pytest.mark.parametrize(("way", "hook", "run"), SAMPLE)
def test_a_step_leaves_nothing(way, hook, run):
    check_step(way, hook, run)


@pytest.mark.long
@pytest.mark.parametrize(("way", "hook", "run"), ALL)
def test_no_step_of_all_leaves_anything(way, hook, run):
    check_step(way, hook, run)


@pytest.mark.parametrize("where", ["module", "parent", "child", "closure"])
@pytest.mark.parametrize("kind", ["full_backward_hook", "full_backward_pre_hook"])
def test_gradients_with_a_history_do_not_keep_a_module_with_hooks(kind, where):
    def step():
        model = nn.Sequential(nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE))
        target = {"parent": model, "child": model[1]}.get(where, model[0])
        kept = model if where == "closure" else None
        getattr(target, "register_" + kind)(lambda *args: kept and None)
        (model(ebb.ones(1, SIZE)) ** 2).sum().backward(create_graph=True)

    assert left_after(step) < SIZE


def recorded_call():
    """A loss through a module with a hook, after a recorded run; and what the hook saw."""
    seen = []
    model = nn.Linear(2, 1)
    handle = model.register_full_backward_hook(lambda module, *_: seen.append(module))
    loss = (model(ebb.ones(1, 2)) ** 2).sum()
    loss.backward(create_graph=True)
    return model, handle, loss, seen


def test_hooks_of_a_module_are_called_again_after_a_recorded_run():
    model, handle, loss, seen = recorded_call()
    handle.remove()  # the call keeps the hooks that it had
    loss.backward(create_graph=True)
    loss.backward()
    assert len(seen) == 3 and all(module is model for module in seen)


def test_a_copy_of_a_module_knows_nothing_of_recorded_calls():
    model, _, loss, _ = recorded_call()
    model.zero_grad()
    assert len(vars(copy.deepcopy(model))["_recorded_calls"]) == 0
    assert len(pickle.loads(pickle.dumps(vars(model)["_recorded_calls"]))) == 0
    del loss
    gc.collect()
    assert len(vars(model)["_recorded_calls"]) == 0


def test_a_module_may_go_before_a_graph_that_its_gradients_do_not_own():
    x, seen = ebb.ones(1, 2, requires_grad=True), []

    def penalty():
        model = nn.Linear(2, 1)
        model.register_full_backward_hook(lambda module, *_: seen.append(module))
        return grad((model(x) ** 2).sum(), x, create_graph=True)[0].sum()

    loss = penalty()
    gc.collect()
    loss.backward()
    assert len(seen) == 2 and seen[0] is seen[1] and x.grad is not None


def test_a_module_that_is_gone_after_a_recorded_run_is_an_error():
    x = ebb.ones(1, 2, requires_grad=True)
    model = nn.Linear(2, 1)
    model.register_full_backward_hook(lambda *_: None)
    loss = (model(x) ** 2).sum()
    loss.backward(create_graph=True)
    x.grad = None
    del model
    gc.collect()
    with pytest.raises(ebb.AutogradError, match=r"Linear: a recorded run .* needs the module"):
        loss.backward()
