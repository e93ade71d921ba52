# python/ebb/nn/functional/resize.py -- windows as columns, and images in other sizes; part of
# ebb.nn.functional.
"""Functions that read an image at computed places."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ebb import _C
from ebb._C import Tensor, _ops
from ebb.nn.functional.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = [
    "affine_grid",
    "channel_shuffle",
    "fold",
    "grid_sample",
    "interpolate",
    "pixel_shuffle",
    "pixel_unshuffle",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

affine_grid = _ops.affine_grid
channel_shuffle = _ops.channel_shuffle
fold = _ops.fold
grid_sample = _ops.grid_sample
pixel_shuffle = _ops.pixel_shuffle
pixel_unshuffle = _ops.pixel_unshuffle
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
    from fractions import Fraction  # with decimal: seldom needed

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


def _numbers(name: str, wanted: Any, count: int) -> list[Any]:
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
    share = (places - low).clamp(max=1.0).to(input.dtype).to(input.device)
    share = share.reshape((len(places), *[1] * (input.ndim - 1 - dim)))
    below = low.to(_C.int64).to(input.device)
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


def _linear_filter(distance: Tensor) -> Tensor:
    return (1 - distance.abs()).clamp(min=0)


def _cubic_filter(distance: Tensor, slope: float) -> Tensor:
    """Return the cubic kernel with so large a slope at a distance of 1."""
    x = distance.abs()
    near = ((slope + 2) * x - (slope + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * slope
    return _C.where(x <= 1, near, _C.where(x < 2, far, 0.0))


def _linear_taps(places: Tensor, old: int) -> tuple[Tensor, Tensor]:
    """Return two elements around each place and their weights, both [places, 2]."""
    low = places.clamp(min=0.0).floor().clamp(max=old - 1)
    share = (places.clamp(min=0.0) - low).clamp(max=1.0)
    taps = _C.stack([low, (low + 1).clamp(max=old - 1)], 1)
    return taps.to(_C.int64), _C.stack([1 - share, share], 1)


def _cubic_taps(places: Tensor, old: int) -> tuple[Tensor, Tensor]:
    """Return four elements around each place and their weights, both [places, 4]."""
    taps = places.floor().unsqueeze(1) + _C.arange(-1, 3)
    weights = _cubic_filter(places.unsqueeze(1) - taps, -0.75)
    return taps.clamp(0, old - 1).to(_C.int64), weights


def _smooth_taps(mode: str, old: int, new: int, scale: float) -> tuple[Tensor, Tensor]:
    """Return the elements under a filter as wide as the samples lie apart, and their weights."""
    width = max(scale, 1.0)
    support = (2.0 if mode == "bicubic" else 1.0) * width
    center = (_C.arange(new, dtype=_C.float64) + 0.5) * scale
    first = (center - support + 0.5).clamp(min=0).floor()
    count = (center + support + 0.5).clamp(max=old).floor() - first
    taps = first.unsqueeze(1) + _C.arange(int(count.max().item()))
    distance = (taps + 0.5 - center.unsqueeze(1)) / width
    weights = _cubic_filter(distance, -0.5) if mode == "bicubic" else _linear_filter(distance)
    weights = _C.where(taps < (first + count).unsqueeze(1), weights, 0.0)
    return taps.clamp(max=old - 1).to(_C.int64), weights / weights.sum(1, keepdim=True)


def _weighted(input: Tensor, dim: int, taps: Tensor, weights: Tensor) -> Tensor:
    """Return sums of elements along ``dim``, each with its weight."""
    sizes = (weights.shape[0], *[1] * (input.ndim - 1 - dim))
    taps = taps.to(input.device)
    weights = weights.to(input.dtype).to(input.device)
    total: Any = None
    for tap in range(taps.shape[1]):
        share = weights[:, tap].reshape(sizes)
        part = input.index_select(dim, taps[:, tap]) * share
        total = part if total is None else total + part
    return total


def _weighted_bytes(input: Tensor, dim: int, taps: Tensor, weights: Tensor) -> Tensor:
    """Return those sums of uint8 elements, rounded, computed in integers as PyTorch does.

    Weights have so many bits behind the point that the largest fits into 16 bits.
    """
    largest = weights.max().item()
    bits = next((n for n in range(22) if int(0.5 + largest * 2 ** (n + 1)) >= 2**15), 22)
    scaled = weights * 2**bits
    whole = (scaled.abs() + 0.5).floor().copysign(scaled).to(_C.int32)  # halves go away from 0
    total = _weighted(input.to(_C.int32), dim, taps, whole) + (1 << bits >> 1)
    return (total >> bits).clamp(0, 255).to(_C.uint8)


LINEAR_NDIM = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
AREA_POOLS = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}
MODES = ("nearest", "nearest-exact", "area", *LINEAR_NDIM)


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Return an image in another size.

    Args:
        input: [batch, channels, sizes...].
        size: The new sizes.
        scale_factor: Or what the sizes are multiplied with.
        mode: "nearest", "nearest-exact", "area" (means over parts), "bicubic", or "linear",
            "bilinear", "trilinear" by the dims.
        align_corners: Whether the outermost elements keep their places; for linear modes and
            "bicubic". They round means of uint8 numbers, of each dim in turn for images, and
            refuse other integers.
        recompute_scale_factor: Whether samples lie as if size had been given.
        antialias: Whether "bilinear" and "bicubic" count all elements between samples.

    Example:
        >>> ebb.nn.functional.interpolate(ebb.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    _check_mode(input, mode, align_corners, antialias)
    scales = _sizes_and_scales(input, size, scale_factor, bool(recompute_scale_factor))
    if mode == "area":
        return AREA_POOLS[input.ndim](input, [new for _, new, _ in scales])
    dtype = input.dtype
    if dtype is _C.uint8 and mode in ("bilinear", "bicubic"):
        return _interpolate_bytes(input, scales, mode, bool(align_corners), antialias)
    if mode in LINEAR_NDIM:
        input = _interpolable(input, mode)
    if mode in LINEAR_NDIM and input.dtype in (_C.float16, _C.bfloat16):
        input = input.float()  # sums of products, of one dim after the other
    # Dims that shrink go first: what lies in between is never larger than input and output.
    for dim, (old, new, scale) in sorted(
        enumerate(scales, 2), key=lambda entry: entry[1][1] / entry[1][0]
    ):
        if mode not in LINEAR_NDIM:
            shown = _nearest(old, new, scale, mode == "nearest-exact")
            input = input.index_select(dim, shown.to(input.device))
            continue
        step, places = _step_and_places(old, new, scale, bool(align_corners))
        if antialias:
            input = _weighted(input, dim, *_smooth_taps(mode, old, new, step))
        elif mode == "bicubic":
            input = _weighted(input, dim, *_cubic_taps(places, old))
        else:
            input = _linear(input, dim, old, places.clamp(min=0.0))
    if input.dtype is dtype:
        return input
    if dtype.is_floating_point:
        return input.to(dtype)
    return input.round().clamp(0, 255).to(dtype)


def _step_and_places(
    old: int, new: int, scale: float | Fraction, align_corners: bool
) -> tuple[float, Tensor]:
    """Return how far apart the samples of linear modes are, and where they are in the input."""
    step = float(scale)
    if align_corners:
        step = (old - 1) / (new - 1) if new > 1 else 0.0
    places = _C.arange(new, dtype=_C.float64) * step
    return step, places if align_corners else places + (0.5 * step - 0.5)


def _interpolate_bytes(
    input: Tensor, scales: list[Any], mode: str, align_corners: bool, antialias: bool
) -> Tensor:
    """Return uint8 images in another size: widths first, rounded before heights follow.

    As in PyTorch, dims that keep their size keep their elements, whatever the factor.
    """
    made = input
    for dim in (3, 2):
        old, new, scale = scales[dim - 2]
        if new == old:
            continue
        step, places = _step_and_places(old, new, scale, align_corners)
        if antialias:
            taps, weights = _smooth_taps(mode, old, new, step)
        elif mode == "bicubic":
            taps, weights = _cubic_taps(places, old)
        else:
            taps, weights = _linear_taps(places, old)
        # What is beyond an edge counts with the edge, in one weight that is rounded once.
        first = taps[:, :1]
        weights = _C.zeros_like(weights).scatter_add(1, taps - first, weights)
        taps = (first + _C.arange(taps.shape[1])).clamp(max=old - 1)
        made = _weighted_bytes(made, dim, taps, weights)
    return made.clone() if made is input else made


def _check_mode(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    if mode not in MODES:
        raise _C.NotImplementedError(
            f"interpolate: needs mode {', '.join(MODES[:-1])} or {MODES[-1]}, got {mode!r}"
        )
    ndim = LINEAR_NDIM.get(mode)
    if align_corners is not None and ndim is None:
        raise _C.ValueError(f"interpolate: align_corners is for linear modes, got mode {mode!r}")
    if antialias and ndim != 4:
        raise _C.ValueError(
            f"interpolate: antialias is for modes 'bilinear' and 'bicubic', got mode {mode!r}"
        )
    if not 3 <= input.ndim <= 5 or (ndim is not None and input.ndim != ndim):
        raise _C.ShapeError(
            f"interpolate: mode {mode!r} needs an input of {ndim or '3 to 5'} "
            f"dims, got shape {list(input.shape)}"
        )


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Return an image in another size: interpolate() under its old name.

    Example:
        >>> ebb.nn.functional.upsample(ebb.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """Return an image in another size, each element repeated.

    Example:
        >>> ebb.nn.functional.upsample_nearest(ebb.ones(1, 1, 2, 2), scale_factor=2).shape
        ebb.Size([1, 1, 4, 4])
    """
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """Return an image in another size, linear between its elements; the corners stay.

    Example:
        >>> ebb.nn.functional.upsample_bilinear(ebb.ones(1, 1, 2, 2), scale_factor=2).shape
        ebb.Size([1, 1, 4, 4])
    """
    return interpolate(input, size, scale_factor, "bilinear", True)
