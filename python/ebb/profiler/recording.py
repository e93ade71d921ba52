# python/ebb/profiler/recording.py -- notes what runs in a block, and says what it was.
"""``profile``. Start reading at ``__enter__``."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ebb import _C
from ebb._base.arguments import check_callable
from ebb.autograd.anomaly import record_stacks
from ebb.errors import AutogradError, DTypeError, ValueError
from ebb.io.writing import write_text
from ebb.profiler.averages import EventList, averaged
from ebb.profiler.ranges import Allocations, Range, by_start, details_of, module_text, place_text
from ebb.profiler.schedules import ACTIONS
from ebb.profiler.tables import GROUPS, Row, aligned

if TYPE_CHECKING:
    from ebb.graphs.node import Location

_CAST, _CAST_BACKWARD = "amp_cast", "AmpCastBackward"  # a cast that autocast made, and its node
_END_OF_SHAPE = re.compile(r"(?<=\]), ")  # between "float32 [2, 3]" and the next
_UNUSED = {"use_cuda", "use_device", "use_kineto", "use_cpu", "experimental_config"}
_UNUSED |= {"execution_trace_observer", "acc_events", "custom_trace_id_callback"}
_NO_RANGE, _OLDER = "(outside of ranges)", "(older than the profile)"


class profile:  # noqa: N801 -- the field's name for it
    """Context manager: note every op, node and named range of this thread and its helpers.

    One profile can run at a time. Each range takes 48 bytes and two readings of the processor's
    time-stamp counter. Read the rest after the block::

        with ebb.profiler.profile() as prof:
            loss_of(model(x), y).backward()
        print(prof.table())
        prof.export_chrome_trace("trace.json")

    Args:
        profile_memory: Also note each block of the CPU's memory that is taken or given back.
        with_stack: Also note who called each operation: ``Range.stack``.
        record_shapes: Also note dtypes and shapes of what each is given: ``Range.operands``.
        with_phases: Also note the phases of each call as ranges of their own.
        schedule: Says of each step of the program, counted by :meth:`step`, what to do in it, as
            :func:`schedule` does. Without one, all of the block is noted.
        on_trace_ready: Called with this object when the last step of a cycle has been noted, or
            without a schedule the block.
        activities: Nothing: the CPU is noted, and of a device what calls it.
        with_flops: Nothing: no operations are counted.
        with_modules: Nothing: modules are always noted.
        options: Nothing: what else programs pass to PyTorch's; ``use_cuda``, ``acc_events`` and
            others that it has.
    Raises:
        TypeError: For an option that neither has.
    Example:
        >>> with ebb.profiler.profile() as prof:
        ...     x = ebb.ones(2) + 1
        >>> [one.name for one in prof.ranges]
        ['add']
        >>> print(prof.key_averages().table(row_limit=2))
        name ... self % ...
        ...
    """

    def __init__(
        self,
        *,
        schedule: Callable[[int], str] | None = None,
        on_trace_ready: Callable[[profile], object] | None = None,
        profile_memory: bool = False,
        with_stack: bool = False,
        record_shapes: bool = False,
        with_phases: bool = False,
        activities: Iterable[object] | None = None,
        with_flops: bool = False,
        with_modules: bool = False,
        **options: object,
    ) -> None:
        del activities, with_flops, with_modules
        unknown = sorted(set(options) - _UNUSED)
        if unknown:
            raise DTypeError(f"profile: has no option {unknown[0]!r}")
        check_callable(*(one for one in (schedule, on_trace_ready) if one is not None))
        self.step_num: int = 0
        self._schedule = schedule
        self._on_trace_ready = on_trace_ready
        self._profile_memory = bool(profile_memory)
        self._with_stack = bool(with_stack)
        self._record_shapes = bool(record_shapes)
        self._with_phases = bool(with_phases)
        self._stacks: record_stacks | None = None
        self._runs = False
        self._now = "none"  # what is done in this step
        self._report: object | None = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin, as a ``with`` block does."""
        self.step_num: int = 0
        self._begin_step(self._action(0))

    def stop(self) -> None:
        """End, as a ``with`` block does; a second time changes nothing."""
        if self._runs:
            self._end_step()
            self._stop(is_kept=self._now in ("record", "record_and_save"))

    def step(self) -> None:
        """Tell the schedule, if there is one, that a step ended and the next one begins."""
        if self._schedule is None:
            self.step_num += 1
            return
        following = self._action(self.step_num + 1)
        self._end_step()
        self.step_num += 1
        # A warm-up is noted, so that all of it has been done once, and dropped.
        is_over = following == "none" or self._now in ("warmup", "record_and_save")
        if self._runs and is_over:
            self._stop(is_kept=self._now in ("record", "record_and_save"))
        self._begin_step(following)

    def _action(self, step: int) -> str:
        action = "record" if self._schedule is None else self._schedule(step)
        if action not in ACTIONS:
            raise ValueError(f"profile: schedule must return one of {ACTIONS}, got {action!r}")
        return action

    def _begin_step(self, action: str) -> None:
        self._now = action
        if action != "none" and not self._runs:
            _C._start_profile(self._profile_memory, self._record_shapes, self._with_phases)
            self._runs = True
            if self._with_stack:
                self._stacks = record_stacks()
                self._stacks.__enter__()
        if self._runs and self._schedule is not None:
            _C._open_range(f"ProfilerStep#{self.step_num}")

    def _end_step(self) -> None:
        if self._runs and self._schedule is not None:
            _C._close_range()

    def _stop(self, *, is_kept: bool) -> None:
        if self._stacks is not None:
            self._stacks.__exit__(None, None, None)
            self._stacks = None
        report = _C._stop_profile()
        self._runs = False
        if not is_kept:
            return
        self._report = report
        for name in ("ranges", "_memory"):
            self.__dict__.pop(name, None)
        if self._on_trace_ready is not None:
            self._on_trace_ready(self)

    @property
    def report(self) -> object:
        """What was noted, for ``Snapshot.with_times``."""
        if self._report is None:
            raise AutogradError("profile: needs a block that has ended, got one that has not")
        return self._report

    @property
    def duration(self) -> float:
        """How long the block took, in ns."""
        return _C._profile_span(self.report)[0]

    @functools.cached_property
    def ranges(self) -> list[Range]:
        """All ranges, in the order in which they started."""
        from ebb.graphs.node import Location  # not at every import of ebb

        known: dict[tuple[Any, ...], Location] = {}

        def placed(place: tuple[Any, ...] | None) -> Location | None:
            return None if place is None else known.setdefault(place, Location(*place))

        def made(entry: tuple[Any, ...]) -> Range:
            one = Range(*entry)
            return one._replace(
                place=placed(one.place),
                stack=tuple(map(placed, one.stack)),
                operands=tuple(_END_OF_SHAPE.split(one.operands)) if one.operands else (),
            )

        return sorted(map(made, _C._profile_ranges(self.report)), key=by_start)

    @functools.cached_property
    def _memory(self) -> tuple[int, int, int, list[Any], list[Any]]:
        found = _C._profile_memory(self.report)
        if found is None:
            raise AutogradError(
                "profile: needs profile_memory=True to tell of memory, got a profile without"
            )
        return found

    @property
    def start_bytes(self) -> int:
        """Memory that was alive when the profile started, whoever had made it."""
        return self._memory[0]

    @property
    def peak_bytes(self) -> int:
        """The most memory that was alive at once, what is older than the profile included."""
        return self._memory[1]

    def memory_timeline(self) -> list[tuple[float, int]]:
        """Pairs of ns since the start and the bytes alive from then on, one for each change."""
        return list(self._memory[3])

    def allocations(self, by: str = "op") -> dict[str, Allocations]:
        """Return what was allocated, temporaries included, largest first.

        Each block counts once, for the innermost range in which it was taken. What is older than
        the profile has a key of its own if it was alive at the peak, so that ``at_peak`` adds up to
        ``peak_bytes``.

        Args:
            by: ``op`` (the name), ``module`` or ``line``.
        Raises:
            AutogradError: Without ``profile_memory``.
        """
        if by not in ("op", "module", "line"):
            raise ValueError(f"allocations: by must be one of op, module, line, got {by!r}")
        _, _, older, _, sites = self._memory
        sums: dict[str, Allocations] = {}
        for name, place, module, *counts in sites:
            texts = {"op": name or _NO_RANGE, "module": module_text(module)}
            key = texts[by] if by in texts else place_text(place)
            known = sums.get(key, Allocations(0, 0, 0, 0))
            sums[key] = Allocations(*map(sum, zip(known, counts, strict=True)))
        if older > 0:
            sums[_OLDER] = Allocations(0, 0, older, 0)
        return dict(sorted(sums.items(), key=lambda item: -item[1].bytes))

    def self_times(self) -> list[float]:
        """Time of each range without that of the ranges right inside it, in ns."""
        return self._without_inner([one.duration for one in self.ranges], "duration")

    def _without_inner(self, own: list[Any], field: str) -> list[Any]:
        """Take from the entry of each range what the ranges right inside it have of a field."""
        open_by_thread: dict[int, list[int]] = {}
        for index, one in enumerate(self.ranges):
            around = open_by_thread.setdefault(one.thread, [])
            while around and self.ranges[around[-1]].end <= one.start:
                around.pop()
            if around:
                own[around[-1]] -= getattr(one, field)
            around.append(index)
        return own

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **options: object
    ) -> EventList:
        """Return what ran under each name, as PyTorch's programs ask for it; times are in us.

        Args:
            group_by_input_shape: Whether calls of other shapes count apart; see ``record_shapes``.
            group_by_stack_n: Nothing.
            options: Nothing.
        """
        del group_by_stack_n, options
        own = zip(self.self_times(), self._own_allocations(), strict=True)
        return averaged(self.ranges, list(own), group_by_input_shape)

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
            by: ``op`` (the name), ``operands`` (the name, and with ``record_shapes`` what it was
                given), ``module``, ``line`` (where it was called or recorded), ``kind`` or
                ``thread``.
            limit: The most lines.

        Self time is without what ran inside; its column adds up to all time that is in ranges. With
        ``profile_memory``, so do ``allocs`` and ``allocated``; ``peak`` is the largest of any one
        range, above what was alive at its start.
        """
        group = GROUPS.get(by)
        if group is None:
            raise ValueError(f"table: by must be one of {', '.join(GROUPS)}, got {by!r}")
        rows: dict[str, Row] = {}
        for one, own, (count, size) in zip(
            self.ranges, self.self_times(), self._own_allocations(), strict=True
        ):
            rows.setdefault(group(one), Row()).add(one, own, count, size)
        total = sum(row.own for row in rows.values())
        ordered = sorted(rows.items(), key=lambda item: -item[1].own)
        head = [by, "self us", "%", "total us", "calls", "us each", "bytes"]
        if self._profile_memory:
            head += ["allocs", "allocated", "peak"]
        lines = [tuple(head)]
        lines += [(name, *row.cells(total))[: len(head)] for name, row in ordered[:limit]]
        text = aligned(lines)
        left = len(ordered) - limit
        tail = f"\n... and {left} more" if left > 0 else ""
        lost = _C._profile_span(self.report)[1]
        note = f"\n{lost} notes were lost: there was no memory for them" if lost else ""
        sums = f"{total / 1e3:,.1f} us in ranges, {self.duration / 1e3:,.1f} us in all"
        if self._profile_memory:
            sums += f", {self.peak_bytes:,} bytes at most"
        return f"{text}{tail}\n{sums}{self._casts_text()}{note}"

    def _casts_text(self) -> str:
        """Return what the casts that autocast made cost, as a line of the table; "" for none."""
        forward = [one for one in self.ranges if one.name == _CAST and not one.is_backward]
        backward = [one for one in self.ranges if one.name == _CAST_BACKWARD]
        if not forward and not backward:
            return ""
        size = sum(one.bytes for one in forward)
        taken, sent = (sum(one.duration for one in ones) / 1e6 for ones in (forward, backward))
        return (
            f"\nautocast casts: {len(forward):,}, {size:,} bytes, {taken:,.3f} ms, "
            f"{sent:,.3f} ms in backward"
        )

    def _own_allocations(self) -> list[tuple[int, int]]:
        """Blocks and bytes of each range without those of the ranges inside."""
        counts = self._without_inner([one.allocations for one in self.ranges], "allocations")
        sizes = self._without_inner([one.allocated for one in self.ranges], "allocated")
        return list(zip(counts, sizes, strict=True))

    def execution_log(self) -> str:
        """Return what backward runs ran, in order: start, duration, node, number, module, line."""
        lines = [("start us", "us", "node", "number", "module", "recorded at")]
        lines += [
            (
                f"{one.start / 1e3:,.1f}",
                f"{one.duration / 1e3:,.2f}",
                one.name,
                str(one.sequence),
                module_text(one.module),
                place_text(one.place),
            )
            for one in self.ranges
            if one.is_backward
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            f"{start:>{widths[0]}}  {taken:>{widths[1]}}  {name:<{widths[2]}}  "
            f"{number:>{widths[3]}}  {module:<{widths[4]}}  {place}"
            for start, taken, name, number, module, place in lines
        )

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace for ``chrome://tracing`` or Perfetto.

        Arrows link forward and backward; with ``profile_memory`` a track shows the bytes alive.
        """
        process = os.getpid()
        events: list[dict[Any, Any]] = []
        for one in self.ranges:
            events.append(
                {
                    "ph": "X",
                    "name": one.name,
                    "cat": "backward" if one.is_backward else one.kind,
                    "ts": one.start / 1e3,
                    "dur": one.duration / 1e3,
                    "pid": process,
                    "tid": one.thread,
                    "args": details_of(one),
                }
            )
        if self._profile_memory:
            events += [
                {
                    "ph": "C",
                    "name": "memory",
                    "ts": at / 1e3,
                    "pid": process,
                    "args": {"bytes": live},
                }
                for at, live in self._memory[3]
            ]
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
        import json  # seldom needed

        text = json.dumps({"displayTimeUnit": "ns", "traceEvents": events})
        write_text("export_chrome_trace", path, text)
