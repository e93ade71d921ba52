# python/ebb/nn/functional/resize.py -- windows as columns, and images in other sizes; part of
# ebb.nn.functional.
"""Functions that read an image at computed places."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ebb import _C
from ebb._C import Tensor, _ops

__all__ = ["fold", "interpolate", "unfold"]

fold = _ops.fold
unfold = _ops.unfold


def _sizes_and_scales(
    input: Tensor,
    size: int | Sequence[int] | None,
    scale_factor: float | Sequence[float] | None,
    recompute: bool,
) -> list[tuple[int, int, float | Fraction]]:
    """Return, for each resized dim, its size, its new size and how far apart its samples are."""
    given = list(input.shape[2:])
    if (size is None) == (scale_factor is None):
        raise _C.ValueError(
            f"interpolate: needs either size or scale_factor, got {size} and {scale_factor}"
        )
    name, wanted = ("size", size) if size is not None else ("scale_factor", scale_factor)
    made = []
    for old, value in zip(given, _numbers(name, wanted, len(given)), strict=True):
        new = value if size is not None else math.floor(old * value)
        if new < 1 or old < 1:
            raise _C.ValueError(
                f"interpolate: needs sizes of at least 1, got input {given} and {name}={wanted!r}"
            )
        keeps_factor = size is None and not recompute
        made.append((old, new, 1.0 / value if keeps_factor else Fraction(old, new)))
    _check_memory(input, [new for _, new, _ in made])
    return made


def _numbers(name: str, wanted: Any, count: int) -> list:
    """Return ints for size, positive finite numbers for scale_factor, one for each dim."""
    convert, kind = (operator.index, "ints") if name == "size" else (_as_float, "numbers")
    try:
        listed = [wanted] * count if hasattr(wanted, "__float__") else list(wanted)
        values = [convert(value) for value in listed if not isinstance(value, bool)]
    except (TypeError, OverflowError):
        values = []
    if len(values) != count:
        raise _C.ValueError(
            f"interpolate: {name} needs one number or {count}, {kind} all, got {wanted!r}"
        )
    if name == "scale_factor" and not all(math.isfinite(value) and value > 0 for value in values):
        raise _C.ValueError(
            f"interpolate: scale_factor needs finite numbers above 0, got {wanted!r}"
        )
    return values


def _as_float(value: Any) -> float:
    return math.ldexp(value, 0)  # float() would read texts


def _check_memory(input: Tensor, sizes: list[int]) -> None:
    """Refuse an output that memory cannot hold, before anything is computed for it."""
    shape = [*input.shape[:2], *sizes]
    places = 32 * max(sizes)  # bytes, at most, to say which elements of the input are taken
    try:
        _C.empty((math.prod(shape) * input.dtype.itemsize + places,), dtype=_C.uint8)
    except _C.Error:
        raise _C.OutOfMemoryError(
            f"interpolate: needs memory for an output of shape {shape}, got too little"
            "\nhint: look at size and scale_factor"
        ) from None


def _nearest(old: int, new: int, scale: float | Fraction, is_exact: bool) -> Tensor:
    """Return the place of the input that each place of the output shows."""
    if isinstance(scale, float):
        places = (_C.arange(new, dtype=_C.float64) + (0.5 if is_exact else 0.0)) * scale
        return places.floor().to(_C.int64).clamp(max=old - 1)
    steps = _C.arange(new) * 2 + 1 if is_exact else _C.arange(new)
    return _C.floor_divide(steps * old, 2 * new if is_exact else new)


def _linear(input: Tensor, dim: int, old: int, places: Tensor) -> Tensor:
    """Return the input at places between its elements."""
    low = places.floor().clamp(max=old - 1)
    share = (places - low).clamp(max=1.0).to(input.dtype)
    share = share.reshape((len(places), *[1] * (input.ndim - 1 - dim)))
    below = low.to(_C.int64)
    first = input.index_select(dim, below)
    return first * (1 - share) + input.index_select(dim, (below + 1).clamp(max=old - 1)) * share


def _interpolable(input: Tensor, mode: str) -> Tensor:
    """Return the input in a dtype that holds shares of its elements."""
    dtype = input.dtype
    if dtype.is_floating_point or dtype.is_complex:
        return input
    if dtype is not _C.uint8:
        raise _C.DTypeError(
            f"interpolate: mode {mode!r} needs a floating dtype or uint8, got {dtype}"
        )
    return input.float()


LINEAR_NDIM = {"linear": 3, "bilinear": 4, "trilinear": 5}


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Return an image in another size.

    Args:
        input: [batch, channels, sizes...].
        size: The new sizes.
        scale_factor: Or what the sizes are multiplied with.
        mode: "nearest", "nearest-exact", or "linear", "bilinear", "trilinear" by the dims.
        align_corners: Whether the outermost elements keep their places; for linear modes.
            They round the mean of uint8 numbers, and refuse other integers.
        recompute_scale_factor: Whether samples lie as if size had been given.
    """
    is_linear = mode in LINEAR_NDIM
    if mode not in ("nearest", "nearest-exact", *LINEAR_NDIM):
        raise _C.NotImplementedError(
            "interpolate: needs mode nearest, nearest-exact, linear, bilinear or trilinear, got "
            f"{mode!r}"
        )
    if align_corners is not None and not is_linear:
        raise _C.ValueError(f"interpolate: align_corners is for linear modes, got mode {mode!r}")
    if not 3 <= input.ndim <= 5 or (is_linear and input.ndim != LINEAR_NDIM[mode]):
        raise _C.ShapeError(
            f"interpolate: mode {mode!r} needs an input of {LINEAR_NDIM.get(mode, '3 to 5')} "
            f"dims, got shape {list(input.shape)}"
        )
    scales = _sizes_and_scales(input, size, scale_factor, bool(recompute_scale_factor))
    dtype = input.dtype
    if is_linear:
        input = _interpolable(input, mode)
    # Dims that shrink go first: what lies in between is never larger than input and output.
    for dim, (old, new, scale) in sorted(
        enumerate(scales, 2), key=lambda entry: entry[1][1] / entry[1][0]
    ):
        if not is_linear:
            input = input.index_select(dim, _nearest(old, new, scale, mode == "nearest-exact"))
            continue
        places = _C.arange(new, dtype=_C.float64)
        if align_corners:
            places = places * ((old - 1) / (new - 1) if new > 1 else 0.0)
        else:
            places = ((places + 0.5) * float(scale) - 0.5).clamp(min=0.0)
        input = _linear(input, dim, old, places)
    return input if input.dtype is dtype else input.round().to(dtype)
