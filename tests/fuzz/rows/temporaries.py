# tests/fuzz/rows/temporaries.py -- cases of the op table enlarged, and the memory of a call beside
# them.
#
# A case of a row has a few dozen elements. stretched() makes one of its sizes larger, wherever that
# size occurs. bytes_an_element() runs a call of two sizes and tells by how much the memory that it
# takes beside operands and results grows with the elements: what does not grow is a workspace.
"""Large operands for every op, and the memory that a call takes and gives back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import ebb
from tests.python.ops.op_rows import Array, Case, Row, call, make_arguments

TRIAL = 8192
ELEMENTS = 1 << 19
LARGE = 1 << 25


def _arrays(case: Case) -> list[Array]:
    found: list[Array] = []
    for value in case.arguments.values():
        parts = value if isinstance(value, list) else [value]
        found += [one for one in parts if isinstance(one, Array)]
    return found


def _stretched(case: Case, size: int, factor: int) -> Case:
    """The case with `size` times as large wherever it is the size of a tensor, or asked for."""

    def one(value: Any, name: str) -> Any:
        if isinstance(value, Array):
            shape = tuple(each * factor if each == size else each for each in value.shape)
            below = value.below * factor if value.below == size else value.below
            return Array(shape, below)
        if isinstance(value, list):
            is_sizes = name in ("size", "shape", "sizes", "input_shape", "output_size")
            if is_sizes or (value and isinstance(value[0], Array)):
                return [one(each, "size" if is_sizes else name) for each in value]
        if name == "size" and value == size:
            return value * factor
        return value

    return Case({name: one(value, name) for name, value in case.arguments.items()})


def elements_of(case: Case) -> int:
    """The elements of the largest operand."""
    return max((math.prod(array.shape) for array in _arrays(case)), default=0)


def enlarged(case: Case, size: int, elements: int) -> Case:
    """The case with a size of it stretched until an operand has so many elements."""
    factor = 1
    while elements_of(_stretched(case, size, factor)) < elements:
        factor *= 2
    return _stretched(case, size, factor)


def sizes_of(case: Case) -> list[int]:
    """The sizes that may be stretched, the largest first."""
    sizes = {size for array in _arrays(case) for size in array.shape}
    return [] if 0 in sizes else sorted(sizes - {1}, reverse=True)


def tensors_in(value: Any) -> list[ebb.Tensor]:
    """All tensors of arguments or results."""
    if isinstance(value, ebb.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    parts = value if isinstance(value, list | tuple | type({}.values())) else []
    return [tensor for part in parts for tensor in tensors_in(part)]


@dataclass(frozen=True)
class Memory:
    """What a call took: for its results, and beside them and what was there; and how long."""

    results: int
    temporaries: int
    seconds: float
    largest: int = 0  # elements of the largest result that is differentiated


def memory_of(body: Callable[[], Any]) -> Memory:
    """Run a call and tell how far memory rose above what was there and its results together."""
    ebb.release_cached_memory()  # blocks that a thread keeps come and go uncounted
    before = ebb.memory_stats()["live"]
    ebb._C.reset_peak_memory()
    start = time.thread_time()
    kept = body()
    seconds = time.thread_time() - start
    after = ebb.memory_stats()
    del kept
    results = after["live"] - ebb.memory_stats()["live"]
    return Memory(results, after["peak"] - before - results, seconds)


def of_call(row: Row, case: Case, dtype: str) -> Memory:
    """The memory of the plain form of an op."""
    arguments = make_arguments(row, case, dtype)
    with ebb.no_grad():
        return memory_of(lambda: call(row, arguments))


def differentiated(
    row: Row, case: Case, dtype: str, layout: str = "contiguous"
) -> tuple[list[ebb.Tensor], list[ebb.Tensor], list[ebb.Tensor]]:
    """Results of an op, the leaves that they came from, and gradients to start from."""
    arguments = make_arguments(row, case, dtype, layout)
    leaves = [
        tensor.requires_grad_()
        for name, value in arguments.items()
        if name in row.differentiable
        for tensor in tensors_in([value])
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex
    ]
    outs = [one for one in tensors_in([call(row, arguments)]) if one.requires_grad]
    if not leaves or not outs:
        raise ValueError("nothing to differentiate")
    return outs, leaves, [ebb.ones_like(one) for one in outs]


def of_backward(row: Row, case: Case, dtype: str) -> Memory:
    """The memory of the backward pass of an op: its results are the gradients."""
    outs, leaves, grads = differentiated(row, case, dtype)
    largest = max(one.numel() for one in outs)
    taken = memory_of(lambda: ebb.autograd.grad(outs, leaves, grads, allow_unused=True))
    return replace(taken, largest=largest)


def bytes_an_element(
    row: Row,
    case: Case,
    size: int,
    dtype: str,
    measure: Callable[[Row, Case, str], Memory],
) -> float | None:
    """How temporaries grow with the operands; None if the op does not take such operands.

    Where results or work grow faster than the operands (an outer product, a kernel as large as what
    it is folded with) nothing is measured.
    """
    try:
        trial = enlarged(case, size, TRIAL)
        tried = measure(row, trial, dtype)
        if tried.results > 64 * elements_of(trial) or tried.seconds > 1e-6 * elements_of(trial):
            return None
        small, large = (enlarged(case, size, count) for count in (ELEMENTS, 2 * ELEMENTS))
        if small == large:  # one step of a size that several dims have was more than asked for
            return None
        taken = [measure(row, one, dtype) for one in (small, large)]
    except (ebb.Error, ValueError, TypeError, IndexError):
        return None
    sizes = [
        max(elements_of(one), of.largest) for one, of in zip((small, large), taken, strict=True)
    ]
    if sizes[0] == sizes[1]:
        return None
    return (taken[1].temporaries - taken[0].temporaries) / (sizes[1] - sizes[0])


def at_most(
    row: Row,
    case: Case,
    size: int,
    dtype: str,
    measure: Callable[[Row, Case, str], Memory],
    limit: int,
) -> bool:
    """Whether temporaries that grow stop doing so: at most `limit` bytes for large operands."""
    return measure(row, enlarged(case, size, LARGE), dtype).temporaries <= limit
