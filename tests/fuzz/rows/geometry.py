# tests/fuzz/rows/geometry.py -- draws calls of an op: other sizes, numbers, strides than in its
# row.
#
# A row's own cases say which sizes belong together. All sizes of a case are renamed by one random
# map: inner sizes, channels and lengths still agree, and now and then others coincide, such as a
# kernel and its image. Then some are changed alone (to 0, to 1, so that they broadcast), ranks grow
# and shrink, and numbers are drawn afresh: dims, strides, paddings, groups, counts. What the op
# refuses is drawn again. Where elements lie is drawn for each tensor: dense, permuted, in steps,
# expanded, overlapping. Nothing here knows an op: what is drawn follows from types and the cases.
"""Random cases of the op table's rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.python.ops.op_rows import Array, Case, Place

if TYPE_CHECKING:
    import random

    from tests.python.ops.op_rows import Row

SIZES = (0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 9, 17)
RARE_SIZES = (33, 65, 130)
NUMBERS = (0, 1, 1, 1, 2, 2, 3, 4, 5, 7, -1, -1, -2, -3)
MOST_ELEMENTS = 4096
# Sizes also become strides and kernels of several dims, whose product a result may have.
MOST_OF_RANK = {4: 17, 5: 6, 6: 6}
MOST_DIMS = 6


def draw_case(rng: random.Random, row: Row, cases: list[Case]) -> Case:
    """Return one of ``cases`` with other sizes and numbers. The op may refuse it."""
    given = dict(rng.choice(cases).arguments)
    rank = max((len(one.shape) for one in arrays_of(Case(given))), default=0)
    sizes = Renaming(rng, MOST_OF_RANK.get(rank, max(RARE_SIZES)))
    is_kept, fixed = rng.random() < 0.1, row.test.get("geometry", {})
    changes = rng.choice((0, 0, 0, 1, 1, 2))
    rank = rng.choice((0, 0, 0, 0, 0, 0, 1, -1))
    for param in row.params:
        name = param["name"]
        if name in fixed:
            given |= {} if isinstance(fixed[name], str) else {name: fixed[name]}
            continue
        if name in given:
            given[name] = (
                given[name] if is_kept else _renamed(rng, sizes, param, given[name], given)
            )
        elif param["default"] is not None and rng.random() < 0.25:
            drawn = _fresh(rng, param, given)
            if drawn is not None:
                given[name] = drawn
    if rank != 0:
        given = _with_rank(rng, given, rank)
    for _ in range(changes):
        given = _with_one_change(rng, given)
    return Case(given)


def is_small(case: Case) -> bool:
    """Whether the tensors of a case are few enough to try it by slow means."""
    return all(
        math.prod(one.shape) <= MOST_ELEMENTS and len(one.shape) <= MOST_DIMS
        for one in arrays_of(case)
    )


def arrays_of(case: Case) -> list[Array]:
    """Return all tensors of a case."""
    found: list[Array] = []
    for value in case.arguments.values():
        found += [one for one in _listed(value) if isinstance(one, Array)]
    return found


class Renaming:
    """Another size for every size, the same for all places where it occurs."""

    def __init__(self, rng: random.Random, most: int):
        """Draw as names are asked for, none above ``most``."""
        self.rng, self.most = rng, most
        self.known: dict[int, int] = {}

    def __getitem__(self, size: int) -> int:
        """Return the new name of a size."""
        if size not in self.known:
            kind = self.rng.random()
            sizes = RARE_SIZES if kind > 0.97 else SIZES
            self.known[size] = size if kind < 0.3 else min(self.most, self.rng.choice(sizes))
        return self.known[size]


def _renamed(
    rng: random.Random, sizes: Renaming, param: dict[str, Any], value: Any, given: dict[str, Any]
) -> Any:
    if isinstance(value, Array):
        if param["type"] == "Tensor?" and rng.random() < 0.15:
            return None
        below = None if value.below is None else sizes[value.below]
        return Array(tuple(sizes[size] for size in value.shape), below)
    if isinstance(value, list) and value and isinstance(value[0], Array):
        renamed = [_renamed(rng, sizes, {"type": "Tensor"}, one, given) for one in value]
        return renamed[: rng.randint(1, len(renamed))] if rng.random() < 0.15 else renamed
    kind = param["type"].rstrip("?")
    choice = rng.random()
    if kind in ("int", "int[]") and value is not None and "dim" not in param["name"]:
        if choice < 0.35:
            return _mapped(sizes, value)
        return value if choice < 0.65 else _fresh(rng, param, given, like=value)
    return value if choice < 0.7 else _fresh(rng, param, given, like=value)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _mapped(sizes: Renaming, value: Any) -> Any:
    if isinstance(value, list):
        return [_mapped(sizes, one) for one in value]
    return sizes[value] if value > 0 else value


def _fresh(
    rng: random.Random, param: dict[str, Any], given: dict[str, Any], like: Any = None
) -> Any:
    """Return a value of a parameter's type; None where its kind is not a geometry's."""
    kind, name = param["type"], param["name"]
    if kind.endswith("?") and rng.random() < 0.2:
        return None
    ranks = [len(one.shape) for one in arrays_of(Case(given))]
    rank = rng.choice(ranks) if ranks else 2

    def number() -> int:
        return rng.randint(-rank, max(0, rank - 1)) if "dim" in name else rng.choice(NUMBERS)

    kind = kind.rstrip("?")
    if kind == "int":
        return number()
    if kind == "int[]":
        counts = [0, 1, 1, max(1, rank - 2), rank] if like is None else [len(_listed(like))]
        return [number() for _ in range(rng.choice(counts))]
    if kind == "bool":
        return rng.random() < 0.5
    return rng.choice(("none", "mean", "sum")) if kind == "Reduction" else like


def _with_rank(rng: random.Random, given: dict[str, Any], change: int) -> dict[str, Any]:
    """Add a dim in front of (or take one from) one tensor or all."""
    size, alone = rng.choice(SIZES), rng.random() < 0.3
    names = [name for name, value in given.items() if isinstance(value, Array)]
    chosen = [rng.choice(names)] if alone and names else names

    def changed(one: Array) -> Array:
        return replace(one, shape=(size, *one.shape) if change > 0 else one.shape[1:])

    return given | {name: changed(given[name]) for name in chosen}


def _with_one_change(rng: random.Random, given: dict[str, Any]) -> dict[str, Any]:
    """Give one dim of one tensor another size."""
    names = [name for name, value in given.items() if isinstance(value, Array) and value.shape]
    if not names:
        return given
    name = rng.choice(names)
    shape = list(given[name].shape)
    shape[rng.randrange(len(shape))] = rng.choice((0, 1, 1, 1, 2, 3, 5))
    return given | {name: replace(given[name], shape=tuple(shape))}


def place_tensors(rng: random.Random, case: Case, layouts: tuple[str, ...]) -> Case:
    """Return the case with a place in memory for each tensor."""

    def placed(value: Any) -> Any:
        if isinstance(value, list):
            return [placed(one) for one in value]
        if not isinstance(value, Array):
            return value
        return replace(value, place=draw_place(rng, value.shape, rng.choice(layouts)))

    return Case({name: placed(value) for name, value in case.arguments.items()})


LAYOUTS = ("dense", "permuted", "steps", "expanded", "overlapping", "mixed")


def draw_place(rng: random.Random, shape: tuple[int, ...], layout: str) -> Place:
    """Return strides of a kind for a shape, and the memory that they reach."""
    order = list(range(len(shape)))
    if layout in ("permuted", "mixed"):
        rng.shuffle(order)
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        if layout in ("steps", "mixed"):
            step *= rng.choice((1, 1, 2, 3))
        strides[dim] = step
        step *= max(1, shape[dim])
        if layout in ("steps", "mixed"):
            step += rng.choice((0, 0, 1, 4))
    for dim in order:
        is_chosen = rng.random() < (0.5 if layout == "expanded" else 0.2)
        if layout in ("expanded", "mixed") and is_chosen:
            strides[dim] = 0
        if layout == "overlapping" or shape[dim] == 1:  # along one element any stride will do
            strides[dim] = rng.choice((0, 1, 1, 2, 3))
    offset = 0 if layout == "dense" else rng.choice((0, 0, 1, 5))
    reach = sum(max(0, size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return Place(tuple(strides), offset, offset + reach + 1)
