# python/ebb/func/rearrange.py -- dims split, joined and put in another order by their names.
#
# A pattern "b (h w) c -> b c h w" has a name for each dim on both sides; dims in brackets are one.
# The left side becomes sizes of single names (_sizes()), a permutation brings them into the order
# of the right side, and a reshape joins what stands in brackets there.
"""``rearrange``, as functorch and einops have it. Start reading at rearrange()."""

from __future__ import annotations

import math
import re
from typing import Any

from ebb import _C
from ebb._C import Tensor

_ERROR = "rearrange: "


def _groups(side: str, pattern: str) -> list[list[str]]:
    """Return the names of each dim of a side: one, several in brackets, or none for a 1."""
    found: list[list[str]] = []
    for part in re.findall(r"\([^()]*\)|[^\s()]+|[()]", side):
        if part in ("(", ")"):
            raise _C.ValueError(f"{_ERROR}brackets must be paired, one deep, got {pattern!r}")
        names = part.strip("()").split() if part.startswith("(") else [part]
        found.append([name for name in names if name != "1"])
    flat = [name for group in found for name in group]
    for name in flat:
        if name != "..." and not name.isidentifier():
            raise _C.ValueError(f"{_ERROR}a dim needs a name, got {name!r} in {pattern!r}")
        if flat.count(name) > 1:
            raise _C.ValueError(f"{_ERROR}{name!r} must stand once on each side of {pattern!r}")
    return found


def _with_ellipsis(groups: list[list[str]], names: list[str]) -> list[list[str]]:
    """Return the groups with ``...`` written as names of its dims."""
    spread: list[list[str]] = []
    for group in groups:
        if group == ["..."]:
            spread += [[name] for name in names]
        else:
            spread.append([o for name in group for o in (names if name == "..." else [name])])
    return spread


def _sizes(
    groups: list[list[str]], shape: tuple[int, ...], known: dict[str, int], pattern: str
) -> dict[str, int]:
    """Return the size of each name on the left."""
    sizes = dict(known)
    for group, size in zip(groups, shape, strict=True):
        unknown = [name for name in group if name not in sizes]
        if len(unknown) > 1:
            raise _C.ValueError(f"{_ERROR}needs the size of {' or '.join(unknown)} in {pattern!r}")
        rest = math.prod(sizes[name] for name in group if name in sizes)
        if unknown:
            sizes[unknown[0]] = size // rest if rest else 0
            rest *= sizes[unknown[0]]
        if rest != size:
            shown = " ".join(group) or "1"
            raise _C.ShapeError(
                f"{_ERROR}{shown!r} of {pattern!r} must be a dim of {rest}, got shape {list(shape)}"
            )
    return sizes


def rearrange(tensor: Tensor | list[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """Return the tensor with its dims split, joined and in another order, as names say.

    Args:
        tensor: One, or a list of tensors of one shape, which become a first dim.
        pattern: Names of dims before and after an arrow. In brackets several are one dim; ``1`` is
            a dim of size 1, ``...`` stands for any others.
        axes_lengths: Sizes of names that the shape does not tell.

    Raises:
        ValueError: If the two sides differ in their names, or sizes are missing.
        ShapeError: If the pattern does not fit the shape.

    Example:
        >>> x = ebb.arange(6).reshape(2, 3)
        >>> ebb.func.rearrange(x, "rows columns -> columns rows").tolist()
        [[0, 3], [1, 4], [2, 5]]
        >>> ebb.func.rearrange(x, "a (b c) -> (a b) c", c=1).shape
        ebb.Size([6, 1])
    """
    values = _C.stack(list(tensor)) if isinstance(tensor, list | tuple) else tensor
    if not isinstance(values, Tensor) or not isinstance(pattern, str):
        raise _C.DTypeError(
            f"rearrange(): needs a Tensor and a pattern, got {type(values).__name__} and "
            f"{type(pattern).__name__}"
        )
    sides = pattern.split("->")
    if len(sides) != 2:
        raise _C.ValueError(f"{_ERROR}needs one arrow '->', got {pattern!r}")
    left, right = (_groups(side, pattern) for side in sides)
    known: dict[str, Any] = dict(axes_lengths)
    count = values.ndim - sum(group != ["..."] for group in left)
    spread = [f"...{number}" for number in range(max(count, 0))]
    left, right = _with_ellipsis(left, spread), _with_ellipsis(right, spread)
    if len(left) != values.ndim:
        raise _C.ShapeError(
            f"{_ERROR}{pattern!r} names {len(left)} dims, got shape {list(values.shape)}"
        )
    names = [name for group in left for name in group]
    wanted = [name for group in right for name in group]
    if set(names) != set(wanted) or not known.keys() <= set(names):
        odd = sorted((set(names) ^ set(wanted)) | (known.keys() - set(names)))
        raise _C.ValueError(
            f"{_ERROR}names must stand on both sides of {pattern!r}, got {', '.join(odd)} on one"
        )
    sizes = _sizes(left, tuple(values.shape), known, pattern)
    single = values.reshape([sizes[name] for name in names])
    placed = single.permute([names.index(name) for name in wanted])
    return placed.reshape([math.prod(sizes[name] for name in group) for group in right])
