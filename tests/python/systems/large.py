# tests/python/systems/large.py -- calls of the ops of the table at sizes that reach each engine.
#
# The cases of a row are small. Here all sizes of one are multiplied by one factor, the largest of
# some with which the op takes them: matrices still fit each other, numbers stay as they are.
"""Large calls of ops."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import ebb
from tests.python.ops.op_rows import Array, Case, Row, call, make_arguments, wide_array

FACTORS = (64, 32, 16, 4, 1)
MOST_ELEMENTS = 1 << 17


def enlarged(case: Case, factor: int) -> Case | None:
    """Return the case with larger sizes, or None if it is too large."""
    arrays: list[Array] = []

    def grown(value: Any) -> Any:
        if isinstance(value, list):
            return [grown(one) for one in value]
        if not isinstance(value, Array):
            return value
        shape = tuple(size * factor if size > 1 else size for size in value.shape)
        arrays.append(dataclasses.replace(value, shape=shape, place=None))
        return arrays[-1]

    made = Case({name: grown(value) for name, value in case.arguments.items()})
    most = max((math.prod(one.shape) for one in arrays), default=0)
    return made if most <= MOST_ELEMENTS else None


def tensors_in(value: Any) -> list[ebb.Tensor]:
    """Return the tensors in a result."""
    if isinstance(value, ebb.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for one in value for tensor in tensors_in(one)]
    return []


def values_and_gradients(row: Row, case: Case, dtype: str) -> list[bytes]:
    """Return what the op gives, and its derivatives if it has some."""
    ebb.manual_seed(0)
    arguments = make_arguments(row, case, dtype)
    leaves = []
    for name in [] if row.is_inplace else row.differentiable:
        for one in tensors_in(arguments.get(name)):
            if one.dtype.is_floating_point or one.dtype.is_complex:
                leaves.append(one.requires_grad_())
    results = tensors_in(call(row, arguments))
    roots = [one for one in results if one.requires_grad and one.is_leaf is False]
    found = results
    if roots:
        weights = [ebb.full_like(one.detach(), 0.5) for one in roots]
        found = [*results, *ebb.autograd.grad(roots, leaves, weights, allow_unused=True)]
    return [wide_array(one).tobytes() for one in found if one is not None]


def dims_of(case: Case) -> int:
    """Return how many dims the operands of a case have together."""
    return sum(len(one.shape) for one in case.arguments.values() if isinstance(one, Array))


def large_calls(row: Row, dtype: str, cases: int = 2) -> Iterator[Callable[[], list[bytes]]]:
    """Return some calls whose results do not change from one to the next."""
    for case in sorted(row.cases(), key=dims_of, reverse=True)[:cases]:
        for factor in FACTORS:
            larger = enlarged(case, factor)
            if larger is None:
                continue
            once = functools.partial(values_and_gradients, row, larger, dtype)
            try:
                is_steady = once() == once()
            except (ArithmeticError, RuntimeError, TypeError, ValueError, IndexError, MemoryError):
                continue  # sizes that the op refuses
            if is_steady:
                yield once
            break
