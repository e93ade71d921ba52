# python/ebb/profiler/averages.py -- sums by name under the names that PyTorch's programs ask for.
"""What ``profile.key_averages`` returns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ebb.errors import ValueError
from ebb.profiler.ranges import Range
from ebb.profiler.tables import aligned


class FunctionEvent:
    """What ran under one name; times are in us, memory in bytes.

    Attributes:
        key: The name.
        count: How often.
        cpu_time_total: With what ran inside.
        self_cpu_time_total: Without.
        cpu_memory_usage: Bytes that were taken, with what ran inside; see ``profile_memory``.
        self_cpu_memory_usage: Without.
        input_shapes: What it was given, if calls of other shapes count apart.
        device_time_total: 0, as all times of devices.

    Example:
        >>> with ebb.profiler.profile() as prof:
        ...     x = ebb.ones(2) + 1 + 1
        >>> event = next(one for one in prof.key_averages() if one.key == "add")
        >>> event.count, event.cpu_time_total > 0
        (2, True)
    """

    self_device_time_total: float = 0.0
    device_time_total: float = 0.0
    device_time: float = 0.0
    self_cuda_time_total: float = 0.0
    cuda_time_total: float = 0.0
    cuda_time: float = 0.0
    self_device_memory_usage = device_memory_usage = 0

    def __init__(self, key: str, input_shapes: tuple[str, ...] = ()):
        self.key = key
        self.input_shapes = input_shapes
        self.count = 0
        self.cpu_time_total: float = 0.0
        self.self_cpu_time_total: float = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0

    @property
    def name(self) -> str:
        """The same as ``key``."""
        return self.key

    @property
    def cpu_time(self) -> float:
        """``cpu_time_total`` of one call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        times = f"cpu_time_total={self.cpu_time_total:.1f}, count={self.count}"
        return f"FunctionEvent(key={self.key!r}, {times})"


_COLUMNS = {  # heads of the table by what it may be sorted by
    "self_cpu_time_total": "self us",
    "cpu_time_total": "total us",
    "cpu_time": "us each",
    "self_cpu_memory_usage": "self bytes",
    "cpu_memory_usage": "bytes",
    "count": "calls",
}


class EventList(list[FunctionEvent]):
    """Events with a table.

    Args:
        events: What it holds at first.

    Example:
        >>> with ebb.profiler.profile() as prof:
        ...     x = ebb.ones(2) + 1
        >>> events = prof.key_averages()
        >>> sorted(one.key for one in events), events.total_average().count
        (['add'], 1)
        >>> print(events.table(sort_by="count", row_limit=1))
        name ... self % ...
        ...
    """

    def __init__(self, events: Iterable[FunctionEvent] = ()):
        super().__init__(events)

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of all, in us."""
        return sum(one.self_cpu_time_total for one in self)

    def total_average(self) -> FunctionEvent:
        """Return the sums of all as one."""
        total = FunctionEvent("Total")
        for one in self:
            total.count += one.count
            for name in _COLUMNS:
                if name not in ("cpu_time", "count"):
                    setattr(total, name, getattr(total, name) + getattr(one, name))
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Return a table, one line for each.

        Args:
            sort_by: An attribute such as ``cpu_time_total``, the largest first; times of devices
                leave the order as it is, which is that of ``self_cpu_time_total``.
            row_limit: The most lines; all if -1.
            max_src_column_width: Nothing.
            max_name_column_width: Where longer names are cut.
            max_shapes_column_width: Where longer shapes are cut.
            header: A line above.
            top_level_events_only: Nothing.
            time_unit: Nothing: times are in us.
        """
        del max_src_column_width, top_level_events_only, time_unit
        if sort_by is not None and not hasattr(FunctionEvent(""), sort_by):
            names = ", ".join(_COLUMNS)
            raise ValueError(f"table: sort_by must be one of {names}, got {sort_by!r}")
        rows = list(self)
        if sort_by is not None:
            rows.sort(key=lambda one: getattr(one, sort_by), reverse=True)
        rows = rows if row_limit < 0 else rows[:row_limit]
        whole = self.self_cpu_time_total
        with_shapes = any(one.input_shapes for one in rows)
        lines = [("name", "self %", *_COLUMNS.values(), *(["operands"] if with_shapes else []))]
        for one in rows:
            share = f"{100 * one.self_cpu_time_total / whole if whole else 0:.1f}"
            cells = [_number(getattr(one, name)) for name in _COLUMNS]
            shapes = ", ".join(one.input_shapes)[:max_shapes_column_width]
            tail = [shapes] if with_shapes else []
            lines.append((one.key[:max_name_column_width], share, *cells, *tail))
        head = f"{header}\n" if header else ""
        return f"{head}{aligned(lines)}\nSelf CPU time total: {whole:,.3f} us"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def averaged(
    ranges: Iterable[Range], own: Iterable[tuple[float, tuple[int, int]]], by_shape: bool
) -> EventList:
    """Return sums by name, or by name and operands, the most self time first.

    Args:
        own: Of each range, its time and its blocks and bytes without what ran inside.
    """
    found: dict[tuple[Any, ...], FunctionEvent] = {}
    for one, (taken, (_, size)) in zip(ranges, own, strict=True):
        operands = one.operands if by_shape else ()
        event = found.setdefault((one.name, operands), FunctionEvent(one.name, operands))
        event.count += 1
        event.cpu_time_total += one.duration / 1e3
        event.self_cpu_time_total += taken / 1e3
        event.cpu_memory_usage += one.allocated
        event.self_cpu_memory_usage += size
    return EventList(sorted(found.values(), key=lambda one: -one.self_cpu_time_total))
