# tests/python/utils/test_benchmark.py -- Timer and what it measures, with a clock of its own.
import pytest

import ebb
from ebb.utils import benchmark


class Clock:
    """Each statement of `tick()` takes a millisecond; looks at it take nothing."""

    def __init__(self):
        self.now = 0.0
        self.threads = set()

    def __call__(self):
        return self.now

    def tick(self):
        self.now += 0.001
        self.threads.add(ebb.get_num_threads())


def timer_of(clock, **options):
    return benchmark.Timer("tick()", timer=clock, globals={"tick": clock.tick}, **options)


def test_a_statement_is_run_as_often_as_asked():
    clock = Clock()
    found = timer_of(clock, label="L", sub_label="S").timeit(50)
    assert found.number_per_run == 50 and found.raw_times == pytest.approx([0.05])
    assert found.mean == found.median == pytest.approx(0.001) and found.iqr == 0
    assert clock.now == pytest.approx(0.052)  # two runs that do not count
    assert found.title == "L: S" and found.label == "L" and not found.has_warnings


def test_the_number_of_threads_holds_while_it_runs():
    clock, before = Clock(), ebb.get_num_threads()
    timer_of(clock, num_threads=1).timeit(2)
    assert clock.threads == {1} and ebb.get_num_threads() == before


def test_times_are_taken_until_they_are_long_enough():
    calls = []
    found = timer_of(Clock()).blocked_autorange(
        lambda number, took: calls.append((number, took)), min_run_time=5.0
    )
    assert found.number_per_run == 8 and sum(found.raw_times) == pytest.approx(5.0, abs=0.01)
    assert len(calls) == len(found.raw_times) and calls[0] == (8, pytest.approx(0.008))
    assert timer_of(Clock()).adaptive_autorange().iqr == pytest.approx(0, abs=1e-9)


def test_spread_is_what_lies_between_the_quarters():
    spec = benchmark.TaskSpec("x")
    found = benchmark.Measurement(2, [2.0, 4.0, 6.0, 8.0, 10.0], spec)
    assert (found.median, found.iqr, found.has_warnings) == (3.0, 2.0, True)
    assert "Median: 3.00 s" in repr(found) and "5 measurements, 2 runs" in repr(found)
    (merged,) = benchmark.Measurement.merge([found, found])
    assert len(merged.raw_times) == 10


def test_a_table_has_rows_and_columns():
    def measured(seconds, sub_label, description, threads=1):
        spec = benchmark.TaskSpec("f()", "pass", "dot", sub_label, description, None, threads)
        return benchmark.Measurement(1, [seconds], spec)

    table = benchmark.Compare([measured(2e-6, "64", "mul"), measured(3e-6, "64", "bmm")])
    table.extend_results([measured(4e-6, "128", "mul"), measured(1e-6, "64", "mul", 2)])
    assert str(table).splitlines() == [
        "dot           |    mul  |    bmm",
        "1 thread:",
        "64            |    2.0  |    3.0",
        "128           |    4.0  |       ",
        "2 threads:",
        "64            |    1.0  |       ",
        "",
        "Times are in microseconds (us).",
    ]


def test_another_language_is_refused():
    with pytest.raises(NotImplementedError, match="Timer: needs language 'python', got 'c'"):
        benchmark.Timer("x", language="c")
    with pytest.raises(AttributeError, match="has no attribute 'minimum'"):
        benchmark.Measurement(1, [1.0], benchmark.TaskSpec("x")).minimum  # noqa: B018


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: benchmark.Timer(globals="x"), "Timer: globals needs a dict, got str"),
        (lambda: benchmark.Timer().blocked_autorange(min_run_time="1"),
         "Timer.blocked_autorange: min_run_time needs a number, got str"),
        (lambda: benchmark.Timer().adaptive_autorange(max_run_time=len),
         "Timer.adaptive_autorange: max_run_time needs a number"),
        (lambda: benchmark.Compare([1]), "Compare: needs Measurements, got int"),
        (lambda: benchmark.Compare([]).extend_results([ebb.ones(1)]),
         r"Compare.extend_results: needs Measurements, got \w*Tensor"),
        (lambda: benchmark.Measurement.merge([None]), "Measurement.merge: needs Measurements"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_errors_that_name_the_call(call, text):
    with pytest.raises(TypeError, match=text):
        call()
