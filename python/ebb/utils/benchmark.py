# python/ebb/utils/benchmark.py -- Timer: how long a statement takes, under PyTorch's names.
#
# A Timer runs a statement in a loop, as Python's timeit does, with as many threads as it is told.
# A run of many loops is one time; blocked_autorange() chooses how many. Start reading there.
"""``Timer``, its ``Measurement`` and ``Compare``, a table of several."""

from __future__ import annotations

import statistics
import timeit as _timeit
from collections.abc import Callable, Iterable
from time import perf_counter as timer
from typing import Any, NamedTuple

from ebb import _C

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer"]

_UNITS = ((1e-6, 1e-9, "ns"), (1e-3, 1e-6, "us"), (1.0, 1e-3, "ms"), (60.0, 1.0, "s"),
          (float("inf"), 60.0, "min"))  # fmt: skip


class TaskSpec(NamedTuple):
    """What was measured.

    Example:
        >>> ebb.utils.benchmark.TaskSpec("x + 1", label="add").title
        'add'
    """

    stmt: str
    setup: str = "pass"
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label and what is below it, or the statement."""
        named = self.label or self.stmt
        return f"{named}: {self.sub_label}" if self.sub_label else named


class Measurement:
    """Times of one statement.

    Args:
        number_per_run: How often the statement ran for each time.
        raw_times: The times, in seconds.
        task_spec: What ran.

    Example:
        >>> spec = ebb.utils.benchmark.TaskSpec("x + 1")
        >>> ebb.utils.benchmark.Measurement(10, [0.02, 0.04], spec).times
        [0.002, 0.004]
    """

    def __init__(
        self, number_per_run: int, raw_times: list[float], task_spec: TaskSpec,
        metadata: dict[Any, Any] | None = None,
    ):  # fmt: skip
        self.number_per_run = number_per_run
        self.raw_times = raw_times
        self.task_spec = task_spec
        self.metadata = metadata

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in (*TaskSpec._fields, "title"):
            raise AttributeError(f"'Measurement' object has no attribute {name!r}")
        return getattr(self.task_spec, name)

    @property
    def times(self) -> list[float]:
        """Seconds of one run of the statement, for each time."""
        return [one / self.number_per_run for one in self.raw_times]

    @property
    def mean(self) -> float:
        """Their mean."""
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        """Their median."""
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """How far the upper quarter begins from the end of the lower one."""
        if len(self.raw_times) < 2:
            return 0.0
        lower, _, upper = statistics.quantiles(self.times, n=4, method="inclusive")
        return upper - lower

    @property
    def has_warnings(self) -> bool:
        """Whether the times differ by more than a tenth."""
        return self.iqr > 0.1 * self.median

    def __repr__(self) -> str:
        lines = [f"<{type(self).__module__}.{type(self).__name__} object>", self.title]
        lines += [self.description] if self.description else []
        if len(self.raw_times) > 1:
            lines.append(f"  Median: {_shown(self.median)}")
            lines.append(f"  IQR:    {_shown(self.iqr)}")
        else:
            lines.append(f"  {_shown(self.median)}")
        many = "s" if len(self.raw_times) != 1 else ""
        threads = "thread" if self.num_threads == 1 else "threads"
        lines.append(
            f"  {len(self.raw_times)} measurement{many}, {self.number_per_run} runs per "
            f"measurement, {self.num_threads} {threads}"
        )
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Return one for each statement, with the times of all that measured it."""
        found: dict[tuple[TaskSpec, int], list[float]] = {}
        for one in _checked("Measurement.merge", measurements):
            found.setdefault((one.task_spec, one.number_per_run), []).extend(one.raw_times)
        return [Measurement(number, times, spec) for (spec, number), times in found.items()]


class Timer:
    """Measures a statement.

    Args:
        stmt: Python code.
        setup: Code that runs once before each time.
        global_setup: Taken for PyTorch's sake.
        timer: What tells seconds.
        globals: Names that the code uses.
        label: What is measured.
        sub_label: Which of several of that label.
        description: Which column it has in a table.
        env: Where it ran, where tables tell.
        num_threads: How many threads operations use meanwhile.
        language: "python".

    Raises:
        NotImplementedError: If the language is another.

    Example:
        >>> timer = ebb.utils.benchmark.Timer("x + 1", globals={"x": ebb.ones(3)})
        >>> timer.timeit(100).number_per_run
        100
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ):
        if str(getattr(language, "name", language)).lower() not in ("python", "py"):
            raise _C.NotImplementedError(f"Timer: needs language 'python', got {language!r}")
        if not isinstance(globals, dict | None):
            raise _C.DTypeError(f"Timer: globals needs a dict, got {type(globals).__name__}")
        del global_setup
        self._timer = _timeit.Timer(stmt, setup, timer, dict(globals or {}))
        self._task_spec = TaskSpec(stmt, setup, label, sub_label, description, env, num_threads)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Return the time of so many runs, after a hundredth as many that do not count."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], self._task_spec)

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Return times of so many runs each that starting a run does not count.

        Args:
            callback: Called with the number of runs and the seconds of each time.
            min_run_time: How many seconds to measure, at least.
        """
        _need_numbers("Timer.blocked_autorange", min_run_time=min_run_time)
        number = 1
        while (took := self._run(number)) < min_run_time / 1000 and number < 10**9:
            number *= 10 if took <= min_run_time / 10000 else 2
        times: list[float] = []
        while sum(times) < min_run_time:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Return times as ``blocked_autorange`` does, until they agree or there was no more time.

        Args:
            threshold: How much of the median the times may differ by.
            min_run_time: How many seconds to measure, at least.
            max_run_time: And at most.
            callback: Called with the number of runs and the seconds of each time.
        """
        _need_numbers(
            "Timer.adaptive_autorange",
            threshold=threshold,
            min_run_time=min_run_time,
            max_run_time=max_run_time,
        )
        found = self.blocked_autorange(callback, min_run_time)
        while sum(found.raw_times) < max_run_time:
            if len(found.raw_times) > 3 and found.iqr <= threshold * found.median:
                break
            found.raw_times.append(self._run(found.number_per_run))
            if callback is not None:
                callback(found.number_per_run, found.raw_times[-1])
        return found

    def _run(self, number: int) -> float:
        before = _C.get_num_threads()
        _C.set_num_threads(self._task_spec.num_threads)
        try:
            return max(self._timer.timeit(number), 1e-9)
        finally:
            _C.set_num_threads(before)


class Compare:
    """A table of measurements: a row for each statement, a column for each description.

    Args:
        results: The measurements.

    Example:
        >>> spec = ebb.utils.benchmark.TaskSpec("x + 1", label="add", description="small")
        >>> found = ebb.utils.benchmark.Measurement(1, [0.002], spec)
        >>> ebb.utils.benchmark.Compare([found]).print()
        add           |  small
        1 thread:
        x + 1         |    2.0
        <BLANKLINE>
        Times are in milliseconds (ms).
    """

    def __init__(self, results: Iterable[Measurement]):
        self._results = _checked("Compare", results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        self._results += _checked("Compare.extend_results", results)

    def trim_significant_figures(self) -> None:
        """Change nothing: times are shown with two to four digits."""

    def colorize(self, rowwise: bool = False) -> None:
        """Change nothing: tables are plain text."""

    def highlight_warnings(self) -> None:
        """Change nothing: ``Measurement.has_warnings`` tells."""

    def print(self) -> None:
        """Print the table."""
        print(str(self))

    def __str__(self) -> str:
        tables: dict[str, list[Measurement]] = {}
        for one in Measurement.merge(self._results):
            tables.setdefault(one.label or "", []).append(one)
        return "\n\n".join(_table(label, found) for label, found in tables.items())


def _checked(call: str, results: Iterable[Measurement]) -> list[Measurement]:
    """Return measurements in a list; raise for what is none."""
    listed = list(results)
    for one in listed:
        if not isinstance(one, Measurement):
            raise _C.DTypeError(f"{call}: needs Measurements, got {type(one).__name__}")
    return listed


def _need_numbers(call: str, **given: Any) -> None:
    for name, value in given.items():
        if not isinstance(value, int | float):
            raise _C.DTypeError(f"{call}: {name} needs a number, got {type(value).__name__}")


def _table(label: str, found: list[Measurement]) -> str:
    scale, unit = _unit(min(one.median for one in found))
    columns = list(dict.fromkeys(one.description or "" for one in found))
    rows: dict[tuple[int, str], dict[str, str]] = {}
    for one in found:
        name = one.sub_label or one.stmt
        name = f"({one.env}) {name}" if one.env else name
        cells = rows.setdefault((one.num_threads, name), {})
        cells[one.description or ""] = f"{one.median / scale:.1f}"
    first = max(13, len(label), *(len(name) for _, name in rows))
    widths = [max(5, len(name), *(len(cells.get(name, "")) for cells in rows.values()))
              for name in columns]  # fmt: skip

    def line(head: str, cells: list[str]) -> str:
        shown = (f"  |  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        return f"{head:<{first - 1}}" + "".join(shown)

    lines, before = [line(label, columns)], None
    for (threads, name), cells in sorted(rows.items(), key=lambda row: row[0][0]):
        if threads != before:
            lines.append(f"{threads} thread{'s' if threads > 1 else ''}:")
        before = threads
        lines.append(line(name, [cells.get(one, "") for one in columns]))
    english = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds",
               "min": "minutes"}[unit]  # fmt: skip
    return "\n".join([*lines, "", f"Times are in {english} ({unit})."])


def _unit(seconds: float) -> tuple[float, str]:
    return next((scale, unit) for limit, scale, unit in _UNITS if seconds < limit)


def _shown(seconds: float) -> str:
    scale, unit = _unit(seconds)
    return f"{seconds / scale:.2f} {unit}"
