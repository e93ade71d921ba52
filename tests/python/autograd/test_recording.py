# tests/python/autograd/test_recording.py -- what one recorded op leaves behind: its node, edges,
# flags.
import gc

import pytest

import ebb
from ebb.autograd import grad, graph
from tests.cases import by_family, each_of
from tests.python.held import live, live_without_garbage
from tests.python.leaves import leaf
from tests.python.ops.op_rows import call, load_rows, make_arguments


def edges_of(tensor):
    return [node for node, _ in tensor.grad_fn.next_functions]


def as_leaves(given):
    if isinstance(given, list):
        return [as_leaves(one) for one in given]
    if isinstance(given, ebb.Tensor) and (given.is_floating_point() or given.is_complex()):
        return given.detach().clone().requires_grad_()
    return given


def call_on_leaves(row):
    """The results of a call of the op of ``row``, a flat list, and the leaves it was given."""
    arguments = make_arguments(row, row.cases()[0], "float64")
    for name in row.differentiable:
        arguments[name] = as_leaves(arguments.get(name))
    results = call(row, arguments)
    flat = []
    for given in arguments.values():
        flat += given if isinstance(given, list) else [given]
    leaves = [one for one in flat if isinstance(one, ebb.Tensor) and one.requires_grad]
    return list(results) if isinstance(results, tuple | list) else [results], leaves


DIFFERENTIABLE = [
    row for row in load_rows() if row.differentiable and not row.is_inplace and row.cases()
]


@each_of(DIFFERENTIABLE, by_family)
def test_every_differentiable_result_requires_a_gradient_and_no_other_does(row):
    for result in call_on_leaves(row)[0]:
        assert result.requires_grad == (result.is_floating_point() or result.is_complex())


SEVERAL = [
    row for row in DIFFERENTIABLE if len(row.data["results"]) > 1 or "[]" in row.data["results"][0]
]


@pytest.mark.parametrize("row", SEVERAL, ids=str)
def test_results_that_no_gradient_reaches_count_as_zero(row):
    results, leaves = call_on_leaves(row)
    results = [one for one in results if one.requires_grad]
    for used, result in enumerate(results):
        seeds = [ebb.ones_like(one) * (one is result) for one in results]
        options = {"retain_graph": True, "materialize_grads": True}
        alone = grad(result, leaves, seeds[used], **options)
        together = grad(results, leaves, seeds, **options)
        for one, other in zip(alone, together, strict=True):
            assert one.dtype is other.dtype and ebb.equal(one, other)


def test_every_op_names_its_node_after_itself():
    names = {}
    for row in DIFFERENTIABLE:
        # Results that are given up to a phase come with it taken off, by other ops.
        if row.data["is_composite"] or "phases" in row.test:
            continue
        for result in call_on_leaves(row)[0]:
            if result.grad_fn is not None:
                names.setdefault(result.grad_fn.name(), set()).add(row.op)
    assert all(name.endswith("Backward") and name != "Backward" for name in names)
    assert [ops for ops in names.values() if len(ops) > 1] == []


def test_a_node_has_an_edge_for_each_operand_and_metadata_for_each_result():
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    joined = ebb.cat([a, b, c])
    assert [node.variable for node in edges_of(joined)] == [a, b, c]
    parts = joined.split(1)
    assert len(parts[0].grad_fn._input_metadata) == 3
    assert [part.output_nr for part in parts] == [0, 1, 2]
    assert {part.grad_fn for part in parts} == {parts[0].grad_fn}


def test_a_leaf_has_one_accumulator_that_all_ops_share():
    x = leaf(1.0)
    (first,), (second,) = edges_of(x * 2), edges_of(x.exp())
    assert first is second and first.variable is x
    left, right = edges_of(x * x)
    assert left is right is first


def test_a_leaf_gets_a_new_accumulator_after_its_graph_died():
    x = leaf(1.0)
    (x * 2).backward()
    gc.collect()
    (accumulator,) = edges_of(x * 3)
    assert accumulator.variable is x
    (x * 3).backward()
    assert x.grad.item() == 5.0


def test_attributes_are_copied_when_the_op_is_recorded():
    x = ebb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    dims = [0]
    y = x.sum(dims) * ebb.tensor([1.0, 10.0])
    dims[0] = 1
    y.sum().backward()
    assert x.grad.tolist() == [[1.0, 10.0], [1.0, 10.0]]


def test_an_operand_without_gradient_has_no_edge():
    x, constant = leaf(1.0), ebb.ones(1)
    product = constant * x
    assert [node if node is None else node.variable for node in edges_of(product)] == [None, x]


def test_an_optional_operand_may_be_missing():
    x = ebb.tensor([[1.0, 3.0]], requires_grad=True)
    (gradient,) = grad(ebb.layer_norm(x, [2])[0, 1], x)
    weight = ebb.ones(2, requires_grad=True)
    (with_weight,) = grad(ebb.layer_norm(x, [2], weight)[0, 1], x)
    assert gradient.tolist() == with_weight.tolist()


def test_a_write_in_place_follows_the_op_before_it_and_not_itself():
    x = leaf(1.0)
    y = x * 3
    before = y.grad_fn
    y.mul_(2)
    assert y.grad_fn is not before and edges_of(y) == [before]


def test_ops_that_overwrite_what_they_need_may_be_chained():
    x = leaf(0.5)
    plain = (x * 1).sin().sin()
    written = x * 1
    written.sin_().sin_()
    assert written.item() == plain.item()
    assert grad(written, x)[0].item() == grad(plain, x)[0].item()


def test_only_floating_and_complex_tensors_may_require_a_gradient():
    for dtype in (ebb.int64, ebb.bool):
        with pytest.raises(TypeError, match="needs a floating or complex dtype"):
            ebb.ones(2, dtype=dtype).requires_grad_()
        with pytest.raises(TypeError, match="needs a floating or complex dtype"):
            ebb.ones(2, dtype=dtype, requires_grad=True)
    assert ebb.ones(2, dtype=ebb.complex64).requires_grad_().requires_grad


def test_asking_a_result_to_require_a_gradient_changes_nothing():
    y = leaf(1.0) * 2
    node = y.grad_fn
    y.requires_grad = True
    assert y.requires_grad_() is y and y.grad_fn is node


def test_stopping_the_gradient_of_an_intermediate_cuts_what_is_above_it():
    x, other = leaf(2.0), leaf(1.0)
    h = x * 3
    h.stop_gradient = True
    (h * other).backward()
    assert x.grad is None and other.grad.item() == 6.0


def test_a_user_who_stopped_a_result_finds_it_stopped():
    y = leaf(1.0) * 2
    y.stop_gradient = True
    y.mul_(2)
    y[0] = 5.0
    assert y.stop_gradient and not (y * 2).requires_grad


def test_branches_and_loops_record_what_ran():
    def program(x):
        total = x
        for step in range(3):
            total = total * x if step % 2 == 0 else total + x
        while total.item() < 100:
            total = total * 2
        return total

    x = leaf(2.0)
    y = program(x)  # ((x * x) + x) * x = 12, then times 16
    assert y.item() == 192.0
    assert grad(y, x)[0].item() == 16 * (3 * 4 + 2 * 2)


def test_a_node_is_one_object_that_sets_and_dicts_can_hold():
    x = leaf(1.0)
    y = x * 2
    z = y + y
    assert {y.grad_fn, *edges_of(z)} == {y.grad_fn}
    assert {z.grad_fn: "root"}[z.grad_fn] == "root"
    assert hash(graph.get_gradient_edge(y).node) == hash(y.grad_fn)


def test_sequence_numbers_rise_as_ops_are_recorded():
    x = leaf(1.0)
    first = x * 2
    second = first * 2
    assert second.grad_fn._sequence_nr() > first.grad_fn._sequence_nr()


def test_tensors_that_ops_do_not_need_are_freed_while_the_graph_lives():
    x = ebb.ones(1000, requires_grad=True)
    before = live_without_garbage()
    y = ((x + 1) + 2) + 3
    assert live() - before < 2 * 4000  # the last result, and the nodes
    assert y.requires_grad
