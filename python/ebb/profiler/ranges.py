# python/ebb/profiler/ranges.py -- what a profile consists of: ranges of time, and blocks of memory.
"""``Range`` and ``Allocations``; and ``record_function``, which makes ranges of its own."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import TYPE_CHECKING, NamedTuple

from ebb import _C

if TYPE_CHECKING:
    from ebb.graphs.node import Location


class Range(NamedTuple):
    """One range of time.

    Attributes:
        name: Of the op (``mul``), of the node (``MulBackward``), or as given.
        kind: ``user``, ``op``, ``inner`` or ``phase``.
        is_backward: Whether a node was run.
        start: ns since the profile started.
        end: The same.
        sequence: Sequence number of the node that was recorded or run, 0 if none.
        bytes: Size of the memory that was made for results; temporaries are not counted.
        place: File, line and function that called the op, or recorded the node; None if unknown.
        module: Path of the module that was being called, or that recorded the node: "" for the
            outermost, None outside of all.
        thread: The system's number of the thread.
        allocations: Blocks of memory that were taken in it, temporaries included. This and the
            rest are 0 without ``profile_memory``, and hold for all that ran inside.
        allocated: Their bytes.
        peak: The most bytes alive at once in it, above what was alive at its start.
        kept: The bytes alive at its end, above what was alive at its start.
        stack: The place and, with ``with_stack``, those that called it, innermost first.
        operands: With ``record_shapes``, what the call was given, such as ``float32 [2, 3]``, one
            for each tensor; of a node, the gradients that reached it.

    Example:
        >>> with ebb.profiler.profile() as prof:
        ...     x = ebb.ones(2) + 1
        >>> [(one.name, one.kind) for one in prof.ranges]
        [('add', 'op')]
    """

    name: str
    kind: str
    is_backward: bool
    start: float
    end: float
    sequence: int
    bytes: int
    place: Location | None
    module: str | None
    thread: int
    allocations: int
    allocated: int
    peak: int
    kept: int
    stack: tuple[Location | None, ...]
    operands: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """How long it took, in ns."""
        return self.end - self.start


class Allocations(NamedTuple):
    """What was allocated in ranges of one op, module or line.

    Attributes:
        count: The number of blocks.
        bytes: Their size, as asked for.
        at_peak: Of it, alive when most memory was.
        at_end: Of it, alive when the profile ended.

    Example:
        >>> with ebb.profiler.profile(profile_memory=True) as prof:
        ...     x = ebb.ones(100) + 1
        >>> prof.allocations()["add"].bytes >= 400
        True
    """

    count: int
    bytes: int
    at_peak: int
    at_end: int


class record_function(ContextDecorator):  # noqa: N801 -- the field's name for it
    """Context manager and decorator: name a part of the program for a running profile.

    Example:
        >>> with ebb.profiler.profile() as prof, ebb.profiler.record_function("step"):
        ...     x = ebb.ones(2) + 1
        >>> prof.ranges[0].name, prof.ranges[0].kind
        ('step', 'user')
    """

    def __init__(self, name: str) -> None:
        self.name: str = str(name)

    def __enter__(self) -> record_function:
        _C._open_range(self.name)
        return self

    def __exit__(self, *error: object) -> None:
        _C._close_range()


def by_start(one: Range) -> tuple[float, float]:
    """What is around another range comes before it, also if both start in one tick."""
    return one.start, -one.end


def place_text(place: Location | tuple[str, int, str] | None) -> str:
    """Return a place as tables show it."""
    if place is None:
        return "an unknown place"
    file, line, function = place
    return f"{file}:{line} in {function}"


def module_text(path: str | None) -> str:
    """Return a module's path as tables show it."""
    return "(no module)" if path is None else path or "(outermost)"


def details_of(one: Range) -> dict[str, object]:
    """Return what a trace says of a range besides its time."""
    details: dict[str, object] = {"kind": one.kind}
    if one.sequence:
        details["sequence"] = one.sequence
    if one.bytes:
        details["bytes"] = one.bytes
    if one.module is not None:
        details["module"] = module_text(one.module)
    if one.place:
        details["place"] = place_text(one.place)
    if one.operands:
        details["operands"] = list(one.operands)
    if one.allocations:
        details["allocations"] = one.allocations
        details["allocated"] = one.allocated
        details["peak"] = one.peak
    return details
