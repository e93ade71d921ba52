# tests/python/graphs/test_profiler_phases.py -- what profiles note if asked: the phases of a call,
# from Python's binding to the node, and the operands of ops and nodes.
import pytest

import ebb
from ebb.profiler import profile

ROWS = ebb.rand([2, 3])
PHASES = ["binding", "shape inference", "kernel", "node creation"]


def phases_of(prof, name):
    """The ranges of the phases of one call, in the order in which they started."""
    found = [one for one in prof.ranges if one.kind == "phase" and one.name.startswith(f"{name} ")]
    assert [one.name for one in found] == [f"{name} {phase}" for phase in PHASES[: len(found)]]
    return found


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("matmul", lambda x: x.matmul(x)),
        ("exp", lambda x: ebb.exp(x)),
        ("softmax", lambda x: x.softmax(0)),
        ("unbind", lambda x: x.unbind(0)),
        ("topk", lambda x: ebb.topk(x, 2)),
        ("relu", lambda x: ebb.nn.functional.relu(x)),
    ],
)
def test_a_recorded_call_goes_through_every_layer_once_and_in_order(name, call):
    x = ebb.rand([3, 3]).requires_grad_()
    with profile(with_phases=True) as prof:
        call(x)
    binding, inference, kernel, node = phases_of(prof, name)
    (op,) = [one for one in prof.ranges if one.name == name]
    assert binding.start <= op.start == inference.start
    assert inference.end == kernel.start and kernel.end == node.start
    assert node.end <= op.end <= binding.end
    assert {one.place for one in (binding, inference, kernel, node)} == {op.place}


def test_a_node_is_created_only_where_a_gradient_is_wanted():
    x = ebb.rand([3]).requires_grad_()
    with profile(with_phases=True) as prof, ebb.no_grad():
        x.exp()
    assert len(phases_of(prof, "exp")) == 3
    with profile(with_phases=True) as prof:
        x.detach().exp()
    assert len(phases_of(prof, "exp")) == 3


def test_operators_bind_as_their_methods():
    x = ebb.rand([3]).requires_grad_()
    with profile(with_phases=True) as prof:
        _ = x + x, x * 2.0, -x, x < 1.0
    names = [one.name for one in prof.ranges if one.name.endswith("binding")]
    assert names == [f"__{name}__ binding" for name in ("add", "mul", "neg", "lt")]


def test_errors_of_shapes_come_before_any_memory_is_taken():
    prof = profile(with_phases=True, profile_memory=True)
    with prof, pytest.raises(ValueError, match="matmul"):
        ebb.matmul(ROWS, ROWS)
    (op,) = [one for one in prof.ranges if one.name == "matmul"]
    assert op.allocations == 0
    assert not [one for one in prof.ranges if one.name == "matmul kernel"]


def test_ops_inside_a_node_have_phases_too():
    x = ebb.rand([3]).requires_grad_()
    loss = x.exp().sum()
    with profile(with_phases=True) as prof:
        loss.backward()
    (node,) = [one for one in prof.ranges if one.name == "ExpBackward"]
    inside = [one.name for one in prof.ranges if node.start <= one.start and one.end <= node.end]
    assert [one.rpartition(" ")[2] for one in inside[1:]] == ["mul0", "inference", "kernel"]


def test_phases_and_memory_are_noted_together():
    x = ebb.rand([100]).requires_grad_()
    with profile(with_phases=True, profile_memory=True) as prof:
        x.exp()
    (op,) = [one for one in prof.ranges if one.name == "exp"]
    assert op.allocated >= 400
    assert [one.allocated for one in phases_of(prof, "exp")[1:]] == [0, 0, 0]
    assert sum(one.bytes for one in prof.allocations("op").values()) >= 400


def test_operands_of_ops_and_nodes_are_noted_on_request():
    weight = ebb.rand([2, 3]).requires_grad_()
    bias = ebb.rand([2]).requires_grad_()
    with profile(record_shapes=True) as prof:
        out = ebb.nn.functional.linear(ebb.rand([4, 3]), weight, bias)
        ebb.cat([out, out.double()], 1).sum().backward()
    operands = {one.name: one.operands for one in prof.ranges}
    assert operands["linear"] == ("float32 [4, 3]", "float32 [2, 3]", "float32 [2]")
    assert operands["cat"] == ("float32 [4, 2]", "float64 [4, 2]")
    assert operands["SumBackward"] == ("float64 []",)
    assert operands["LinearBackward"] == ("float32 [4, 2]",)
    assert "cat(float32 [4, 2], float64 [4, 2])" in prof.table("operands", limit=100)


def test_a_trace_has_operands(tmp_path):
    import json

    with profile(record_shapes=True) as prof:
        ebb.rand([2, 3]).exp()
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    (event,) = [one for one in events if one["name"] == "exp"]
    assert event["args"]["operands"] == ["float32 [2, 3]"]


def test_nothing_of_it_is_noted_unasked():
    x = ebb.rand([3]).requires_grad_()
    with profile() as prof:
        x.exp().sum().backward()
    assert not [one for one in prof.ranges if one.kind == "phase" or one.operands]


def test_ops_without_derivative_are_ranges():
    x = ebb.rand([3])
    with profile(with_phases=True) as prof:
        x.argmax()
        ebb.isnan(x)
    assert [one.name for one in prof.ranges if one.kind == "op"] == ["argmax", "isnan"]
    assert len(phases_of(prof, "argmax")) == 3


def test_a_profile_that_ends_inside_a_call_leaves_the_next_one_whole():
    x = ebb.rand([3]).requires_grad_()
    outer = profile(with_phases=True)

    def hook(grad):
        outer.__exit__(None, None, None)
        outer.__enter__()

    x.register_hook(hook)
    outer.__enter__()
    x.exp().sum().backward()
    x.exp()
    outer.__exit__(None, None, None)
    assert len(phases_of(outer, "exp")) == 4
