# python/ebb/profiler.py -- where the time of a program goes: ranges, tables, and a trace.
"""``profile`` notes what runs, ``record_function`` names parts of a program.

Ranges are of three kinds: ``user`` (named by ``record_function``), ``op`` (an operation that the
program called, or a node of a backward run) and ``inner`` (one of those inside another, such as the
operations of a backward rule). What a forward operation recorded and the node that ran in backward
have the same sequence number.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from contextlib import ContextDecorator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from ebb import _C
from ebb.errors import AutogradError, ValueError

__all__ = ["Range", "profile", "record_function"]


class Range(NamedTuple):
    """One range of time.

    Attributes:
        name: Of the op (``mul``), of the node (``MulBackward``), or as given.
        kind: ``user``, ``op`` or ``inner``.
        is_backward: Whether a node was run.
        start: ns since the profile started.
        end: The same.
        sequence: Sequence number of the node that was recorded or run, 0 if none.
        bytes: Size of the memory that was made for results; temporaries are not counted.
        place: File, line and function that called the op, or recorded the node; None if unknown.
        thread: The system's number of the thread.
    """

    name: str
    kind: str
    is_backward: bool
    start: float
    end: float
    sequence: int
    bytes: int
    place: tuple[str, int, str] | None
    thread: int

    @property
    def duration(self) -> float:
        """How long it took, in ns."""
        return self.end - self.start


class record_function(ContextDecorator):  # noqa: N801 -- the field's name for it
    """Context manager and decorator: name a part of the program for a running profile."""

    def __init__(self, name: str) -> None:
        self.name = str(name)

    def __enter__(self) -> record_function:
        _C._open_range(self.name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _C._close_range()


class profile:  # noqa: N801 -- the field's name for it
    """Context manager: note every op, node and named range of this thread and its helpers.

    One profile can run at a time. Each range takes 56 bytes and two readings of the processor's
    time-stamp counter. Read the rest after the block::

        with ebb.profiler.profile() as prof:
            loss_of(model(x), y).backward()
        print(prof.table())
        prof.export_chrome_trace("trace.json")
    """

    def __init__(self) -> None:
        self._found: tuple[float, int, list[tuple]] | None = None

    def __enter__(self) -> profile:
        _C._start_profile()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._found = _C._stop_profile()
        self.__dict__.pop("ranges", None)

    def _results(self) -> tuple[float, int, list[tuple]]:
        if self._found is None:
            raise AutogradError("profile: needs a block that has ended, got one that has not")
        return self._found

    @property
    def duration(self) -> float:
        """How long the block took, in ns."""
        return self._results()[0]

    @functools.cached_property
    def ranges(self) -> list[Range]:
        """All ranges, in the order in which they started."""
        return sorted((Range(*entry) for entry in self._results()[2]), key=_by_start)

    def self_times(self) -> list[float]:
        """Time of each range without that of the ranges right inside it, in ns."""
        times = [one.duration for one in self.ranges]
        open_by_thread: dict[int, list[int]] = {}
        for index, one in enumerate(self.ranges):
            around = open_by_thread.setdefault(one.thread, [])
            while around and self.ranges[around[-1]].end <= one.start:
                around.pop()
            if around:
                times[around[-1]] -= one.duration
            around.append(index)
        return times

    def linked(self) -> dict[int, tuple[Range, list[Range]]]:
        """By sequence number: the forward range that recorded a node, and those that ran it."""
        found: dict[int, tuple[Range, list[Range]]] = {}
        for one in self.ranges:
            if one.sequence and not one.is_backward:
                found[one.sequence] = (one, [])
        for one in self.ranges:
            if one.is_backward and one.sequence in found:
                found[one.sequence][1].append(one)
        return found

    def table(self, by: str = "op", limit: int = 30) -> str:
        """Return a table of where the time goes, longest first.

        Args:
            by: ``op`` (the name), ``line`` (where it was called or recorded), ``kind`` or
                ``thread``.
            limit: The most lines.

        Self time is without what ran inside; its column adds up to all time that is in ranges.
        """
        group = _GROUPS.get(by)
        if group is None:
            raise ValueError(f"table: by must be one of {', '.join(_GROUPS)}, got {by!r}")
        rows: dict[str, list[float]] = {}
        for one, own in zip(self.ranges, self.self_times(), strict=True):
            row = rows.setdefault(group(one), [0.0, 0.0, 0, 0])
            row[0] += own
            row[1] += one.duration
            row[2] += 1
            row[3] += one.bytes
        total = sum(row[0] for row in rows.values())
        ordered = sorted(rows.items(), key=lambda item: -item[1][0])
        lines = [(by, "self us", "%", "total us", "calls", "us each", "bytes")]
        for name, (own, whole, calls, size) in ordered[:limit]:
            lines.append(
                (
                    name,
                    f"{own / 1e3:,.1f}",
                    f"{100 * own / total if total else 0:.1f}",
                    f"{whole / 1e3:,.1f}",
                    f"{calls:,}",
                    f"{whole / calls / 1e3:,.2f}",
                    f"{size:,}",
                )
            )
        text = _aligned(lines)
        left = len(ordered) - limit
        tail = f"\n... and {left} more" if left > 0 else ""
        lost = self._results()[1]
        note = f"\n{lost} ranges were lost: there was no memory for them" if lost else ""
        sums = f"{total / 1e3:,.1f} us in ranges, {self.duration / 1e3:,.1f} us in all"
        return f"{text}{tail}\n{sums}{note}"

    def execution_log(self) -> str:
        """Return what backward runs ran, in order: start, duration, node, number and line."""
        lines = [("start us", "us", "node", "number", "recorded at")]
        lines += [
            (
                f"{one.start / 1e3:,.1f}",
                f"{one.duration / 1e3:,.2f}",
                one.name,
                str(one.sequence),
                _place_text(one),
            )
            for one in self.ranges
            if one.is_backward
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            f"{start:>{widths[0]}}  {taken:>{widths[1]}}  {name:<{widths[2]}}  "
            f"{number:>{widths[3]}}  {place}"
            for start, taken, name, number, place in lines
        )

    def export_chrome_trace(self, path: str | Path) -> None:
        """Write a trace for ``chrome://tracing`` or Perfetto; arrows link forward and backward."""
        process = os.getpid()
        events: list[dict] = []
        for one in self.ranges:
            details: dict[str, object] = {"kind": one.kind}
            if one.sequence:
                details["sequence"] = one.sequence
            if one.bytes:
                details["bytes"] = one.bytes
            if one.place:
                details["place"] = _place_text(one)
            events.append(
                {
                    "ph": "X",
                    "name": one.name,
                    "cat": "backward" if one.is_backward else one.kind,
                    "ts": one.start / 1e3,
                    "dur": one.duration / 1e3,
                    "pid": process,
                    "tid": one.thread,
                    "args": details,
                }
            )
        for sequence, (forward, backward) in self.linked().items():
            for one in backward:
                link = {
                    "name": "forward to backward",
                    "cat": "link",
                    "id": sequence,
                    "pid": process,
                }
                events.append({"ph": "s", "ts": forward.start / 1e3, "tid": forward.thread, **link})
                events.append(
                    {"ph": "f", "bp": "e", "ts": one.start / 1e3, "tid": one.thread, **link}
                )
        text = json.dumps({"displayTimeUnit": "ns", "traceEvents": events})
        Path(path).write_text(text, encoding="utf-8")


def _by_start(one: Range) -> tuple[float, float]:
    """What is around another range comes before it, also if both start in one tick."""
    return one.start, -one.end


def _place_text(one: Range) -> str:
    if one.place is None:
        return "an unknown place"
    file, line, function = one.place
    return f"{file}:{line} in {function}"


_GROUPS: dict[str, Callable[[Range], str]] = {
    "op": lambda one: one.name,
    "line": _place_text,
    "kind": lambda one: f"{one.kind}, backward" if one.is_backward else one.kind,
    "thread": lambda one: str(one.thread),
}


def _aligned(rows: list[tuple[str, ...]]) -> str:
    """Return rows as text: the first column flush left, the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
