# python/ebb/_base/arguments.py -- what is refused at once: what is no function, and deep nesting.
#
# A list that holds itself has no last level, so whoever walks nested containers counts levels and
# asks check_depth(): at most MAX_DEPTH. Counting finds a cycle after as many steps, without
# remembering what was seen.
"""``check_callable``, for whoever keeps a user's function; ``check_depth`` and ``map_leaves``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ebb import _C

MAX_DEPTH = 100


def check_depth(call: str, depth: int) -> None:
    """Refuse a container ``depth`` levels down, 0 for the outermost, that lies too deep."""
    if depth > MAX_DEPTH:
        raise _C.ValueError(
            f"{call}: needs at most {MAX_DEPTH} levels, got a deeper nesting or a cycle"
        )


def map_leaves(call: str, value: Any, function: Callable[[Any], Any], depth: int = 0) -> Any:
    """Return ``value`` with ``function`` of all that is no list, tuple or dict in it."""
    if not isinstance(value, list | tuple | Mapping):
        return function(value)
    check_depth(call, depth)
    if isinstance(value, Mapping):
        return {key: map_leaves(call, one, function, depth + 1) for key, one in value.items()}
    values = [map_leaves(call, one, function, depth + 1) for one in value]
    if hasattr(value, "_fields"):  # a named tuple
        return type(value)(*values)
    return tuple(values) if isinstance(value, tuple) else values


def check_callable(*functions: object) -> None:
    """Refuse what is not callable.

    The public function whose call this ends names itself and the argument (``_naming.py``).
    """
    for function in functions:
        if not callable(function):
            raise TypeError(f"needs a callable, got {type(function).__name__}")
