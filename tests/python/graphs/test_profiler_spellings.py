# tests/python/graphs/test_profiler_spellings.py -- the profiler as programs for PyTorch ask for it.
import json

import pytest

import ebb
from ebb.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)


def test_options_of_pytorch_are_taken_and_others_are_not():
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(
        activities=activities, with_flops=True, with_modules=True, acc_events=True
    ) as prof:
        ebb.ones(2).exp()
    assert [one.name for one in prof.ranges] == ["exp"]
    with pytest.raises(TypeError, match="profile: has no option 'activitis'"):
        profile(activitis=activities)


def test_averages_sum_by_name_and_by_operands():
    small, large = ebb.ones(2, 3), ebb.ones(100)
    with profile(record_shapes=True, profile_memory=True) as prof, record_function("both"):
        small.exp()
        large.exp()
    averages = {one.key: one for one in prof.key_averages()}
    assert averages["exp"].count == 2 and averages["both"].count == 1
    assert averages["both"].cpu_time_total >= averages["exp"].cpu_time_total > 0
    assert averages["exp"].cpu_time == averages["exp"].cpu_time_total / 2
    assert averages["exp"].self_cpu_memory_usage >= 424
    both = averages["both"]
    assert both.self_cpu_time_total < both.cpu_time_total and both.device_time_total == 0
    apart = prof.key_averages(group_by_input_shape=True)
    assert {one.input_shapes for one in apart if one.key == "exp"} == {
        ("float32 [2, 3]",),
        ("float32 [100]",),
    }
    assert apart.total_average().count == 3
    total = sum(one.self_cpu_time_total for one in apart)
    assert apart.self_cpu_time_total == pytest.approx(total)


def test_the_table_of_averages_is_sorted_and_cut():
    x = ebb.ones(2)
    with profile() as prof:
        for _ in range(3):
            x.exp()
        x.log().sum()
    averages = prof.key_averages()
    lines = averages.table(sort_by="count", row_limit=1, header="Steps").splitlines()
    assert lines[0] == "Steps" and lines[1].split()[:2] == ["name", "self"]
    assert lines[2].split()[0] == "exp" and len(lines) == 4
    assert len(averages.table(sort_by="cuda_time_total", row_limit=-1).splitlines()) == 5
    with pytest.raises(ValueError, match="table: sort_by must be one of self_cpu_time_total, "):
        averages.table(sort_by="size")


def test_it_starts_and_stops_without_a_block():
    prof = profile()
    prof.start()
    ebb.ones(2).exp()
    prof.stop()
    prof.stop()
    assert [one.key for one in prof.key_averages()].count("exp") == 1


def test_actions_are_words_and_names():
    plan = schedule(wait=1, warmup=0, active=1)
    assert plan(0) == ProfilerAction.NONE and plan(1) == ProfilerAction.RECORD_AND_SAVE
    ready = []
    with profile(schedule=lambda step: ProfilerAction.RECORD_AND_SAVE, on_trace_ready=ready.append):
        ebb.ones(2).exp()
    assert len(ready) == 1


def test_traces_are_written_as_they_get_ready(tmp_path):
    handler = tensorboard_trace_handler(tmp_path / "log", worker_name="one")
    with profile(on_trace_ready=handler):
        ebb.ones(2).exp()
    (file,) = (tmp_path / "log").iterdir()
    assert file.name.startswith("one.") and file.name.endswith(".pt.trace.json")
    assert json.loads(file.read_text())["traceEvents"][0]["name"] == "exp"
    with pytest.raises(ValueError, match="tensorboard_trace_handler: writes plain JSON"):
        tensorboard_trace_handler(tmp_path, use_gzip=True)
    (tmp_path / "file").write_text("")
    prof = profile(on_trace_ready=tensorboard_trace_handler(tmp_path / "file"))
    prof.start()
    with pytest.raises(ebb.errors.IoError, match="tensorboard_trace_handler: needs a folder"):
        prof.stop()


def test_the_older_spellings():
    older = ebb.autograd.profiler
    with older.profile(enabled=False), profile():  # nothing else runs
        ebb.ones(2)
    with older.profile(use_cuda=False, record_shapes=True) as prof, older.record_function("part"):
        ebb.ones(2).exp()
    assert prof.total_average().count == 2 and prof.self_cpu_time_total > 0
    with older.emit_nvtx(), older.emit_itt():
        pass
