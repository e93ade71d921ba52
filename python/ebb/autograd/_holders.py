# python/ebb/autograd/_holders.py -- who carries a tensor with its history from step to step.
#
# Asked when backward() met a graph that an earlier run had used up. Attributes of modules are
# looked at first, then what the functions that led here know: their variables, attributes of these,
# and what lies in lists and dicts there. Start reading at holder_of().
"""Naming what keeps an earlier step's graph, for error messages."""

from __future__ import annotations

import gc
import itertools
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any

from ebb import _C
from ebb._C import Tensor

MOST_ITEMS = 64  # of a container, or of the attributes of an object
Named = Iterator[tuple[str, Any]]


def holder_of(sequence: int) -> str | None:
    """What carries a tensor whose history leads to the node with that number, as ``Net.state``."""
    seen: set[int] = set()
    for name, value in itertools.chain(_in_modules(), _in_frames()):
        for full, one in _tensors_in(name, value):
            if id(one) not in seen and _C._is_carried(one, sequence):
                return full
            seen.add(id(one))
    return None


def _tensors_in(name: str, value: Any) -> Named:
    """The value if it is a tensor, else those that lie in it."""
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, list | tuple | deque):
        for at, one in enumerate(itertools.islice(value, MOST_ITEMS)):
            yield from ((f"{name}[{at}]", one) for one in [one] if isinstance(one, Tensor))
    elif type(value) is dict:
        for key, one in itertools.islice(list(value.items()), MOST_ITEMS):
            yield from ((f"{name}[{key!r}]", one) for one in [one] if isinstance(one, Tensor))


def _attributes(owner: Any) -> Named:
    own = getattr(owner, "__dict__", None)
    if type(own) is dict:
        kind = type(owner).__name__
        buffers = own.get("_buffers")  # of a module, whose attributes they are
        parts = list(buffers.items()) if type(buffers) is dict else []
        others = [one for one in own.items() if one[1] is not buffers]
        for name, value in itertools.islice([*parts, *others], MOST_ITEMS):
            yield f"{kind}.{name}", value


def _in_modules() -> Named:
    module = sys.modules.get("ebb.nn.module")
    if module is None:
        return
    for one in gc.get_objects():
        if isinstance(one, module.Module):
            yield from _attributes(one)


def _in_frames() -> Named:
    frame = sys._getframe(1)
    package = __name__.partition(".")[0] + "."
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith(package):
            function = frame.f_code.co_name
            place = "" if function == "<module>" else f" in {function}()"
            for name, value in list(frame.f_locals.items()):
                yield f"{name}{place}", value
                yield from _attributes(value)
        frame = frame.f_back  # type: ignore[assignment]
