# python/ebb/profiler/__init__.py -- where the time of a program goes: ranges, tables, and a trace.
"""``profile`` notes what runs, ``record_function`` names parts of a program.

Ranges are of four kinds: ``user`` (named by ``record_function``), ``op`` (an operation that the
program called, a node of a backward run, or a step of an optimizer) and ``inner`` (one of those
inside another, such as the operations of a backward rule), and ``phase`` (a part of a call, if the
profile is asked for them). What a forward operation recorded and
the node that ran in backward have the same sequence number and the same module.

``key_averages``, ``ProfilerActivity`` and ``tensorboard_trace_handler`` are what programs written
for PyTorch ask for; ``ebb.autograd.profiler`` has its older spellings.
"""

from ebb._base.lazy import LazyPackage as _LazyPackage
from ebb.profiler.averages import EventList, FunctionEvent
from ebb.profiler.ranges import Allocations, Range, record_function
from ebb.profiler.recording import profile
from ebb.profiler.schedules import ProfilerAction, schedule
from ebb.profiler.traces import (
    ProfilerActivity,
    supported_activities,
    tensorboard_trace_handler,
)

itt: _LazyPackage = _LazyPackage("ebb.profiler.itt")

__all__ = [
    "Allocations",
    "EventList",
    "FunctionEvent",
    "ProfilerAction",
    "ProfilerActivity",
    "Range",
    "itt",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
