# python/ebb/_nesting.py -- one rule for nested containers of the user: at most MAX_DEPTH levels.
#
# A list that holds itself has no last level, so whoever walks one counts levels and asks
# check_depth(). Counting finds a cycle after MAX_DEPTH steps, without remembering what was seen.
"""``check_depth``, for all that walks lists, tuples and dicts within each other."""

from __future__ import annotations

from ebb import _C

MAX_DEPTH = 100


def check_depth(call: str, depth: int) -> None:
    """Refuse a container ``depth`` levels down, 0 for the outermost, that lies too deep."""
    if depth > MAX_DEPTH:
        raise _C.ValueError(
            f"{call}: needs at most {MAX_DEPTH} levels, got a deeper nesting or a cycle"
        )
