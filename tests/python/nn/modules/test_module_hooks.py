# tests/python/nn/modules/test_module_hooks.py -- full backward hooks of modules, and hooks of all
# modules.
import functools
import gc
import weakref

import pytest

import ebb
from ebb import nn
from tests.python.leaves import leaf


class Scale(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(ebb.tensor([factor]))

    def forward(self, x):
        return x * self.factor


def numbers(grads):
    return tuple(None if grad is None else grad.item() for grad in grads)


def test_a_backward_hook_sees_both_sides_of_its_module():
    module = Scale(3.0)
    calls = []
    handle = module.register_full_backward_hook(
        lambda m, ins, outs: calls.append((m is module, numbers(ins), numbers(outs)))
    )
    x = leaf(2.0)
    (module(x) * 5).backward()
    assert calls == [(True, (15.0,), (5.0,))]
    assert handle.remove() is True
    assert handle.remove() is False
    module(x).backward()
    assert len(calls) == 1 and not module._backward_hooks


def test_it_sees_the_share_of_its_module_only():
    module = Scale(3.0)
    calls = []
    module.register_full_backward_hook(lambda m, ins, outs: calls.append(numbers(ins)))
    x = leaf(2.0)
    (x * 7 + module(x)).backward()
    assert calls == [(3.0,)]
    assert x.grad.item() == 10.0


def test_it_adds_up_all_uses_inside_the_module():
    class Square(nn.Module):
        def forward(self, x):
            return x * x + x

    module = Square()
    calls = []
    module.register_full_backward_hook(lambda m, ins, outs: calls.append(numbers(ins)))
    x = leaf(2.0)
    (module(x) + x).backward()
    assert calls == [(5.0,)] and x.grad.item() == 6.0


def test_its_result_replaces_what_the_module_sends():
    class Square(nn.Module):
        def forward(self, x):
            return x * x + x

    module = Square()
    module.register_full_backward_hook(lambda m, ins, outs: (ins[0] * 10,))
    module.register_full_backward_hook(lambda m, ins, outs: ins[0] * 2)
    x = leaf(2.0)
    (module(x) + x).backward()
    assert x.grad.item() == 101.0


def test_a_pre_hook_replaces_the_gradient_of_the_output():
    module = Scale(3.0)
    seen = []
    module.register_full_backward_pre_hook(lambda m, outs: (outs[0] * 2,))
    module.register_full_backward_hook(lambda m, ins, outs: seen.append(numbers(outs)))
    x = leaf(1.0)
    module(x).backward()
    assert x.grad.item() == 6.0 and module.factor.grad.item() == 2.0
    assert seen == [(2.0,)]


def test_outputs_may_be_written_in_place():
    module = Scale(3.0)
    calls = []
    module.register_full_backward_hook(
        lambda m, ins, outs: calls.append((numbers(ins), numbers(outs)))
    )
    x = leaf(2.0)
    out = module(x)
    out.mul_(5)
    out.add_(1)
    out.backward()
    assert calls == [((15.0,), (5.0,))]


def test_a_module_may_write_its_input_in_place():
    module = nn.ReLU(inplace=True)
    calls = []
    module.register_full_backward_hook(
        lambda m, ins, outs: calls.append((numbers(ins), numbers(outs)))
    )
    x = leaf(2.0)
    module(x * 3).backward()
    assert calls == [((1.0,), (1.0,))]


def test_arguments_that_need_no_gradient_are_none():
    class Mix(nn.Module):
        def forward(self, x, factor, y):
            return x * factor * y

    calls = []
    module = Mix()
    module.register_full_backward_hook(lambda m, ins, outs: calls.append(numbers(ins)))
    module(leaf(2.0), 3, ebb.ones(1)).backward()
    assert calls == [(3.0, None, None)]
    calls.clear()
    scale = Scale(2.0)
    scale.register_full_backward_hook(
        lambda m, ins, outs: calls.append((numbers(ins), numbers(outs)))
    )
    scale(ebb.ones(1)).backward()
    assert calls == [((None,), (1.0,))]


def test_a_module_that_returns_its_argument_passes_the_gradient():
    module = nn.Identity()
    calls = []
    module.register_full_backward_hook(
        lambda m, ins, outs: calls.append((numbers(ins), numbers(outs)))
    )
    (module(leaf(1.0) * 2) * 5).backward()
    assert calls == [((5.0,), (5.0,))]


def test_nested_modules_call_their_hooks_from_the_outside_in():
    inner, outer = Scale(2.0), nn.Sequential()
    outer.add_module("inner", inner)
    events = []
    inner.register_full_backward_hook(lambda m, ins, outs: events.append("inner"))
    inner.register_full_backward_pre_hook(lambda m, outs: events.append("before"))
    outer.register_full_backward_hook(lambda m, ins, outs: events.append("outer"))
    outer(leaf(1.0)).backward()
    assert events == ["before", "inner", "outer"]


@pytest.mark.parametrize(
    ("result", "error", "text"),
    [
        (lambda ins: ins * 2, ValueError, "needs to return 1 gradients, got 2"),
        (lambda ins: (3,), TypeError, "needs to return Tensors or None, got int"),
        (lambda ins: (ebb.ones(5),), ValueError, "must return a gradient of float32"),
    ],
)
def test_wrong_results_are_refused(result, error, text):
    module = Scale(2.0)
    module.register_full_backward_hook(lambda m, ins, outs: result(ins))
    with pytest.raises(error, match=text):
        module(leaf(1.0)).backward()


def test_hooks_of_all_modules_run_before_a_modules_own():
    events = []
    handles = [
        nn.register_module_forward_pre_hook(lambda m, args: events.append("pre")),
        nn.register_module_forward_hook(lambda m, args, out: events.append("forward")),
        nn.register_module_full_backward_pre_hook(lambda m, outs: events.append("backward pre")),
        nn.register_module_full_backward_hook(lambda m, ins, outs: events.append("backward")),
    ]
    module = Scale(2.0)
    own = module.register_full_backward_hook(lambda m, ins, outs: events.append("own"))
    module(leaf(1.0)).backward()
    assert events == ["pre", "forward", "backward pre", "backward", "own"]
    own.remove()
    for handle in handles:
        assert handle.remove() is True
    module(leaf(1.0)).backward()
    assert len(events) == 5


def test_a_hooked_graph_goes_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        module = Scale(2.0)
        module.register_full_backward_hook(lambda m, ins, outs: None)
        out = module(leaf(1.0))
        note = out.register_hook(functools.partial(lambda probe, grad: None, probe := nn.Module()))
        watched = weakref.ref(probe)
        out.backward()
        del out, probe, note
        assert watched() is None
    finally:
        gc.enable()


def test_nothing_is_hooked_under_no_grad():
    module = Scale(2.0)
    module.register_full_backward_hook(lambda m, ins, outs: None)
    with ebb.no_grad():
        assert module(leaf(1.0)).item() == 2.0


def test_a_refused_hook_leaves_modules_without_hooks():
    layer = nn.Linear(1, 1)
    for register in (layer.register_forward_hook, nn.register_module_forward_hook):
        with pytest.raises(TypeError, match="argument 'hook' must be Callable, got int"):
            register(3)
    assert not layer._forward_hooks and layer(ebb.ones(1)).shape == (1,)


def test_one_kind_of_handle_removes_hooks_of_modules_and_of_optimizers():
    layer = nn.Linear(2, 2)
    optimizer = ebb.optim.SGD(layer.parameters(), lr=0.1)
    calls = []
    handles = [
        layer.register_forward_hook(lambda *_: calls.append("forward")),
        layer.register_state_dict_pre_hook(lambda *_: calls.append("state")),
        optimizer.register_step_pre_hook(lambda *_: calls.append("step")),
        nn.register_module_forward_hook(lambda *_: calls.append("all")),
    ]
    assert {type(one) for one in handles} == {ebb.utils.hooks.RemovableHandle}
    assert len({one.id for one in handles}) == 4
    layer(ebb.ones(2)), layer.state_dict(), optimizer.step()
    assert calls == ["all", "forward", "state", "step"]
    assert [one.remove() for one in handles] == [True] * 4
    assert [one.remove() for one in handles] == [False] * 4
    layer(ebb.ones(2)), layer.state_dict(), optimizer.step()
    assert len(calls) == 4


KINDS = {
    "_forward_pre_hooks": nn.Module.register_forward_pre_hook,
    "_forward_hooks": nn.Module.register_forward_hook,
    "_backward_pre_hooks": nn.Module.register_full_backward_pre_hook,
    "_backward_hooks": nn.Module.register_full_backward_hook,
}


@pytest.mark.parametrize("name", KINDS)
def test_tables_show_the_hooks_and_take_changes(name):
    module = Scale(3.0)
    called = []
    hooks = [lambda *_: called.append("a"), lambda *_: called.append("b")]
    handles = [KINDS[name](module, hook) for hook in hooks]
    table = getattr(module, name)
    assert dict(table) == {handle.id: hook for handle, hook in zip(handles, hooks, strict=True)}
    assert all(len(getattr(module, other)) == (2 if other == name else 0) for other in KINDS)
    del table[handles[0].id]
    assert handles[0].remove() is False
    module(leaf(2.0)).backward()
    assert called == ["b"]
    table.clear()
    module(leaf(2.0)).backward()
    assert called == ["b"]
    table[7] = hooks[0]
    module(leaf(2.0)).backward()
    assert called == ["b", "a"]
    setattr(module, name, {8: hooks[1], 9: hooks[0]})
    module(leaf(2.0)).backward()
    assert called == ["b", "a", "b", "a"] and list(getattr(module, name)) == [8, 9]
    assert type(table) is dict and vars(module)[name] is getattr(module, name)
