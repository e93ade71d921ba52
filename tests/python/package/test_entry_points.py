# tests/python/package/test_entry_points.py -- arguments of backward() and grad() beyond the plain
# ones.
import pytest

import ebb
from ebb.autograd import grad, graph
from tests.python.leaves import leaf


def test_gradient_edges_are_inputs_and_roots():
    x = leaf(3.0)
    h = x * 2
    out = h * h
    edge = graph.get_gradient_edge(h)
    assert isinstance(edge, graph.GradientEdge) and edge == (h.grad_fn, 0)
    root = graph.get_gradient_edge(out)
    assert [g.item() for g in grad(root, [edge, x], retain_graph=True)] == [12.0, 24.0]
    assert grad(out, edge, retain_graph=True)[0].item() == 12.0
    del out
    ebb.autograd.backward(root, inputs=graph.get_gradient_edge(x))
    assert x.grad.item() == 24.0
    with pytest.raises(RuntimeError, match="get_gradient_edge: needs a tensor that requires"):
        graph.get_gradient_edge(ebb.ones(1))


def test_an_edge_stays_that_of_the_tensor_before_an_in_place_write():
    x = leaf(3.0)
    h = x * 2
    before = graph.get_gradient_edge(h)
    h.mul_(5)
    assert [g.item() for g in grad(h, [before, h])] == [5.0, 1.0]


def test_an_edge_with_a_wrong_number_is_refused():
    y = leaf(3.0) * 2
    with pytest.raises(IndexError, match="which has 1, got number 7"):
        ebb.autograd.backward(graph.GradientEdge(y.grad_fn, 7))


def test_unused_edges_give_none_or_zeros():
    x, y = leaf(1.0), leaf(1.0, 2.0)
    edge = graph.get_gradient_edge(y)
    assert grad(x * 2, [x, edge], allow_unused=True)[1] is None
    assert grad(x * 2, [x, edge], materialize_grads=True)[1].tolist() == [0.0, 0.0]


def test_only_inputs_false_adds_to_the_other_leaves():
    x, y, z = leaf(2.0), leaf(3.0), leaf(5.0)
    (only,) = grad(x * y * z, x, only_inputs=False)
    assert only.item() == 15.0 and x.grad is None
    assert (y.grad.item(), z.grad.item()) == (10.0, 6.0)


@pytest.mark.parametrize("kind", [lambda t: t, lambda t: [t], lambda t: (t,), lambda t: {t}])
def test_no_grad_vars_cut_exactly_these_edges(kind):
    x = leaf(2.0)
    left, right = x * 3, x * 5
    (cut,) = grad(left * right, x, no_grad_vars=kind(right), retain_graph=True)
    assert cut.item() == 30.0
    assert right.requires_grad and right.stop_gradient is False
    assert grad(left * right, x)[0].item() == 60.0


def test_no_grad_vars_take_a_set_of_parameters_and_edges():
    weights = [ebb.nn.Parameter(ebb.ones(1)) for _ in range(2)]
    out = weights[0] * weights[1] * 2
    grads = grad(out, weights, no_grad_vars=set(weights), allow_unused=True, retain_graph=True)
    assert grads == (None, None)
    edge = graph.get_gradient_edge(weights[0])
    grads = grad(out, weights, no_grad_vars=[edge], allow_unused=True)
    assert grads[0] is None and grads[1].item() == 2.0


def test_batched_gradients_run_once_per_entry():
    x = leaf(2.0, 3.0)
    y = x * x
    (jacobian,) = grad(y, x, ebb.eye(2), is_grads_batched=True)
    assert jacobian.tolist() == [[4.0, 0.0], [0.0, 6.0]]
    other = leaf(1.0)
    y = x * x
    grads = grad(y, [x, other], ebb.eye(2), is_grads_batched=True, materialize_grads=True)
    assert grads[1].shape == (2, 1)
    with pytest.raises(ValueError, match="dim 0 of every gradient must be the batch"):
        grad(x.sum(), x, ebb.tensor(1.0), is_grads_batched=True)


def test_batched_gradients_differentiate_again():
    x = leaf(2.0, 3.0)
    (first,) = grad((x**3).sum(), x, create_graph=True)
    (hessian,) = grad(first, x, ebb.eye(2), is_grads_batched=True, create_graph=True)
    assert hessian.tolist() == [[12.0, 0.0], [0.0, 18.0]]
    assert grad(hessian.sum(), x)[0].tolist() == [6.0, 6.0]


def test_backward_inputs_take_leaves_results_and_edges():
    x, y = leaf(2.0), leaf(5.0)
    h = x * 3
    edge = graph.get_gradient_edge(y)
    (h * y).backward(inputs=[h, edge])
    assert (h.grad.item(), y.grad.item(), x.grad) == (5.0, 6.0, None)


def test_a_node_can_be_called():
    x, y = leaf(2.0), leaf(5.0)
    node = (x * y).grad_fn
    left, right = node(ebb.tensor([3.0]))
    assert (left.item(), right.item()) == (15.0, 6.0)
    assert node(None) == (None, None)
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 instead"):
        node(ebb.ones(1), ebb.ones(1))
    with pytest.raises(TypeError, match="needs Tensors or None, got int"):
        node(3)
    assert (x * 2).grad_fn(ebb.ones(1)).item() == 2.0
    accumulator = graph.get_gradient_edge(x).node
    accumulator(ebb.ones(1))
    assert x.grad.item() == 1.0


def test_a_node_describes_the_gradients_it_takes():
    x = ebb.ones(2, 3, requires_grad=True)
    node = (x * 2).grad_fn
    (entry,) = node._input_metadata
    assert (entry.shape, entry.dtype, entry.is_nested_tensor) == ((2, 3), ebb.float32, False)
    assert entry.device == x.device
    (edge,) = node.next_functions
    assert edge[0].name() == "AccumulateGrad" and edge[0].variable is x and edge[1] == 0
    assert isinstance(node, graph.Node)
    node.metadata["note"] = 1
    assert node.metadata == {"note": 1}


def test_one_root_without_gradient_is_named_and_nothing_runs():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=r"backward: tensor 1 \(float32 \[1\]\) must require"):
        ebb.autograd.backward([x * 2, ebb.ones(1)])
    with pytest.raises(RuntimeError, match=r"grad: input 2 \(float32 \[1\]\) must require"):
        grad(x * 2, [x, x, ebb.ones(1)])
    assert x.grad is None


def test_a_seed_is_missing_or_too_many_only_by_mistake():
    x = leaf(1.0, 2.0)
    with pytest.raises(ValueError, match="one gradient per root, got 2 for 1"):
        ebb.autograd.backward([x * 2], [None, None])
    with pytest.raises(ValueError, match="one gradient per root, got 1 for 2"):
        grad([x * 2, x * 3], [x], [ebb.ones(2)])
    with pytest.raises(RuntimeError, match="without a gradient, tensor 1 must have one real"):
        ebb.autograd.backward([x.sum(), x])


def test_a_missing_seed_is_a_one_of_the_roots_dtype_and_shape():
    x = ebb.ones(1, 1, 1, dtype=ebb.float64, requires_grad=True)
    root, seen = x * 2, []
    root.register_hook(lambda grad: seen.append((grad.dtype, grad.shape, grad.item())))
    root.backward()
    assert seen == [(ebb.float64, (1, 1, 1), 1.0)]


def test_a_seed_needs_the_very_shape_of_its_root():
    scalar, vector = ebb.tensor(1.0, requires_grad=True), leaf(1.0)
    for root, seed, text in [
        (scalar * 2, ebb.ones(1), r"shape \[\], got \[1\]"),
        (vector * 2, ebb.tensor(1.0), r"shape \[1\], got \[\]"),
        (graph.get_gradient_edge(vector * 2), ebb.ones(3), r"shape \[1\], got \[3\]"),
    ]:
        with pytest.raises(ValueError, match=text):
            ebb.autograd.backward(root, seed)


def test_a_complex_root_needs_a_complex_seed():
    z = ebb.tensor(1.0 + 2.0j, requires_grad=True)
    with pytest.raises(RuntimeError, match="one real floating element, got complex64"):
        (z * z).backward()
    with pytest.raises(TypeError, match="must be complex like its complex64 tensor"):
        (z * z).backward(ebb.tensor(1.0))
    (z * z).backward(ebb.tensor(1.0 + 0.0j))
    assert z.grad.item() == 2.0 - 4.0j  # the conjugate of 2 z


def test_backward_and_grad_take_their_arguments_by_position():
    x = leaf(3.0)
    y = x * x
    assert ebb.autograd.backward([y], [ebb.ones(1)], True) is None
    assert y.backward(ebb.ones(1), True) is None
    assert grad([y], [x], [ebb.tensor([2.0])])[0].item() == 12.0
    assert x.grad.item() == 12.0


def test_backward_inputs_may_be_one_tensor_and_unreached_ones_stay_without():
    x, other = ebb.tensor(2.0, requires_grad=True), leaf(1.0)
    (x * 3).backward(inputs=x)
    (x * 3).backward(inputs=[x, other])
    assert x.grad.item() == 6.0 and other.grad is None


def test_zeros_for_unused_inputs_have_a_history_only_under_create_graph():
    x, unused = leaf(1.0), leaf(2.0)
    (zeros,) = grad(x * 1, [unused], materialize_grads=True)
    assert not zeros.requires_grad
    (zeros,) = grad(x * 1, [unused], materialize_grads=True, create_graph=True)
    assert zeros.requires_grad and grad(zeros, zeros)[0].item() == 1.0


def test_a_run_between_two_places_starts_and_stops_where_it_must():
    x, a = leaf(2.0), leaf(7.0)
    left, right = x * 3, x * x
    y, aside = left * right, (a * 2).exp()
    ran = []
    for name, tensor in {"left": left, "right": right, "y": y, "aside": aside}.items():
        tensor.grad_fn.register_prehook(lambda grads, name=name: ran.append(name))
    (found,) = grad([y, aside], [x], [ebb.tensor([10.0]), None], no_grad_vars=[right])
    assert found.item() == 10 * 4 * 3 and right.requires_grad
    assert ran == ["y", "left"]


def test_grad_leaves_the_graph_for_a_full_backward():
    x, w = leaf(2.0), leaf(3.0)
    out = (x * w).exp().log()
    grad(out, x, retain_graph=True, no_grad_vars=[w])
    out.backward()
    assert x.grad.item() == pytest.approx(3.0) and w.grad.item() == pytest.approx(2.0)


def test_a_failed_grad_leaves_the_next_one_unharmed():
    x, y = leaf(2.0), leaf(5.0)
    h = x * y
    handle = h.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        grad(h * h, [y, h], retain_graph=True)
    handle.remove()
    assert [one.item() for one in grad(h * h, [x, h])] == [100.0, 20.0]
    assert x.grad is None and y.grad is None


def test_an_edge_keeps_the_graph_but_not_the_tensor():
    x = leaf(3.0)
    y = x * 2
    edge = graph.get_gradient_edge(y.exp().log())
    del y
    assert grad(edge, x)[0].item() == pytest.approx(2.0)


def test_backward_inputs_may_be_the_edge_of_a_result_that_keeps_its_gradient():
    x = leaf(2.0)
    h = x * 3
    h.retain_grad()
    (h * 5).backward(inputs=[graph.get_gradient_edge(h)])
    assert h.grad.item() == 5.0 and x.grad is None


def test_a_node_called_by_hand_calls_no_hooks_and_frees_nothing():
    x = leaf(2.0)
    y = x.exp()
    calls = []
    y.register_hook(calls.append)
    y.grad_fn.register_hook(lambda inputs, outputs: calls.append(outputs))
    assert y.grad_fn(ebb.ones(1)).item() == y.grad_fn(ebb.ones(1)).item() == y.item()
    assert calls == []
    y.backward()
    assert len(calls) == 2


def test_a_second_run_fails_only_where_it_reaches_what_was_freed():
    x = leaf(2.0)
    shared, frugal = x.exp(), x + 1
    (shared * 3).backward()
    with pytest.raises(RuntimeError, match=r"ExpBackward: needs what it saved at .*\.py:\d+ in"):
        (shared + 1).backward()
    (frugal * 3).backward()
    (frugal + 1).backward()
    assert x.grad.item() == pytest.approx(3 * shared.item() + 4)


def cut(tensor, way):
    """Take a tensor out of the graph in the middle of a run."""
    if way == "detach_":
        tensor.detach_()
    elif way == "stop_gradient":
        tensor.stop_gradient = True
    elif way == "write":
        tensor.detach_()
        tensor.requires_grad_()
    else:
        tensor.data = ebb.zeros(1)


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("fill", [False, True])
@pytest.mark.parametrize("way", ["detach_", "stop_gradient", "write", "data"])
@pytest.mark.parametrize("what", ["unused", "used", "leaf", "output", "cut edge"])
def test_what_a_hook_cuts_stays_where_it_was_for_the_run(what, way, fill, batched):
    x, other = leaf(1.0), leaf(1.0)
    unused, used = other * 3, x * 2
    y = used * 5
    goals = {"unused": unused, "used": used, "leaf": x, "output": y, "cut edge": other * 1}
    if what == "leaf" and way in ("detach_", "write", "stop_gradient"):
        way = "freeze"
    goal = goals[what]
    y.register_hook(
        lambda g: goal.requires_grad_(False) and None if way == "freeze" else cut(goal, way)
    )
    seeds = ebb.ones(2, 1) if batched else None
    found = grad(
        y,
        [x, used, unused],
        seeds,
        allow_unused=True,
        materialize_grads=fill,
        is_grads_batched=batched,
        no_grad_vars=[goals["cut edge"]],
    )
    times = 2 if batched else 1
    numbers = [None if one is None else one.flatten().tolist() for one in found]
    assert numbers == [[10.0] * times, [5.0] * times, [0.0] * times if fill else None]


@pytest.mark.parametrize("way", ["detach_", "stop_gradient", "write", "data"])
@pytest.mark.parametrize("what", ["used", "unused"])
def test_what_a_hook_cuts_of_backwards_inputs_harms_no_other(what, way):
    x, other = leaf(1.0), leaf(1.0)
    used, unused = x * 2, other * 3
    y = used * 5
    goal = used if what == "used" else unused
    y.register_hook(lambda g: cut(goal, way))
    ebb.autograd.backward(y, inputs=[used, unused, x])
    assert x.grad.item() == 10.0 and other.grad is None and unused.grad is None
