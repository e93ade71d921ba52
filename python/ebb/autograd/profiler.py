# python/ebb/autograd/profiler.py -- the older spellings of ebb.profiler.
"""``profile`` with ``enabled``; ``record_function``; ``emit_nvtx``, which does nothing."""

from __future__ import annotations

import contextlib
from typing import Any

from ebb._base import naming as _naming
from ebb.profiler import EventList, FunctionEvent, recording
from ebb.profiler.ranges import record_function

__all__ = ["EventList", "FunctionEvent", "emit_itt", "emit_nvtx", "profile", "record_function"]


class profile(recording.profile):  # noqa: N801 -- the field's name for it
    """``ebb.profiler.profile``, or nothing if it is not enabled.

    Args:
        enabled: Whether to note anything.
        options: Those of ``ebb.profiler.profile``.

    Example:
        >>> with ebb.autograd.profiler.profile(enabled=True) as prof:
        ...     x = ebb.ones(2) + 1
        >>> prof.total_average().count
        1
    """

    def __init__(self, enabled: bool = True, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.enabled: bool = bool(enabled)

    def __enter__(self) -> profile:
        if self.enabled:
            self.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.enabled:
            self.stop()

    @property
    def self_cpu_time_total(self) -> float:
        """The time in all ranges, in us."""
        return self.key_averages().self_cpu_time_total

    def total_average(self) -> FunctionEvent:
        """Return the sums of all ranges as one."""
        return self.key_averages().total_average()


def emit_nvtx(
    enabled: bool = True, record_shapes: bool = False
) -> contextlib.AbstractContextManager[Any]:
    """Do nothing within a block: there are no tools of NVIDIA's to tell.

    Example:
        >>> with ebb.autograd.profiler.emit_nvtx():
        ...     ebb.ones(1) + 1
        tensor([2.])
    """
    del enabled, record_shapes
    return contextlib.nullcontext()


def emit_itt(
    enabled: bool = True, record_shapes: bool = False
) -> contextlib.AbstractContextManager[Any]:
    """Do nothing within a block: there are no tools of Intel's to tell.

    Example:
        >>> with ebb.autograd.profiler.emit_itt():
        ...     ebb.ones(1) + 1
        tensor([2.])
    """
    del enabled, record_shapes
    return contextlib.nullcontext()


_naming.name_module(__name__)
