# python/ebb/profiler/schedules.py -- which steps of a program a profile notes.
"""``schedule`` and the actions that it names."""

from __future__ import annotations

import enum
from collections.abc import Callable

from ebb.errors import ValueError


class ProfilerAction(enum.StrEnum):
    """What a schedule may say of a step; the words themselves do as well.

    Example:
        >>> ebb.profiler.ProfilerAction.RECORD == "record"
        True
    """

    NONE = "none"
    WARMUP = "warmup"
    RECORD = "record"
    RECORD_AND_SAVE = "record_and_save"


ACTIONS = tuple(action.value for action in ProfilerAction)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], str]:
    """Return a schedule for ``profile``: which steps of a program to note.

    Args:
        wait: Steps at the start of each cycle in which nothing is noted.
        warmup: Steps after them that are noted and dropped.
        active: Steps after them that are noted and kept.
        repeat: The number of cycles; 0 for no end.
        skip_first: Steps before the first cycle.
    Returns:
        A function from a step's number to ``none``, ``warmup``, ``record``, or
        ``record_and_save`` for the last step of a cycle.
    Example:
        >>> plan = ebb.profiler.schedule(wait=1, warmup=1, active=2)
        >>> [plan(step) for step in range(5)]
        ['none', 'warmup', 'record', 'record_and_save', 'none']
    """
    counts = (wait, warmup, active, repeat, skip_first)
    if min(counts) < 0 or active == 0:
        raise ValueError(
            f"schedule: needs counts of at least 0, active of at least 1, got {counts}"
        )
    cycle = wait + warmup + active

    def action(step: int) -> str:
        step -= skip_first
        if step < 0 or (repeat and step >= repeat * cycle):
            return "none"
        place = step % cycle
        if place < wait:
            return "none"
        if place < wait + warmup:
            return "warmup"
        return "record" if place < cycle - 1 else "record_and_save"

    return action
