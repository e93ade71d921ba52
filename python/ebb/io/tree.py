# python/ebb/io/tree.py -- nested dicts and lists as a flat dict of tensors and a text.
#
# The text is JSON. Numbers, strings, booleans and None stand for themselves; every other node is an
# object with one entry, whose name tells what it is:
#   {"tensor": NAME}  {"dict": [[KEY, NODE], ...]}  {"list": [NODE, ...]}  {"tuple": [NODE, ...]}
#   {"float": "nan"}, for what JSON has no number for  {"strings": [[SIZE, ...], [TEXT, ...]]}
# Keys are strings or integers. Reading trusts nothing: each node is checked, and each tensor of the
# file has to occur exactly once.
"""``take_apart`` and ``put_together``; used by ``ebb.save`` and ``ebb.load``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NoReturn

from ebb import _C
from ebb._base.arguments import MAX_DEPTH, check_depth
from ebb.strings import StringTensor

MOST_DIMS = 32


def take_apart(obj: Any) -> tuple[dict[str, _C.Tensor], str]:
    """Return all tensors by name, such as ``state.0.exp_avg``, and the rest as text."""
    import json

    tensors: dict[str, _C.Tensor] = {}
    node = _node_of(obj, (), tensors)
    return tensors, json.dumps(node, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _node_of(obj: Any, place: tuple[Any, ...], tensors: dict[str, _C.Tensor]) -> Any:
    check_depth("save", len(place))
    if isinstance(obj, _C.Tensor):
        return {"tensor": _add(obj, place, tensors)}
    if obj is None or type(obj) in (bool, int, str):
        return obj
    if isinstance(obj, float):  # NumPy's float64 too
        return float(obj) if math.isfinite(obj) else {"float": repr(float(obj))}
    if isinstance(obj, StringTensor):
        return {"strings": [list(obj.shape), obj.reshape(-1).tolist()]}
    if isinstance(obj, Mapping):
        for key in obj:
            if type(key) not in (str, int):
                _refuse(f"needs keys as str or int, got {type(key).__name__} {key!r}", place)
        return {"dict": [[key, _node_of(value, (*place, key), tensors)]
                         for key, value in obj.items()]}  # fmt: skip
    # A named tuple or another subclass would come back as something else.
    if type(obj) in (list, tuple):
        nodes = [_node_of(value, (*place, number), tensors) for number, value in enumerate(obj)]
        return {type(obj).__name__: nodes}
    return _refuse(
        f"needs Tensors, numbers, text, dicts and lists, got {type(obj).__name__}", place
    )


def _add(tensor: _C.Tensor, place: tuple[Any, ...], tensors: dict[str, _C.Tensor]) -> str:
    """Store a tensor under the path that leads to it, or a name near that."""
    name = plain = ".".join(map(str, place)) or "tensor"
    number = 1
    while name in tensors or name == "__metadata__":
        number += 1
        name = f"{plain}#{number}"
    tensors[name] = tensor
    return name


def _refuse(problem: str, place: tuple[Any, ...]) -> NoReturn:
    where = "".join(f"[{step!r}]" for step in place)
    raise _C.DTypeError(
        f"save: {problem}{' at ' + where if where else ''}"
        "\nhint: other objects are not stored; arrays can be passed as ebb.from_numpy(array)"
    )


def put_together(tensors: dict[str, _C.Tensor], text: str, path: str) -> Any:
    """Return what ``take_apart`` was given."""
    import json

    try:
        node = json.loads(text, parse_constant=lambda word: {"": word})  # NaN and the like
    except (ValueError, RecursionError):
        _corrupt(path, "it is not valid JSON")
    left = dict(tensors)
    result = _object_of(node, left, path, 0)
    if left:
        _corrupt(path, f"it names no place for {next(iter(left))!r}")
    return result


def _object_of(node: Any, left: dict[str, _C.Tensor], path: str, depth: int) -> Any:
    if not isinstance(node, dict | list):
        return node
    if depth > MAX_DEPTH or not isinstance(node, dict) or len(node) != 1:
        _corrupt(path, "it has a node of no known kind")
    ((kind, content),) = node.items()
    if kind == "tensor" and isinstance(content, str):
        if content not in left:
            _corrupt(path, f"it names {content!r}, which the file has not, or twice")
        return left.pop(content)
    if kind == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if kind in ("list", "tuple") and isinstance(content, list):
        values = [_object_of(value, left, path, depth + 1) for value in content]
        return values if kind == "list" else tuple(values)
    if kind == "strings" and isinstance(content, list) and _are_strings(*content):
        return StringTensor(content[1]).reshape(content[0])
    if kind == "dict" and isinstance(content, list) and all(map(_is_pair, content)):
        pairs = [(key, _object_of(value, left, path, depth + 1)) for key, value in content]
        if len(result := dict(pairs)) == len(pairs):
            return result
    return _corrupt(path, f"it has a wrong node of kind {kind!r}")


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, list) and len(entry) == 2 and type(entry[0]) in (str, int)


def _are_strings(shape: Any = None, texts: Any = None, *more: Any) -> bool:
    return (
        not more
        and all(isinstance(part, list) for part in (shape, texts))
        and all(type(size) is int and size >= 0 for size in shape)
        and all(isinstance(text, str) for text in texts)
        and math.prod(shape) == len(texts)
        and len(shape) <= MOST_DIMS
    )


def _corrupt(path: str, problem: str) -> NoReturn:
    raise _C.ValueError(f"load: needs a tree as ebb.save writes it, got {path!r}: {problem}")
