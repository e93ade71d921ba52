# tests/python/graphs/test_profiler.py -- ranges of time: kinds, nesting, links, bytes, tables and
# traces.
"""The profiler."""

import json
import time

import pytest

import ebb
from ebb.graphs import Location
from ebb.profiler import profile, record_function
from tests.python.autograd.function_support import double
from tests.python.lines import line
from tests.python.threads import on_threads


def named(prof, name):
    """Return the ranges of one name."""
    return [one for one in prof.ranges if one.name == name]


def most_at_once(ranges):
    """Return how many of the ranges there were at one time, at most."""
    steps = [(one.start, 1) for one in ranges] + [(one.end, -1) for one in ranges]
    now = most = 0
    for _, step in sorted(steps):
        now += step
        most = max(most, now)
    return most


def test_ops_and_nodes_are_ranges_with_name_place_and_sequence():
    x = ebb.ones([4], requires_grad=True)
    with profile() as prof:
        at = line() + 1
        y = x.exp()
        y.sum().backward()
    (forward,) = named(prof, "exp")
    (backward,) = named(prof, "ExpBackward")
    assert (forward.kind, forward.is_backward) == ("op", False)
    assert (backward.kind, backward.is_backward) == ("op", True)
    function = "test_ops_and_nodes_are_ranges_with_name_place_and_sequence"
    assert forward.place == (__file__, at, function)
    assert backward.place == forward.place
    assert isinstance(forward.place, Location) and str(forward.place) == f"{__file__}:{at}"
    assert all(isinstance(place, Location) for place in forward.stack)
    assert forward.sequence == backward.sequence == y.grad_fn._sequence_nr()
    assert 0 <= forward.start < forward.end <= backward.start < backward.end <= prof.duration


def test_unrecorded_ops_have_no_sequence_number():
    with profile() as prof:
        ebb.ones([3]) + 1.0
    assert [(one.name, one.sequence) for one in prof.ranges if one.name == "add"] == [("add", 0)]


def test_ops_inside_a_node_are_inner():
    x = ebb.ones([4], requires_grad=True)
    with profile() as prof:
        (x * 2.0).sum().backward()
    (node,) = named(prof, "MulScalarBackward")
    inside = [one for one in prof.ranges if node.start <= one.start and one.end <= node.end]
    assert [one.kind for one in inside[1:]] == ["inner"] * (len(inside) - 1)
    assert len(inside) > 1


def test_bytes_are_those_made_for_results():
    x = ebb.ones([100], requires_grad=True)
    with profile() as prof:
        y = x * 2.0
        y.add_(1.0)
        y[3:]
    assert named(prof, "mul")[0].bytes == 400
    assert named(prof, "add_")[0].bytes == 0
    assert all(one.bytes == 0 for one in prof.ranges if one.name in ("slice", "narrow"))


def test_user_ranges_nest_and_serve_as_decorators():
    @record_function("compute")
    def compute(x):
        with record_function("inside"):
            return x.exp()

    with profile() as prof:
        compute(ebb.ones([2]))
    (outer,) = named(prof, "compute")
    (inner,) = named(prof, "inside")
    (op,) = named(prof, "exp")
    assert outer.kind == inner.kind == "user"
    assert op.kind == "op"
    assert outer.start <= inner.start <= op.start <= op.end <= inner.end <= outer.end


def test_a_range_that_an_exception_leaves_is_closed():
    with profile() as prof:
        with pytest.raises(ZeroDivisionError), record_function("failing"):
            _ = 1 / 0
        with pytest.raises(ValueError, match="broadcast"):
            ebb.ones([2]) + ebb.ones([3])
        ebb.ones([2]).exp()
    assert len(named(prof, "failing")) == 1
    assert named(prof, "exp")[0].kind == "op"


def test_ranges_outside_a_profile_leave_nothing():
    with record_function("before"), profile() as prof:
        ebb.ones([2]).exp()
    assert [one.name for one in prof.ranges if one.kind == "user"] == []


def test_times_are_those_of_the_clock():
    with profile() as prof, record_function("sleep"):
        time.sleep(0.05)
    slept = named(prof, "sleep")[0].duration
    assert slept >= 0.0499e9  # the sleep itself; the upper bound is the machine's business
    assert slept <= prof.duration


def test_self_times_add_up_to_the_outermost_ranges():
    x = ebb.ones([16], requires_grad=True)
    with profile() as prof, record_function("all"):
        (x.exp() * 2.0).sum().backward()
    (whole,) = named(prof, "all")
    assert sum(prof.self_times()) == pytest.approx(whole.duration)
    assert min(prof.self_times()) >= -1e-6


def test_linked_gives_forward_and_backward_of_each_node():
    x = ebb.ones([4], requires_grad=True)
    with profile() as prof:
        y = x.exp().tanh().sum()
        y.backward(retain_graph=True)
        y.backward()
    names = {one.name: [node.name for node in ran] for one, ran in prof.linked().values()}
    assert names["exp"] == ["ExpBackward"] * 2
    assert names["tanh"] == ["TanhBackward"] * 2
    assert names["sum"] == ["SumBackward"] * 2


def test_custom_functions_are_ranges():
    x = ebb.ones([4], requires_grad=True)
    with profile() as prof:
        double()(x).sum().backward()
    assert len(named(prof, "DoubleBackward")) == 1


def test_only_the_starting_thread_and_its_helpers_are_noted():
    with profile() as prof:
        on_threads(lambda: ebb.ones([2]).exp())
        ebb.ones([2]).tanh()
    assert named(prof, "exp") == []
    assert len(named(prof, "tanh")) == 1


def test_branches_on_several_threads_are_noted():
    ebb.set_num_threads(2)
    x = ebb.ones([16384], requires_grad=True)
    total = None
    for branch in range(4):
        value = x * float(branch + 1)
        for _ in range(200):
            value = value.tanh()
        total = value if total is None else total + value
    loss = total.sum()
    with profile() as prof:
        loss.backward()
    nodes = named(prof, "TanhBackward")
    assert len(nodes) == 800
    # Two at a time; over the whole run they may be any of the pool's threads.
    assert most_at_once(nodes) <= 2
    for thread in {one.thread for one in nodes}:
        assert most_at_once([one for one in nodes if one.thread == thread]) == 1


def test_one_profile_runs_at_a_time():
    with profile():
        with pytest.raises(ValueError, match="one can run at a time"), profile():
            pass
        found = []

        def stop():
            try:
                ebb._C._stop_profile()
            except ValueError as error:
                found.append(str(error))

        on_threads(stop)
    assert "the thread that started" in found[0]
    with pytest.raises(ValueError, match="got none"):
        ebb._C._stop_profile()


def test_a_schedule_chooses_the_steps_that_are_noted():
    plan = ebb.profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    assert [plan(step) for step in range(6)] == [
        "none", "none", "warmup", "record", "record_and_save", "none"
    ]  # fmt: skip
    assert plan(8) == "record_and_save" and plan(9) == plan(13) == "none"
    with pytest.raises(ValueError, match="active of at least 1, got"):
        ebb.profiler.schedule(wait=0, warmup=0, active=0)


def test_a_scheduled_profile_hands_over_each_cycle():
    found = []

    def keep(prof):
        found.append([one.name for one in prof.ranges])

    plan = ebb.profiler.schedule(wait=1, warmup=1, active=2)
    x = ebb.ones([2])
    with profile(schedule=plan, on_trace_ready=keep) as prof:
        for _ in range(9):
            x.exp()
            prof.step()
    steps = [["ProfilerStep#2", "exp", "ProfilerStep#3", "exp"],
             ["ProfilerStep#6", "exp", "ProfilerStep#7", "exp"]]  # fmt: skip
    assert found == steps
    assert [one.name for one in prof.ranges] == steps[1]


def test_a_schedule_that_is_left_early_hands_over_what_is_there():
    plan = ebb.profiler.schedule(wait=0, warmup=0, active=5)
    found = []
    with profile(schedule=plan, on_trace_ready=found.append):
        ebb.ones([2]).exp()
    assert len(found) == 1
    assert [one.name for one in found[0].ranges] == ["ProfilerStep#0", "exp"]
    with profile(schedule=ebb.profiler.schedule(wait=0, warmup=5, active=1)) as prof:
        ebb.ones([2]).exp()
    with pytest.raises(ebb.Error, match="a block that has ended"):
        _ = prof.ranges


def test_steps_are_counted_without_a_schedule_and_one_needs_to_say_what_to_do():
    with profile() as prof:
        prof.step()
    assert prof.step_num == 1
    with pytest.raises(ValueError, match=r"must return one of .*, got 'sometimes'"):
        profile(schedule=lambda step: "sometimes").__enter__()
    with profile():  # nothing is left running
        pass


def test_with_stack_ranges_tell_who_called():
    def inner(x):
        return x.exp()

    x = ebb.ones([2], requires_grad=True)
    with profile(with_stack=True) as prof:
        inner(x).sum().backward()
    stack = [place[2] for place in named(prof, "exp")[0].stack]
    assert stack[0].endswith("<locals>.inner")
    assert stack[1] == "test_with_stack_ranges_tell_who_called"
    assert named(prof, "ExpBackward")[0].stack[0] == named(prof, "exp")[0].place
    with profile() as prof:
        inner(x)
    assert len(named(prof, "exp")[0].stack) == 1


def test_a_profile_that_has_not_ended_cannot_be_read():
    prof = profile()
    with pytest.raises(ebb.Error, match="a block that has ended"):
        _ = prof.ranges


def test_a_graph_recorded_in_a_profile_runs_after_it():
    x = ebb.ones([4], requires_grad=True)
    with profile():
        y = ebb.utils.checkpoint.checkpoint(lambda z: z.exp().tanh(), x)
    y.sum().backward()
    assert x.grad is not None
    with profile() as prof:
        x.exp()
    assert [one.name for one in prof.ranges] == ["exp"]


@pytest.mark.parametrize("by", ["op", "module", "line", "kind", "thread"])
def test_the_table_has_a_line_per_group(by):
    x = ebb.ones([4], requires_grad=True)
    with profile() as prof:
        for _ in range(3):
            x.exp().sum().backward()
    text = prof.table(by)
    assert text.startswith(by)
    assert "us in ranges" in text.splitlines()[-1]
    if by == "op":
        row = next(one for one in text.splitlines() if one.startswith("exp "))
        assert row.split()[4] == "3"
    if by == "line":
        assert "test_profiler.py" in text


def test_a_table_may_be_limited_and_bad_groups_are_refused():
    with profile() as prof:
        ebb.ones([2]).exp().tanh().sin()
    assert "... and 2 more" in prof.table(limit=1)
    with pytest.raises(
        ValueError, match="by must be one of op, operands, module, line, kind, thread, got 'sea'"
    ):
        prof.table("sea")


def test_the_execution_log_lists_nodes_in_the_order_of_the_run():
    x = ebb.ones([4], requires_grad=True)
    with profile() as prof:
        y = x.exp().tanh().sum()
        y.backward()
    lines = prof.execution_log().splitlines()
    assert [one.split()[2] for one in lines[1:]] == ["SumBackward", "TanhBackward", "ExpBackward"]
    assert all("test_profiler.py" in one for one in lines[1:])


def test_ranges_belong_to_modules_and_backward_nodes_to_those_that_recorded_them():
    net = ebb.nn.Sequential(ebb.nn.Linear(3, 3), ebb.nn.Sequential(ebb.nn.Tanh()))
    with profile() as prof:
        net(ebb.ones([2, 3])).sum().backward()
    modules = {one.name: one.module for one in prof.ranges if one.kind == "op"}
    assert modules["linear"] == modules["LinearBackward"] == "0"
    assert modules["tanh"] == modules["TanhBackward"] == "1.0"
    assert modules["sum"] is None
    assert {one.module for one in prof.ranges if one.name == "matmul"} == {"0"}  # of the rule
    rows = [one.split()[0] for one in prof.table("module").splitlines()]
    assert {"0", "1.0", "(no"} < set(rows)
    log = prof.execution_log().splitlines()
    assert "  1.0 " in next(one for one in log if "TanhBackward" in one)


def test_the_outermost_module_has_a_row_of_its_own():
    class Net(ebb.nn.Module):
        def forward(self, x):
            return x.exp()

    with profile() as prof:
        Net()(ebb.ones([2]))
    assert named(prof, "exp")[0].module == ""
    assert "(outermost)" in prof.table("module")


def test_adding_to_a_gradient_that_is_there_is_a_range():
    x = ebb.ones([4], requires_grad=True)
    (x * 2.0).sum().backward()
    loss = (x * 2.0).sum()
    with profile() as prof:
        loss.backward()
    (added,) = named(prof, "AccumulateGrad")
    (node,) = named(prof, "MulScalarBackward")
    assert node.end <= added.start <= added.end  # after the last node, so that a failure adds none
    assert x.grad.tolist() == [4.0] * 4
    with profile() as prof, ebb.autograd.atomic_accumulation(False):
        (x * 2.0).sum().backward()
    (added,), (node,) = named(prof, "AccumulateGrad"), named(prof, "MulScalarBackward")
    assert node.start <= added.start <= added.end <= node.end


def test_first_gradients_are_handed_over_in_one_range():
    x, y = (ebb.ones([4], requires_grad=True) for _ in range(2))
    with profile() as prof:
        (x * y).sum().backward()
    assert len(named(prof, "AccumulateGrad")) == 1
    assert x.grad is not None and y.grad is not None


def test_steps_of_optimizers_and_clipping_are_ranges():
    x = ebb.ones([4], requires_grad=True)
    optimizer = ebb.optim.SGD([x], lr=0.1)
    with profile() as prof:
        optimizer.zero_grad()
        (x * 2.0).sum().backward()
        ebb.nn.utils.clip_grad_norm_([x], 1.0)
        ebb.nn.utils.clip_grad_value_([x], 1.0)
        at = line() + 1
        optimizer.step()
    (step,) = named(prof, "SGD.step")
    assert step.kind == "op"
    assert step.place[:2] == (__file__, at)
    for name in ("SGD.zero_grad", "clip_grad_norm_", "clip_grad_value_"):
        assert len(named(prof, name)) == 1


def test_steps_of_the_users_own_optimizers_are_ranges():
    class Signs(ebb.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {})

        def step(self):
            with ebb.no_grad():
                for group in self.param_groups:
                    for tensor in group["params"]:
                        tensor -= tensor.grad.sign()

    x = ebb.ones([4], requires_grad=True)
    (x * 2.0).sum().backward()
    with profile() as prof:
        Signs([x]).step()
    assert named(prof, "Signs.step")[0].kind == "user"


def test_hooks_are_ranges_inside_the_run():
    def watch(grad):
        return grad * 2.0

    x = ebb.ones([4], requires_grad=True)
    y = x.exp()
    y.register_hook(watch)
    with profile() as prof:
        y.sum().backward()
    hooks = [one for one in prof.ranges if "watch" in one.name]
    assert len(hooks) == 1
    assert "of ExpBackward" in hooks[0].name
    inside = [one for one in prof.ranges if hooks[0].start <= one.start and one.end <= hooks[0].end]
    assert [one.name for one in inside[1:]] == ["mul"]


def test_an_empty_profile_has_an_empty_table():
    with profile() as prof:
        pass
    assert prof.ranges == []
    assert "0.0 us in ranges" in prof.table()


def test_the_chrome_trace_has_every_range_and_links(tmp_path):
    x = ebb.ones([4], requires_grad=True)
    with profile() as prof:
        x.exp().sum().backward()
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    complete = [event for event in events if event["ph"] == "X"]
    assert len(complete) == len(prof.ranges)
    assert {event["name"] for event in complete} >= {"exp", "sum", "ExpBackward", "SumBackward"}
    starts = {event["id"] for event in events if event["ph"] == "s"}
    ends = {event["id"] for event in events if event["ph"] == "f"}
    assert starts == ends != set()


@pytest.mark.parametrize("profile_memory", [False, True])
def test_a_profiled_step_computes_the_same(profile_memory):
    def step():
        ebb.manual_seed(0)
        net = ebb.nn.Sequential(ebb.nn.Linear(7, 5), ebb.nn.Tanh(), ebb.nn.Linear(5, 3))
        net(ebb.randn([4, 7])).square().sum().backward()
        return [p.grad.numpy().tobytes() for p in net.parameters()]

    plain = step()
    with profile(profile_memory=profile_memory):
        assert step() == plain
    assert step() == plain
