# tests/python/engine/test_run_rules.py -- how a run goes: order, sums, what runs, what it may not
# touch.
import weakref

import pytest

import ebb
from ebb.autograd import Function, grad, graph
from tests.fuzz.rows.temporaries import memory_of
from tests.python.autograd.function_support import make
from tests.python.leaves import leaf


def note_runs(events, **tensors):
    """Add the name of a tensor to ``events`` when the op that made it runs backward."""
    for name, tensor in tensors.items():
        tensor.grad_fn.register_prehook(lambda grads, name=name: events.append(name))


def test_a_node_runs_once_after_all_that_used_its_results():
    x = leaf(2.0)
    a = x * 3
    b, c = a * a, a + 1
    out = b * c
    events = []
    note_runs(events, a=a, b=b, c=c, out=out)
    out.backward()
    assert events == ["out", "c", "b", "a"]
    assert x.grad.item() == 3 * (2 * 6 * 7 + 36)  # a = 6: d(a^2 (a + 1)) = 3 a^2 + 2 a


def test_later_ops_run_first_where_the_graph_leaves_a_choice():
    a, b = leaf(1.0), leaf(1.0)
    left, right = a * 2, b * 3
    out = left * right
    events = []
    note_runs(events, left=left, right=right, out=out)
    out.backward()
    assert events == ["out", "right", "left"]


def test_one_root_runs_no_node_beside_those_of_the_graph():
    x = leaf(1.0)
    h = x * 2
    out = h.exp()
    order = []
    out.register_hook(lambda grad: order.extend(graph.current_graph_task_execution_order()))
    out.backward()
    assert order == [out.grad_fn, h.grad_fn, graph.get_gradient_edge(x).node]


def test_leaves_get_their_gradient_before_deeper_nodes_run():
    weights = [leaf(1.0) for _ in range(3)]
    events, h = [], leaf(1.0)
    for index, weight in enumerate(weights):
        h = h * weight
        note_runs(events, **{f"node {index}": h})
        weight.register_hook(lambda grad, index=index: events.append(f"leaf {index}"))
    h.backward()
    assert events == ["node 2", "leaf 2", "node 1", "leaf 1", "node 0", "leaf 0"]


def test_gradients_are_freed_as_the_run_goes_on():
    x = ebb.ones(1 << 16, requires_grad=True)
    y = x
    for _ in range(50):
        y = y * 2.0
    y = y.sum()
    assert memory_of(y.backward).temporaries < 4 * x.nbytes


def test_a_hundred_runs_give_the_same_bits():
    weights = [ebb.randn(32, 32, requires_grad=True) for _ in range(4)]
    start = ebb.randn(8, 32)

    def gradients():
        h = start
        for weight in weights:
            h = (h @ weight).tanh() + h
        return b"".join(one.numpy().tobytes() for one in grad(h.sum(), weights))

    assert len({gradients() for _ in range(100)}) == 1


def test_a_graph_that_saved_nothing_can_run_again():
    x = leaf(1.0, 2.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_create_graph_retains_the_graph_too():
    x = leaf(2.0)
    y = x * x
    grad(y, x, create_graph=True)
    y.backward()
    assert x.grad.item() == 4.0


def test_grad_and_backward_give_the_same_gradients():
    x, w = leaf(2.0), leaf(3.0)
    out = (x * w).exp() + w
    expected = grad(out, [x, w], retain_graph=True)
    out.backward()
    assert [x.grad.item(), w.grad.item()] == [one.item() for one in expected]


def test_results_have_a_history_only_under_create_graph():
    x = leaf(2.0)
    y = x * x * x
    assert not grad(y, x, retain_graph=True)[0].requires_grad
    assert grad(y, x, create_graph=True)[0].requires_grad


def test_create_graph_records_under_no_grad_too():
    x = leaf(2.0)
    y = x * x * x
    with ebb.no_grad():
        (first,) = grad(y, x, create_graph=True)
        assert not ebb.is_grad_enabled()
    assert grad(first, x)[0].item() == 12.0


def test_a_derivative_flows_back_to_the_seed():
    x, seed = leaf(2.0), leaf(5.0)
    (first,) = grad(x * x, x, seed, create_graph=True)
    assert first.item() == 20.0
    assert [one.item() for one in grad(first, [x, seed])] == [10.0, 4.0]


def test_the_sum_of_two_gradients_is_recorded_under_create_graph():
    x = leaf(2.0)
    (first,) = grad(x * x + x * x * x, x, create_graph=True)
    assert first.item() == 16.0 and first.requires_grad
    assert grad(first, x)[0].item() == 14.0  # 2 + 6 x


class Held(Function):
    """Gives back a gradient that the test holds."""

    @staticmethod
    def forward(ctx, x, held):
        ctx.held = held
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return ctx.held, None


def test_a_gradient_that_the_user_holds_is_never_added_to():
    x, held = leaf(1.0), [ebb.full([1], float(value)) for value in (10, 20, 30)]
    h = x * 1
    total = Held.apply(h, held[0]) + Held.apply(h, held[1]) + Held.apply(h, held[2])
    total.backward()
    assert x.grad.tolist() == [60.0]
    assert [one.item() for one in held] == [10.0, 20.0, 30.0]


def test_a_gradient_that_the_user_holds_is_copied_before_a_leaf_keeps_it():
    x, held = leaf(1.0), ebb.full([1], 7.0)
    Held.apply(x, held).backward()
    assert x.grad.tolist() == [7.0] and x.grad.data_ptr() != held.data_ptr()
    Held.apply(x, held).backward()
    assert x.grad.tolist() == [14.0] and held.tolist() == [7.0]


def test_the_first_gradient_of_a_leaf_is_not_copied_if_only_the_run_holds_it():
    x = ebb.ones(1 << 16, requires_grad=True)
    out = (x * 2.0).sum()
    assert memory_of(out.backward).temporaries < 1.5 * x.nbytes


def test_the_gradient_of_an_operand_that_needs_none_is_not_computed():
    x, weight = ebb.ones(1, 1000, requires_grad=True), ebb.ones(1000, 1000)
    out = (x @ weight).sum()
    assert memory_of(out.backward).temporaries < weight.nbytes / 10


def test_a_branch_without_gradient_does_not_stall_the_other():
    x = leaf(3.0)
    h = x * 2
    nothing = make(lambda ctx, x: x * 1, lambda ctx, g: None).apply(h)
    (nothing + h * 5).backward()
    assert x.grad.item() == 10.0
    (make(lambda ctx, x: x * 1, lambda ctx, g: None).apply(x) * 2).backward()
    assert x.grad.item() == 10.0


def test_what_no_gradient_reached_keeps_none():
    x = leaf(3.0)
    h = x * 2
    h.retain_grad()
    make(lambda ctx, x: x * 1, lambda ctx, g: None).apply(h).backward()
    assert h.grad is None and x.grad is None


def test_a_gradient_that_expands_is_summed_down():
    x = leaf(1.0, 2.0)
    Held.apply(x, ebb.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).sum().backward()
    assert x.grad.tolist() == [9.0, 12.0]
    with pytest.raises(ValueError, match=r"HeldBackward: .* input 0 must have shape \[2\], got"):
        Held.apply(x, ebb.ones(3)).sum().backward()


def test_a_complex_gradient_of_a_real_tensor_loses_its_imaginary_part():
    x = leaf(1.0, 2.0)
    Held.apply(x, ebb.tensor([1.0 + 5.0j, 2.0j])).sum().backward()
    assert x.grad.dtype is ebb.float32 and x.grad.tolist() == [1.0, 0.0]


def test_a_hook_that_writes_to_memory_of_others_is_refused():
    x, y = leaf(1.0), leaf(1.0)
    handle = x.register_hook(lambda grad: grad.mul_(10))
    with pytest.raises(RuntimeError, match=r"(?s)'<lambda>': must leave the gradient.*in place"):
        (x + y).backward()  # the gradient of both is one tensor
    handle.remove()
    out = (x * y).exp()
    out.grad_fn.register_prehook(lambda grads: grads[0].zero_())
    with pytest.raises(RuntimeError, match="node pre-hook '<lambda>': must leave the gradient"):
        out.backward(ebb.ones(1))
    assert x.grad is None and y.grad is None


def test_a_node_hook_that_writes_to_memory_of_others_is_refused():
    x, y = leaf(1.0), leaf(1.0)
    total = x + y

    def write(grad_inputs, grad_outputs):
        grad_inputs[0].zero_()

    total.grad_fn.register_hook(write)
    with pytest.raises(RuntimeError, match="node hook 'write': must leave the gradient"):
        total.backward()


def test_a_hook_may_write_to_memory_that_only_the_run_holds():
    x = leaf(1.0, 2.0)
    x.register_hook(lambda grad: grad.mul_(10))
    (x * 3).sum().backward()
    assert x.grad.tolist() == [30.0, 30.0]


def test_a_gradient_that_a_hook_keeps_does_not_change_later():
    x, kept = leaf(1.0), []
    h = x * 1
    h.register_hook(kept.append)
    (h * 2 + h * 3).backward()
    (x * 7).backward()
    assert kept[0].tolist() == [5.0] and x.grad.tolist() == [12.0]


def test_a_run_tells_custom_functions_and_hooks_how_it_was_asked_to_go():
    seen = []

    def backward(ctx, g):
        seen.append((ebb.is_grad_enabled(), graph.current_graph_task_keep_graph(),
                     ctx.needs_input_grad))  # fmt: skip
        return g, g

    x, y = leaf(1.0), leaf(2.0)
    out = make(lambda ctx, x, y: x + y, backward).apply(x, y)
    grad(out, x, retain_graph=True)
    grad(out, [x, y], create_graph=True)
    out.backward()
    assert seen == [(False, True, (True, False)), (True, True, (True, True)),
                    (False, False, (True, True))]  # fmt: skip


def test_a_retained_gradient_is_kept_once_however_often_it_is_asked_for():
    x = leaf(1.0)
    h = x * 2
    h.retain_grad()
    h.retain_grad()
    (h * 3).backward()
    assert h.grad.item() == 3.0


def test_retaining_the_gradient_of_a_leaf_changes_nothing():
    x = leaf(1.0)
    x.retain_grad()
    (x * 3).backward()
    assert x.grad.item() == 3.0 and not x.retains_grad


def test_a_tensor_that_retains_its_gradient_may_die_before_the_run():
    x = leaf(1.0)
    h = x * 2
    h.retain_grad()
    out, gone = h * 3, weakref.ref(h)
    del h
    assert gone() is None
    out.backward()
    assert x.grad.item() == 6.0
