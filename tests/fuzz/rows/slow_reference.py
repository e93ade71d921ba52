# tests/fuzz/rows/slow_reference.py -- what a call must give: values, gradient and second
# derivative.
#
# Three witnesses. NumPy, where the row has an expression for it. Differences: the gradient along a
# random direction against that of the values, and the second derivative against that of the
# gradient. And the call itself on dense float64 copies, for all other strides and dtypes; what a
# dtype's rounding may change is measured, by rounding the float64 operands so and looking.
"""Slow but sure results to compare a call with."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

import ebb
from tests.fuzz.rows.geometry import draw_place
from tests.python.ops.op_reference import TOLERANCE
from tests.python.ops.op_rows import (
    Row,
    call,
    function_of,
    inplace_of,
    split_arguments,
    wide_array,
)
from tests.python.ops.test_gradients import flatten, is_differentiable, leaves

EPSILON = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
EPSILON |= {"complex64": EPSILON["float32"], "complex128": EPSILON["float64"]}
STEPS = (1e-6, 1e-4, 1e-5, 1e-7)
# Where a result comes near the largest number of a dtype, what leads to it may be beyond.
LARGEST = {"float16": 1e3, "bfloat16": 1e36, "float32": 1e36, "complex64": 1e36}


@dataclass
class Results:
    """All that a call gives, in double precision."""

    outs: list[np.ndarray]
    grads: list[np.ndarray]
    seconds: list[np.ndarray]

    def is_within(self, dtype: str) -> bool:
        """Whether a dtype can hold everything."""
        most = LARGEST.get(dtype, np.inf)
        arrays = [one for part in self.parts().values() for one in part]
        return all(np.abs(one[np.isfinite(one)]).max(initial=0) <= most for one in arrays)

    def parts(self) -> dict[str, list[np.ndarray]]:
        """Return the three lists by name."""
        return {"value": self.outs, "gradient": self.grads, "second derivative": self.seconds}


def dyadic(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return numbers that no floating dtype rounds."""
    return np.asarray(rng.integers(-8, 9, shape) / 8.0)


def run(row: Row, arguments: dict[str, Any], form: str = "plain") -> Any:
    """Call an op in a form. One that writes is given memory full of NaN, somewhere in which the
    result or a copy of the first operand lies, dense for the plain form."""
    if form == "plain" and not row.is_inplace:
        return in_order(row, call(row, arguments))
    positional, named = split_arguments(row, arguments)
    if form == "out":
        like = function_of(row)(*positional, **named)
        several = isinstance(like, tuple)
        outs = tuple(somewhere(one.detach(), form) for one in (like if several else (like,)))
        return in_order(
            row, function_of(row)(*positional, **named, out=outs if several else outs[0])
        )
    target = somewhere(positional[0].detach(), form).copy_(positional[0])
    return inplace_of(row)(target, *positional[1:], **named)


def in_order(row: Row, results: Any) -> Any:
    """Return results that follow no order, such as eigenvalues, by the parts of the first of them.

    Real parts are compared to four decimals: those of a pair may differ by rounding.
    """
    names = row.test.get("unordered", [])
    if not names:
        return results
    several = isinstance(results, tuple | list)
    listed = list(results) if several else [results]
    first = listed[row.data["results"].index(names[0])]
    values = wide_array(first) if isinstance(first, ebb.Tensor) else first
    order = np.lexsort((values.imag, values.real.round(4)), axis=-1)
    for index, one in enumerate(listed):
        if row.data["results"][index] in names:
            at = order.reshape(*order.shape[:-1], *(1,) * (one.ndim - order.ndim), order.shape[-1])
            at = np.broadcast_to(at, tuple(one.shape))
            is_tensor = isinstance(one, ebb.Tensor)
            listed[index] = (
                one.gather(-1, ebb.tensor(np.ascontiguousarray(at)))
                if is_tensor
                else np.take_along_axis(one, at, -1)
            )
    return tuple(listed) if several else listed[0]


def somewhere(like: ebb.Tensor, form: str) -> ebb.Tensor:
    """Return a tensor like another whose elements lie apart and in any order."""
    shape = tuple(like.shape)
    layout = "dense" if form == "plain" else ("permuted", "steps", "dense")[sum(shape) % 3]
    place = draw_place(random.Random(repr(shape)), shape, layout)
    memory = ebb.zeros(place.length, dtype=like.dtype)
    if like.dtype.is_floating_point:
        memory.fill_(float("nan"))
    return memory.as_strided(shape, place.strides, place.offset)


class Derivatives:
    """A call with fixed random directions, to be run on operands of any dtype."""

    def __init__(self, row: Row, arguments: dict[str, Any], seed: int, form: str = "plain"):
        """Differentiate by what ``arguments`` has of floating tensors."""
        self.row, self.seed, self.form = row, seed, form
        self.tensors, self.rebuilt = flatten(row, arguments)

    def first(self, tensors: list[ebb.Tensor], keep: bool = False) -> tuple[Any, ...]:
        """Return the results, the seeds, and the gradients of the seeded results."""
        rng = np.random.default_rng(self.seed)
        result = run(self.row, self.rebuilt(*tensors), self.form)
        outs = list(result) if isinstance(result, tuple | list) else [result]
        recorded = [one for one in outs if is_differentiable(one) and one.requires_grad]
        seeds = [self._dyadic(rng, one).requires_grad_() for one in recorded]
        grads: list[Any] = [None] * len(tensors)
        if recorded:
            grads = list(
                ebb.autograd.grad(recorded, tensors, seeds, create_graph=keep, allow_unused=True)
            )
        return outs, recorded, seeds, grads, rng

    def _dyadic(self, rng: np.random.Generator, like: ebb.Tensor) -> ebb.Tensor:
        return ebb.tensor(dyadic(rng, tuple(like.shape))).to(like.dtype)

    def results(self, tensors: list[ebb.Tensor] | None = None) -> Results:
        """Return values and both derivatives at the operands, or at others in their place."""
        inputs = leaves(self.tensors if tensors is None else tensors)
        outs, _, seeds, grads, rng = self.first(inputs, keep=True)
        pulls = [self._dyadic(rng, one) for one in inputs]
        chosen = [(g, p) for g, p in zip(grads, pulls, strict=True) if g is not None]
        chosen = [(g, p) for g, p in chosen if g.requires_grad]
        behind = [*inputs, *seeds]
        seconds: list[Any] = [None] * len(behind)
        if chosen:
            roots, pulled = [list(one) for one in zip(*chosen, strict=True)]
            seconds = list(ebb.autograd.grad(roots, behind, pulled, allow_unused=True))
        return Results(
            [wide_array(one) for one in outs], _arrays(grads, inputs), _arrays(seconds, behind)
        )

    def wrong_slope(self, results: Results) -> str:
        """Return which derivative is not the slope of what it is the derivative of, or nothing."""
        rng = np.random.default_rng(self.seed + 1)
        steps = [rng.uniform(-1, 1, tuple(one.shape)) for one in self.tensors]
        pairs = [
            ("gradient", results.grads, self._value),
            ("second derivative", results.seconds, self._pull),
        ]
        if not all(np.isfinite(one).all() for one in results.outs if one.dtype.kind in "fc"):
            return ""  # differences of the mean of nothing say nothing
        for name, arrays, function in pairs:
            slope = sum(float(np.sum(a.real * s)) for a, s in zip(arrays, steps, strict=False))
            guesses: list[float] = []
            # Rounding spoils small steps, bends large ones.
            while len(guesses) < len(STEPS) and not any(is_close(slope, one) for one in guesses):
                guesses.append(self._difference(function, steps, STEPS[len(guesses)]))
            if agree(guesses) and not any(is_close(slope, one) for one in guesses):
                return f"{name}: {slope:.9g} along a direction, differences give {guesses}"
        return ""

    def _difference(self, function: Any, steps: list[np.ndarray], size: float) -> float:
        ahead, behind = (
            function(
                [t + ebb.tensor(s * sign * size) for t, s in zip(self.tensors, steps, strict=True)]
            )
            for sign in (1, -1)
        )
        return (ahead - behind) / (2 * size)

    def _value(self, tensors: list[ebb.Tensor]) -> float:
        _, recorded, seeds, _, _ = self.first(leaves(tensors))
        return _inner(recorded, seeds)

    def _pull(self, tensors: list[ebb.Tensor]) -> float:
        inputs = leaves(tensors)
        *_, grads, rng = self.first(inputs)
        pulls = [self._dyadic(rng, one) for one in inputs]
        pairs = [(g, p) for g, p in zip(grads, pulls, strict=True) if g is not None]
        return _inner([g for g, _ in pairs], [p for _, p in pairs])


def dense(tensor: ebb.Tensor) -> ebb.Tensor:
    """Return a tensor as it is, or a gradient that keeps some rows alone with the others of 0."""
    return tensor if tensor.layout == ebb.strided else tensor.to_dense()


def _arrays(tensors: list[Any], like: list[ebb.Tensor]) -> list[np.ndarray]:
    return [
        np.zeros(tuple(one.shape)) if tensor is None else wide_array(dense(tensor))
        for tensor, one in zip(tensors, like, strict=True)
    ]


def _inner(lhs: list[ebb.Tensor], rhs: list[ebb.Tensor]) -> float:
    pairs = zip(map(dense, lhs), map(dense, rhs), strict=True)
    products = (np.conj(wide_array(a)) * wide_array(b) for a, b in pairs)
    return sum(float(np.sum(one.real)) for one in products)


def is_close(slope: float, guess: float) -> bool:
    """Whether a difference confirms a slope; neither need be finite if the other is not."""
    if not np.isfinite(guess) or not np.isfinite(slope):
        return not np.isfinite(guess) and not np.isfinite(slope)
    return abs(guess - slope) <= 2e-5 * max(1.0, abs(slope))


def agree(guesses: list[float]) -> bool:
    """Whether two differences say the same: at a jump or in chaos none does, and none is wrong."""
    ordered = sorted(guesses)
    pairs = itertools.pairwise(ordered)
    return any(above - below <= 1e-3 * max(1.0, abs(above)) for below, above in pairs)


def widened(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the same values in dense tensors of double precision."""

    def wide(value: Any) -> Any:
        if isinstance(value, list):
            return [wide(one) for one in value]
        if not isinstance(value, ebb.Tensor):
            return value
        dense = ebb.tensor(np.ascontiguousarray(wide_array(value)).reshape(tuple(value.shape)))
        return dense

    return {name: wide(value) for name, value in arguments.items()}


def difference(
    name: str, got: np.ndarray, wanted: np.ndarray, dtype: str, slack: float | np.ndarray
) -> str:
    """Return what is wrong with an array, or nothing."""
    if got.shape != wanted.shape:
        return f"{name}: shape {got.shape}, not {wanted.shape}"
    if wanted.dtype.kind in "biu" or got.dtype.kind in "biu":
        # Of a comparison near its bound rounding decides.
        is_same = np.array_equal(got, wanted) or (wanted.dtype.kind == "b" and np.any(slack))
        return "" if is_same else f"{name}: {got}, not {wanted}"
    finite = np.abs(wanted[np.isfinite(wanted)])
    scale = max(1.0, float(finite.max(initial=0.0)))
    factor = {"value": 1, "gradient": 4, "second derivative": 16}.get(name.split(" of")[0], 1)
    allowed = np.broadcast_to(TOLERANCE[dtype] * factor * scale + slack, wanted.shape)
    with np.errstate(invalid="ignore"):
        is_near = (np.abs(got - wanted) <= allowed) | (got == wanted)
    is_near |= np.isnan(got) & np.isnan(wanted)
    # Where rounding the operands moves a result by all that it is, the next operands may be those
    # at which there is none, such as equal observations: not even that it is finite is known.
    is_near |= (slack >= scale) & ~(np.isfinite(got) & np.isfinite(wanted))
    if is_near.all():
        return ""
    worst = tuple(np.argwhere(~is_near)[0].tolist())
    return f"{name}: {got[worst]} at {worst}, not {wanted[worst]} (allowed {allowed[worst]:.2g})"


def rounding_slack(
    derivatives: Derivatives, wanted: Results, dtype: str
) -> dict[str, list[np.ndarray]]:
    """Return how much each array moves if the float64 operands are rounded as ``dtype`` does.

    Half of the noise is as small as float64's own rounding, and its effect enlarged: where large
    terms cancel, it is their rounding that shows, not the operands'.
    """
    rng = np.random.default_rng(7)
    slack = {name: [np.zeros(a.shape) for a in arrays] for name, arrays in wanted.parts().items()}
    for epsilon in (EPSILON[dtype], EPSILON["float64"]) * 8:
        noisy = []
        for tensor in derivatives.tensors:
            noise = rng.uniform(-4, 4, tuple(tensor.shape)) * epsilon
            noisy.append(tensor * ebb.tensor(1 + noise))
        for name, arrays in derivatives.results(noisy).parts().items():
            for index, (moved, array) in enumerate(zip(arrays, wanted.parts()[name], strict=True)):
                change = _change(moved, array) * (EPSILON[dtype] / epsilon)
                slack[name][index] = np.maximum(slack[name][index], 10 * change)
    return slack


def _change(moved: np.ndarray, array: np.ndarray) -> np.ndarray:
    """Return the largest change for all elements, and infinity for those that are finite in one
    array only."""
    if moved.dtype.kind not in "fc" or moved.shape != array.shape:
        return np.full(array.shape, float(not np.array_equal(moved, array)))
    if not moved.size:
        return np.zeros(array.shape)
    with np.errstate(invalid="ignore"):
        distance = np.abs(moved - array)
    largest = float(np.max(distance[np.isfinite(distance)], initial=0.0))
    return np.where(np.isfinite(moved) == np.isfinite(array), largest, np.inf)
