# tests/python/graphs/test_profiler_memory.py -- allocations noted by a profile, and times in a
# graph.
"""Memory in profiles, and profiles in snapshots."""

import json

import pytest

import ebb
from ebb.profiler import profile
from tests.python.lines import line


def only(prof, name):
    """Return the one range of a name."""
    (found,) = (one for one in prof.ranges if one.name == name)
    return found


def test_ranges_tell_what_was_allocated_in_them():
    x = ebb.ones([10000])
    with profile(profile_memory=True) as prof:
        y = x * 2.0
        y.add_(1.0)
    made, written = only(prof, "mul"), only(prof, "add_")
    assert made.allocations >= 1
    assert 40000 <= made.allocated < 42000  # the result, and the objects around it
    assert 40000 <= made.kept == made.peak == made.allocated
    assert written.allocated < 1000
    assert written.kept == 0


def test_temporaries_count_for_the_op_that_makes_them():
    x = ebb.randn([8, 16])  # too small to be shared with other threads, which are not noted
    with profile(profile_memory=True) as prof:
        x.t().cumsum(0).sort(1)
    total = prof.allocations()["sort"]
    assert total.bytes > only(prof, "sort").bytes  # which are those of the results
    assert only(prof, "sort").peak > only(prof, "sort").kept


def test_memory_is_noted_only_if_asked_for():
    with profile() as prof:
        ebb.ones([100]).exp()
    assert only(prof, "exp").allocations == 0
    assert "allocs" not in prof.table()
    for ask in (lambda: prof.peak_bytes, prof.allocations, prof.memory_timeline):
        with pytest.raises(ebb.Error, match="needs profile_memory=True"):
            ask()


def test_the_peak_and_what_was_alive_at_it():
    with profile(profile_memory=True) as prof:
        first_line = line() + 1
        first = ebb.ones([100000])
        second_line = line() + 1
        second = first * 2.0
        del first
        third = second[:10] + 1.0
    above = prof.peak_bytes - prof.start_bytes
    assert 800000 <= above < 850000
    by_line = {int(key.split(":")[1].split()[0]): one for key, one in
               prof.allocations("line").items() if ":" in key}  # fmt: skip
    assert by_line[second_line].at_peak >= 400000
    assert by_line[second_line].at_end >= 400000
    assert by_line[first_line].at_end < 1000
    for by in ("op", "module", "line"):
        assert sum(one.at_peak for one in prof.allocations(by).values()) == prof.peak_bytes
    assert third.tolist() == [3.0] * 10


def test_allocations_by_op_module_and_line_are_the_same_in_all():
    net = ebb.nn.Sequential(ebb.nn.Linear(64, 64), ebb.nn.Tanh())
    with profile(profile_memory=True) as prof:
        net(ebb.ones([32, 64])).sum().backward()
    tables = {by: prof.allocations(by) for by in ("op", "module", "line")}
    totals = {sum(one.bytes for one in found.values()) for found in tables.values()}
    assert len(totals) == 1
    assert sum(one.allocated for one in prof.ranges if one.kind == "op") <= totals.pop()
    assert tables["module"]["0"].bytes >= 4 * (32 * 64 + 64 * 64)
    assert {"linear", "tanh", "matmul", "(outside of ranges)"} <= set(tables["op"])
    with pytest.raises(ValueError, match="by must be one of op, module, line, got 'kind'"):
        prof.allocations("kind")


def test_the_table_has_columns_of_memory():
    with profile(profile_memory=True) as prof:
        (ebb.ones([1000]) * 2.0).exp()
    lines = prof.table().splitlines()
    assert lines[0].split()[-3:] == ["allocs", "allocated", "peak"]
    row = next(one for one in lines if one.startswith("exp "))
    assert int(row.split()[-2].replace(",", "")) >= 4000
    assert "bytes at most" in lines[-1]


def test_the_timeline_follows_what_is_alive():
    with profile(profile_memory=True) as prof:
        x = ebb.ones([100000])
        x = x.exp()  # the first one dies
    timeline = prof.memory_timeline()
    assert [at for at, _ in timeline] == sorted(at for at, _ in timeline)
    assert max(live for _, live in timeline) == prof.peak_bytes
    assert prof.peak_bytes - timeline[-1][1] >= 400000


def test_the_trace_has_a_track_of_memory(tmp_path):
    with profile(profile_memory=True) as prof:
        ebb.ones([1000]).exp()
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    track = [event["args"]["bytes"] for event in events if event["ph"] == "C"]
    assert track == [live for _, live in prof.memory_timeline()]
    (made,) = (event for event in events if event["name"] == "exp")
    assert made["args"]["allocated"] >= 4000


# -- times in a graph ------------------------------------------------------------------------------


def profiled(is_taken_before=True, **options):
    """Return a network's graph, taken before or after it ran, and the profile of both passes."""
    net = ebb.nn.Sequential(ebb.nn.Linear(8, 8), ebb.nn.Tanh(), ebb.nn.Linear(8, 1))
    with profile(**options) as prof:
        loss = net(ebb.ones([4, 8])).mean()
        graph = ebb.graph(loss, net)
        loss.backward()
    return (graph if is_taken_before else ebb.graph(loss, net)), prof


@pytest.mark.parametrize("is_taken_before", [True, False])
def test_a_graph_takes_times_from_a_profile(is_taken_before):
    graph, prof = profiled(is_taken_before)
    timed = graph.with_times(prof)
    by_sequence = prof.linked()
    for node in timed:
        if node.is_leaf:
            assert (node.time_ns, node.allocated) == (None, None)
            continue
        forward, backward = by_sequence[node.sequence]
        assert node.forward_ns == pytest.approx(forward.duration, abs=1)
        assert node.backward_ns == pytest.approx(backward[0].duration, abs=1)
        assert node.time_ns == node.forward_ns + node.backward_ns
        assert node.allocated == forward.bytes + backward[0].bytes
    assert not graph.has_times and graph[0].time_ns is None  # which is as it was


def test_with_memory_a_node_has_all_that_was_allocated():
    graph, prof = profiled(profile_memory=True)
    node = graph.with_times(prof).find("Tanh")[0]
    forward, (backward,) = prof.linked()[node.sequence]
    assert node.allocated == forward.allocated + backward.allocated > 0


def test_nodes_outside_of_the_profile_have_no_time():
    x = ebb.ones([4], requires_grad=True)
    y = x.exp()
    with profile() as prof:
        loss = y.sum()
    graph = ebb.graph(loss).with_times(prof)
    assert graph.find("Exp")[0].time_ns is None
    assert graph.find("Sum")[0].backward_ns is None
    assert graph.find("Sum")[0].time_ns == graph.find("Sum")[0].forward_ns > 0


def test_tables_and_the_summary_show_times():
    graph, prof = profiled()
    timed = graph.with_times(prof)
    assert timed.table().splitlines()[0].split()[-3:] == ["forward", "backward", "allocated"]
    assert timed.table("module").splitlines()[0].split()[-1] == "time"
    assert " forward, " in str(timed)
    assert "forward" not in graph.table()
    assert "time" not in graph.table("op").splitlines()[0]


def test_times_are_in_the_json_of_the_manual():
    graph, prof = profiled()
    nodes = json.loads(graph.with_times(prof).to_json())["nodes"]
    assert len(nodes["time_ns"]) == len(nodes["allocated"]) == len(graph)
    assert nodes["time_ns"][0] == nodes["forward_ns"][0] + nodes["backward_ns"][0]
    assert nodes["time_ns"][-1] == -1
    assert "time_ns" not in json.loads(graph.to_json())["nodes"]


def test_a_profile_that_runs_cannot_be_asked_for_times():
    graph, _ = profiled()
    with profile() as prof, pytest.raises(ebb.Error, match="a block that has ended"):
        graph.with_times(prof)
