# python/ebb/graphs/select.py -- the conditions that Snapshot.find() takes.
"""Tests of nodes, made once per search."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ebb import _C

if TYPE_CHECKING:
    from ebb.graphs.node import GraphNode

Test = Callable[["GraphNode"], bool]


def by_name(name: str) -> Test:
    """Match the op as a call or as its node is spelled, or the name of a leaf."""
    op = _spelled_as_call(name)
    patterns = (op, f"{op}backward")

    def test(node: GraphNode) -> bool:
        if node.leaf != "" and fnmatchcase(node.leaf, name):
            return True
        return any(fnmatchcase(_spelled_as_call(node.name), pattern) for pattern in patterns)

    return test


def _spelled_as_call(name: str) -> str:
    """Make "layer_norm" and "LayerNorm" the same."""
    return name.replace("_", "").lower()


def by_kind(kind: str) -> Test:
    """Match "op", "leaf", "custom" or "write"."""
    return lambda node: node.kind == kind


def by_type(module_type: str) -> Test:
    """Match the class of the module that recorded the op."""
    return lambda node: node.module is not None and fnmatchcase(node.module_type or "", module_type)


def by_module(module: str) -> Test:
    """Match the module's path or any below it; "" matches all modules."""

    def test(node: GraphNode) -> bool:
        path = node.module
        if path is None:
            return False
        return module == "" or fnmatchcase(path, module) or fnmatchcase(path, f"{module}.*")

    return test


def by_line(line: int | str) -> Test:
    """Match a line's number, a file's name, or both: 12, "train.py", "train.py:12"."""
    text = str(line)
    file, _, number = text.rpartition(":") if ":" in text else ("", "", text)
    if not number.isdecimal():
        file, number = text, ""

    def test(node: GraphNode) -> bool:
        place = node.location
        if place is None or (number and place.line != int(number)):
            return False
        return file == "" or place.file == file or place.file.endswith(f"/{file}")

    return test


MAKERS: dict[str, Callable[..., Test]] = {
    "name": by_name,
    "kind": by_kind,
    "type": by_type,
    "module": by_module,
    "line": by_line,
}


def is_backward(call: str, direction: str) -> bool:
    """Return whether a picture shall follow the gradients."""
    if direction not in ("forward", "backward"):
        raise _C.ValueError(f"{call}: direction needs forward or backward, got {direction!r}")
    return direction == "backward"


def tests_for(wanted: dict[str, int | str | None]) -> list[Test]:
    """Return a test for each word that was given."""
    kind = wanted["kind"]
    if kind not in (None, "op", "leaf", "custom", "write"):
        raise _C.ValueError(f"find: kind needs op, leaf, custom or write, got {kind!r}")
    return [MAKERS[word](value) for word, value in wanted.items() if value is not None]
