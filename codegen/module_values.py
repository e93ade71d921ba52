# codegen/module_values.py -- values in examples of the module table: nested lists, and as printed.
"""``tensor_repr``, ``flat``, ``shape``."""

from __future__ import annotations

from typing import Any


def tensor_repr(values: Any) -> str:
    """A tensor of these values as ebb prints it, without what is recorded."""
    numbers = flat(values)
    is_whole = all(float(value).is_integer() for value in numbers)
    texts = [(f"{value:.0f}." if is_whole else f"{value:.4f}") for value in numbers]
    if isinstance(numbers[0], int):
        texts = [str(value) for value in numbers]
    width = max(len(text) for text in texts)
    return f"tensor({_nested(values, iter(text.rjust(width) for text in texts), 8)})"


def _nested(values: Any, texts: Any, indent: int) -> str:
    if not isinstance(values, list):
        return next(texts)
    inner = [_nested(one, texts, indent + 1) for one in values]
    depth = _depth(values)
    between = ", " if depth == 1 else "," + "\n" * (depth - 1) + " " * indent
    return f"[{between.join(inner)}]"


def _depth(values: Any) -> int:
    return 1 + _depth(values[0]) if isinstance(values, list) else 0


def flat(values: Any) -> list:
    """All numbers of nested lists, in order."""
    if not isinstance(values, list):
        return [values]
    return [one for value in values for one in flat(value)]


def shape(values: Any) -> list[int]:
    """The sizes of nested lists."""
    return [len(values), *shape(values[0])] if isinstance(values, list) else []
