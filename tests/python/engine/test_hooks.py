# tests/python/engine/test_hooks.py -- hooks written in Python: results, errors, handles, the
# collector.
import functools
import gc
import traceback
import warnings
import weakref

import pytest

import ebb
from ebb.autograd import graph
from tests.python.leaves import leaf


def test_a_tensor_hook_sees_the_sum_and_may_replace_it():
    x = leaf(1.0)
    h = x * 2
    seen = []
    h.register_hook(lambda grad: seen.append(grad.tolist()))
    h.register_hook(lambda grad: grad * 10)
    (h * 3 + h * 4).backward()
    assert seen == [[7.0]]
    assert x.grad.tolist() == [140.0]


def test_hooks_run_in_their_order():
    x = leaf(1.0)
    y = x * 2
    events = []
    y.grad_fn.register_hook(lambda ins, outs: events.append("post"))
    y.grad_fn.register_prehook(lambda outs: events.append("pre"))
    y.register_hook(lambda grad: events.append("tensor"))
    x.register_hook(lambda grad: events.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda t: events.append(("accumulated", t is x)))
    y.backward()
    assert events == ["tensor", "pre", "post", "leaf", ("accumulated", True)]


def test_node_hooks_get_tuples_and_may_return_tuples():
    x, y = leaf(2.0), leaf(5.0)
    product = x * y
    seen = []

    def after(grad_inputs, grad_outputs):
        seen.append((grad_inputs[0].item(), grad_inputs[1].item(), grad_outputs[0].item()))
        return grad_inputs[0] * 2, None

    product.grad_fn.register_prehook(lambda outs: (outs[0] * 3,))
    product.grad_fn.register_hook(after)
    product.backward()
    assert seen == [(15.0, 6.0, 3.0)]
    assert x.grad.tolist() == [30.0] and y.grad is None


def test_the_hook_of_an_accumulator_gets_no_grad_inputs():
    x = leaf(1.0)
    seen = []
    accumulator = graph.get_gradient_edge(x).node
    accumulator.register_hook(lambda ins, outs: seen.append((ins, outs[0].item(), x.grad.item())))
    (x * 3).backward()
    assert seen == [((), 3.0, 3.0)]


def test_handles_remove_once_and_work_as_context_managers():
    x = leaf(1.0)
    handle = x.register_hook(lambda grad: grad * 2)
    assert isinstance(handle, ebb.autograd.RemovableHandle)
    assert handle.remove() is True
    assert handle.remove() is False
    with x.register_hook(lambda grad: grad * 2) as other:
        assert other.id > handle.id
        (x * 1).backward()
    (x * 1).backward()
    assert x.grad.tolist() == [3.0]


def test_hooks_see_none_for_an_undefined_gradient():
    x = leaf(1.0)
    first, second = ebb.split(ebb.cat([x, x]) * 1, 1)
    seen = []
    second.register_hook(seen.append)
    first.backward()
    assert seen == [None]


def test_hooks_without_a_name_are_allowed():
    x = leaf(1.0)
    x.register_hook(functools.partial(lambda factor, grad: grad * factor, 3))
    (x * 1).backward()
    assert x.grad.tolist() == [3.0]


@pytest.mark.parametrize(
    ("result", "error", "text"),
    [
        (1, TypeError, "hook 'bad': must return a Tensor or None, got int"),
        (ebb.ones(2), ValueError, r"tensor hook 'bad': must return a gradient of float32 \[1\]"),
        (ebb.ones(1, dtype=ebb.float64), TypeError, r"got float64 \[1\]"),
    ],
)
def test_a_wrong_result_is_an_error_that_names_the_hook(result, error, text):
    x = leaf(1.0)

    def bad(grad):
        return result

    x.register_hook(bad)
    with pytest.raises(error, match=text):
        (x * 1).backward()
    assert x.grad is None


def test_node_hooks_must_return_as_many_gradients_as_they_got():
    x = leaf(1.0)
    y = x * x
    handle = y.grad_fn.register_hook(lambda ins, outs: (ins[0],))
    with pytest.raises(ValueError, match="must return 2 gradients, got 1"):
        y.backward()
    handle.remove()
    y = x * x
    y.grad_fn.register_prehook(lambda outs: 7)
    with pytest.raises(TypeError, match="must return None or a tuple of gradients, got int"):
        y.backward()


def test_post_accumulate_hooks_must_return_none():
    x = leaf(1.0)
    x.register_post_accumulate_grad_hook(lambda t: t)
    with pytest.raises(TypeError, match="must return None, got"):
        (x * 1).backward()


def test_post_accumulate_hooks_may_step_an_optimizer_inside_backward():
    x = leaf(1.0)
    optimizer = ebb.optim.SGD([x], lr=0.5)

    def step(param):
        optimizer.step()
        param.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2).backward()
    assert x.tolist() == [0.0] and x.grad is None


def test_registering_needs_a_gradient_a_leaf_and_a_callable():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="needs a tensor that requires a gradient"):
        ebb.ones(1).register_hook(print)
    with pytest.raises(RuntimeError, match="needs a leaf"):
        (x * 1).register_post_accumulate_grad_hook(print)
    for register in (x.register_hook, x.register_post_accumulate_grad_hook):
        with pytest.raises(TypeError, match="needs a callable, got int"):
            register(3)


class CustomError(Exception):
    pass


@pytest.mark.parametrize("error", [CustomError, KeyboardInterrupt, SystemExit])
def test_an_exception_keeps_its_type_and_traceback_and_gets_the_forward_line(error):
    x = leaf(1.0)
    y = x * 2  # the forward line

    def raising_hook(grad):
        raise error("from the hook")

    y.register_hook(raising_hook)
    with pytest.raises(error) as caught:
        y.backward()
    assert str(caught.value) == "from the hook"
    shown = "".join(traceback.format_exception(caught.value))
    assert 'raise error("from the hook")' in shown
    assert f"in tensor hook 'raising_hook' of {y.grad_fn.name()}" in shown
    assert f"test_hooks.py:{y.grad_fn.location[1]} in test_an_exception" in shown
    assert x.grad is None


def hook_registrations(x, middle, hook):
    return [
        lambda: middle.register_hook(lambda grad: hook()),
        lambda: middle.grad_fn.register_prehook(lambda outs: hook()),
        lambda: middle.grad_fn.register_hook(lambda ins, outs: hook()),
        lambda: x.register_hook(lambda grad: hook()),
        lambda: x.register_post_accumulate_grad_hook(lambda t: hook()),
        lambda: graph.get_gradient_edge(x).node.register_hook(lambda ins, outs: hook()),
        lambda: graph.register_multi_grad_hook([x, middle], lambda grads: hook()),
        lambda: middle.register_hook(lambda grad: ebb.autograd.queue_callback(hook)),
    ]


@pytest.mark.parametrize("kind", range(8))
def test_hooks_of_every_kind_may_fail_and_the_engine_goes_on(kind):
    x = leaf(2.0)
    middle = x * 3

    def fail():
        raise CustomError("once")

    handle = hook_registrations(x, middle, fail)[kind]()
    with pytest.raises(CustomError, match="once"):
        middle.backward(retain_graph=True)
    assert graph.current_graph_task_id() == -1
    handle.remove()
    x.grad = None
    middle.backward()
    assert x.grad.tolist() == [3.0]


def test_atomic_accumulation_adds_to_all_leaves_or_none():
    x, y = leaf(2.0), leaf(5.0)
    middle = x * 3
    out = middle * y
    out.backward(retain_graph=True)

    def fail(grad):
        raise CustomError

    handle = x.register_hook(fail)
    with pytest.raises(CustomError), ebb.autograd.atomic_accumulation():
        out.backward(retain_graph=True)
    assert (x.grad.item(), y.grad.item()) == (15.0, 6.0)
    handle.remove()
    with ebb.autograd.atomic_accumulation():
        out.backward()
    assert (x.grad.item(), y.grad.item()) == (30.0, 12.0)


def test_multi_grad_hooks_count_per_run():
    x, y, other = leaf(2.0), leaf(3.0), leaf(1.0)
    calls = []

    def note(grads):
        calls.append([None if grad is None else grad.item() for grad in grads])

    handle = graph.register_multi_grad_hook((x, y, other), note)
    (x * y).backward()
    ebb.autograd.grad(x * y, x)
    assert calls == [[3.0, 2.0, None], [3.0, None, None]]
    assert handle.remove() is True
    (x * y).backward()
    assert len(calls) == 2
    first = []
    graph.register_multi_grad_hook([x, y], first.append, mode="any")
    (x * y).backward()
    assert len(first) == 1
    with pytest.raises(ValueError, match="needs mode 'all' or 'any', got 'some'"):
        graph.register_multi_grad_hook([x], note, mode="some")
    with pytest.raises(RuntimeError, match="tensor 1 must require a gradient"):
        graph.register_multi_grad_hook([x, ebb.ones(1)], note)


def test_queries_answer_inside_a_run():
    x, y = leaf(2.0), leaf(3.0)
    h = x * y
    out = h.exp()
    answers = {}

    def ask(grad):
        answers["id"] = graph.current_graph_task_id()
        answers["node"] = graph.current_autograd_node()
        answers["keep"] = graph.current_graph_task_keep_graph()
        answers["order"] = graph.current_graph_task_execution_order()
        answers["executes"] = graph.will_engine_execute_node(h.grad_fn)

    out.register_hook(ask)
    out.backward(retain_graph=True)
    leaves = [graph.get_gradient_edge(t).node for t in (x, y)]
    assert answers["id"] >= 0 and answers["keep"] is True and answers["executes"] is True
    assert answers["node"] is out.grad_fn
    assert answers["order"] == [out.grad_fn, h.grad_fn, *leaves]
    assert graph.current_graph_task_id() == -1
    assert graph.current_autograd_node() is None
    for question in (graph.current_graph_task_execution_order, graph.current_graph_task_keep_graph):
        with pytest.raises(RuntimeError, match="needs a running backward"):
            question()
    with pytest.raises(RuntimeError, match="needs a running backward"):
        graph.will_engine_execute_node(out.grad_fn)
    with pytest.raises(RuntimeError, match="queue_callback: needs a running backward"):
        ebb.autograd.queue_callback(print)


def test_callbacks_run_once_at_the_end():
    x = leaf(3.0)
    seen = []
    handle = x.register_hook(
        lambda grad: ebb.autograd.queue_callback(lambda: seen.append(x.grad.item()))
    )
    (x * x).backward()
    handle.remove()
    (x * x).backward()
    assert seen == [6.0]


def test_warnings_of_a_hook_appear_in_the_caller():
    x = leaf(1.0)
    x.register_hook(lambda grad: warnings.warn("from a hook", UserWarning, stacklevel=1))
    with pytest.warns(UserWarning, match="from a hook"):
        (x * 1).backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="from a hook"):
            (x * 1).backward()


def test_hooks_run_in_the_grad_mode_of_the_run():
    x = leaf(1.0)
    modes = []
    x.register_hook(lambda grad: modes.append(ebb.is_grad_enabled()))
    (x * 1).backward()
    (x * 1).backward(create_graph=True)
    assert modes == [False, True]


def test_hooks_may_run_graphs():
    x = leaf(2.0)
    y = x * x
    z = y * 3
    z.register_hook(lambda grad: ebb.autograd.grad(y, x, retain_graph=True)[0])
    z.backward()
    assert x.grad.tolist() == [48.0]


def test_a_hook_stays_with_the_value_before_an_in_place_write():
    x = leaf(1.0)
    h = x * 2
    seen = []
    h.register_hook(lambda grad: seen.append(grad.item()))
    h.mul_(5)
    h.backward()
    assert seen == [5.0]


class Probe:
    pass


def watch(make):
    """Make a cycle, drop it, and tell whether the collector finds it."""
    probe = Probe()
    watched = weakref.ref(probe)
    gc.collect()
    make(probe)
    del probe
    gc.collect()
    return watched() is None


def test_a_cycle_from_a_leaf_through_its_hook_is_collected():
    def make(probe):
        x = leaf(1.0)
        x.register_hook(lambda grad: (x, probe))

    assert watch(make)


def test_a_cycle_through_a_post_accumulate_hook_is_collected():
    def make(probe):
        x = ebb.nn.Parameter(ebb.ones(1))
        x.register_post_accumulate_grad_hook(lambda t: (x, probe, None)[2])
        (x * 2).backward()

    assert watch(make)


def test_a_cycle_from_a_result_through_its_hook_is_collected():
    def make(probe):
        x = leaf(1.0)
        y = x * 2
        y.register_hook(lambda grad: (y, probe))

    assert watch(make)


def test_a_cycle_from_a_result_through_the_hook_of_its_leaf_is_collected():
    def make(probe):
        x = leaf(1.0)
        y = x.exp() * 2
        y.register_hook(print)
        x.register_hook(lambda grad: (y, probe))

    assert watch(make)


def test_a_cycle_through_a_node_is_collected():
    def make(probe):
        y = leaf(1.0) * 2
        node = y.grad_fn
        node.register_hook(lambda ins, outs: (node, probe))
        node.register_prehook(lambda outs: (node, probe))

    assert watch(make)


def test_a_cycle_through_a_multi_grad_hook_is_collected():
    def make(probe):
        x, y = leaf(1.0), leaf(2.0)
        graph.register_multi_grad_hook([x, y], lambda grads: (x, y, probe))

    assert watch(make)


def test_a_cycle_through_a_handle_is_collected():
    def make(probe):
        x = leaf(1.0)
        probe.handle = x.register_hook(lambda grad: (x, probe))

    assert watch(make)


def test_the_collector_leaves_the_hooks_of_a_living_graph_alone():
    x = leaf(1.0)
    seen = []
    x.register_hook(lambda grad, x=x: seen.append((x, grad.item())))
    y = x * 2
    del x
    gc.collect()
    y.backward()
    assert seen[0][1] == 2.0


def test_dropped_hooks_let_go_of_what_they_hold():
    def make(probe):
        x = leaf(1.0)
        y = x * 2
        handle = y.register_hook(lambda grad: (probe, None)[1])
        y.backward()
        handle.remove()
        x.register_hook(lambda grad: probe)

    gc.disable()
    try:
        probe = Probe()
        watched = weakref.ref(probe)
        make(probe)
        del probe
        assert watched() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("has_hook", [False, True])
def test_a_node_hook_that_its_own_node_registers_waits_for_the_next_run(has_hook):
    calls = []

    def unpack(packed):
        if not calls:
            y.grad_fn.register_hook(lambda grad_inputs, grad_outs: calls.append(grad_outs))
        return packed

    x = ebb.ones(1, requires_grad=True)
    with graph.saved_tensors_hooks(lambda value: value, unpack):
        y = x * ebb.ones(1)
    if has_hook:
        y.grad_fn.register_hook(lambda grad_inputs, grad_outs: None)
    y.backward(retain_graph=True)
    assert calls == []
    y.backward()
    assert calls[0][0].tolist() == [1.0]


def test_a_node_hook_that_its_own_node_removes_runs_once_more():
    calls = []

    def unpack(packed):
        handle.remove()
        return packed

    x = ebb.ones(1, requires_grad=True)
    with graph.saved_tensors_hooks(lambda value: value, unpack):
        y = x * ebb.ones(1)
    handle = y.grad_fn.register_hook(lambda grad_inputs, grad_outs: calls.append(1))
    y.backward(retain_graph=True)
    y.backward()
    assert calls == [1]
