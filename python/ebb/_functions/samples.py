# python/ebb/_functions/samples.py -- functions of sampled data: histograms, slopes between samples,
# runs of elements, and their bits.
"""``histogram``, ``histogramdd``, ``gradient``, ``segment_reduce`` and ``hash_tensor``."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import ebb
from ebb import _C
from ebb._C import (
    DTypeError as _DTypeError,
    ShapeError as _ShapeError,
    Tensor,
    ValueError as _ValueError,
    _copied_out,
)
from ebb._functions.checks import is_followed


class Histogram(NamedTuple):
    """What ``histogram`` returns."""

    hist: Tensor
    bin_edges: Tensor


class HistogramDD(NamedTuple):
    """What ``histogramdd`` returns."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


def _checked_samples(op: str, input: Tensor, weight: Tensor | None, shape: Sequence[int]) -> None:
    if not isinstance(input, Tensor):
        raise _DTypeError(f"{op}(): argument 'input' must be Tensor, got {type(input).__name__}")
    if not input.is_floating_point():
        raise _DTypeError(f"{op}: input must have a real floating dtype, got {input.dtype}")
    if weight is None:
        return
    if not isinstance(weight, Tensor):
        raise _DTypeError(f"{op}(): argument 'weight' must be Tensor, got {type(weight).__name__}")
    if weight.dtype != input.dtype:
        raise _DTypeError(
            f"{op}: weight must have the dtype of input, got {weight.dtype} and {input.dtype}"
        )
    if tuple(weight.shape) != tuple(shape):
        raise _ShapeError(
            f"{op}: weight needs shape {list(shape)}, one for each sample, got {list(weight.shape)}"
        )


def _given_edges(op: str, edges: Tensor, input: Tensor) -> Tensor:
    if edges.dtype != input.dtype:
        raise _DTypeError(
            f"{op}: bins must have the dtype of input, got {edges.dtype} and {input.dtype}"
        )
    if edges.ndim != 1 or edges.numel() < 2:
        raise _ShapeError(f"{op}: bins needs 1 dim of at least 2 edges, got {list(edges.shape)}")
    if not (edges[1:] >= edges[:-1]).all():
        raise _ValueError(f"{op}: bins must be edges in order, got {edges.tolist()[:8]}")
    return edges.detach()


def _even_edges(op: str, bins: Any, column: Tensor, ends: Sequence[float] | None) -> Tensor:
    """Return the ends of ``bins`` bins of one width, over the samples if no ends are given."""
    if not isinstance(bins, int) or isinstance(bins, bool):
        raise _DTypeError(f"{op}: bins must be int or Tensor, got {type(bins).__name__}")
    if bins < 1:
        raise _ValueError(f"{op}: bins must be at least 1, got {bins}")
    if ends is not None:
        low, high = (float(one) for one in ends)
    elif column.numel() == 0:
        low, high = 0.0, 1.0
    else:
        low, high = column.min().item(), column.max().item()
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        shown = "samples" if ends is None else "range"
        raise _ValueError(f"{op}: {shown} must be finite and in order, got from {low} to {high}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return ebb.linspace(low, high, bins + 1, dtype=column.dtype, device=column.device)


def _of_samples(op: str, input: Tensor, found: Tensor) -> Tensor:
    """Return ``found``, whose derivative to the samples is refused."""
    return _C._ops.without_derivative(input, found, op) if is_followed(input) else found


def _places(column: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
    """Return the bin of each sample, the last edge in the last bin, and whether it has any."""
    found = ebb.searchsorted(edges, column.contiguous(), right=True) - 1
    is_inside = (column >= edges[0]) & (column <= edges[-1])
    return found.clamp(0, edges.numel() - 2), is_inside


def _counted(samples: Tensor, edges: list[Tensor], weight: Tensor | None, density: bool) -> Tensor:
    """Return how many rows of ``samples`` are in each box between ``edges``."""
    shape = [one.numel() - 1 for one in edges]
    index = ebb.zeros(samples.shape[0], dtype=ebb.int64, device=samples.device)
    is_inside = ebb.ones(samples.shape[0], dtype=ebb.bool, device=samples.device)
    for column, ends, size in zip(samples.unbind(1), edges, shape, strict=True):
        place, is_here = _places(column, ends)
        index, is_inside = index * size + place, is_inside & is_here
    wide = ebb.float64  # so that counts of half types do not stop at 2048
    chosen = ebb.ones_like(index, dtype=wide) if weight is None else weight.reshape(-1).to(wide)
    found = ebb.zeros(math.prod(shape), dtype=wide, device=samples.device)
    found = found.index_add(0, index, ebb.where(is_inside, chosen, 0.0)).reshape(shape)
    if density:
        found = found / found.sum()
        for dim, ends in enumerate(edges):
            widths = (ends[1:] - ends[:-1]).to(wide)
            found = found / widths.reshape([-1 if one == dim else 1 for one in range(len(shape))])
    return found.to(samples.dtype)


def histogram(
    input: Tensor,
    bins: int | Tensor = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Sequence[Tensor] | None = None,
) -> Histogram:
    """Return how many elements of ``input`` are in each bin: (hist, bin_edges).

    A bin holds its left edge, the last one its right edge too; elements outside of all, and NaN,
    count nowhere. The result has the dtype of ``input``, and a derivative to ``weight`` alone.

    Args:
        input: Of a real floating dtype and any shape.
        bins: How many bins of one width there are, or a tensor of their edges in order.
        range: Where the first bin begins and the last one ends, with a number of bins; if not
            given, the smallest and the largest element.
        weight: What each element counts, in the shape and dtype of ``input``.
        density: Divide by the sum of all and the width of each bin.
        out: Two tensors to write the results to.

    Raises:
        DTypeError: For other dtypes.
        ShapeError: If ``weight``, the edges or ``out`` have another shape.
        ValueError: If there are no bins, or edges or the range are not finite and in order.

    Example:
        >>> ebb.histogram(ebb.tensor([1.0, 2.0, 1.0]), 2, range=(0.0, 3.0)).hist
        tensor([2., 1.])
    """
    op = "histogram"
    _checked_samples(op, input, weight, getattr(input, "shape", ()))
    if range is not None and (isinstance(bins, Tensor) or len(range) != 2):
        raise _ValueError(f"{op}: range needs two numbers and a number of bins, got {range}")
    column = input.detach().reshape(-1)
    is_given = isinstance(bins, Tensor)
    edges = _given_edges(op, bins, input) if is_given else _even_edges(op, bins, column, range)
    counts = _counted(column.unsqueeze(1), [edges], weight, density)
    found = Histogram(*(_of_samples(op, input, one) for one in (counts, edges)))
    if out is None:
        return found
    return Histogram(*(_copied_out(op, *pair) for pair in zip(found, out, strict=True)))


def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> HistogramDD:
    """Return how many points are in each box of a grid: (hist, one tensor of edges per dim).

    Args:
        input: Points of a real floating dtype: the last dim holds the numbers of each.
        bins: How many bins each dim of the points has, one number for all or one each, or a tensor
            of edges for each.
        range: The first and the last edge of each dim in turn, with numbers of bins.
        weight: What each point counts: the shape of ``input`` without its last dim.
        density: Divide by the sum of all and the volume of each box.

    Raises:
        DTypeError: For other dtypes.
        ShapeError: If there are no points, or ``weight`` or edges have another shape.
        ValueError: If ``bins`` or ``range`` do not fit the points, or are not in order.

    Example:
        >>> ebb.histogramdd(ebb.tensor([[0.0, 0.0], [1.0, 1.0]]), [2, 2]).hist
        tensor([[1., 0.],
                [0., 1.]])
    """
    op = "histogramdd"
    _checked_samples(op, input, weight, getattr(input, "shape", ())[:-1])
    if input.ndim < 2 or input.shape[-1] < 1:
        raise _ShapeError(
            f"{op}: input needs at least 2 dims, the last one not empty, got {list(input.shape)}"
        )
    dims = input.shape[-1]
    each = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(each) != dims:
        raise _ValueError(f"{op}: bins needs one entry for each of {dims} dims, got {len(each)}")
    has_edges = any(isinstance(one, Tensor) for one in each)
    if range is not None and (has_edges or len(range) != 2 * dims):
        raise _ValueError(f"{op}: range needs {2 * dims} numbers and numbers of bins, got {range}")
    points = input.detach().reshape(math.prod(input.shape[:-1]), dims)
    edges = []
    for dim, one in enumerate(each):
        ends = None if range is None else range[2 * dim : 2 * dim + 2]
        is_given = isinstance(one, Tensor)
        column = points[:, dim]
        edges.append(
            _given_edges(op, one, input) if is_given else _even_edges(op, one, column, ends)
        )
    counts = _counted(points, edges, weight, density)
    shown = tuple(_of_samples(op, input, one) for one in edges)
    return HistogramDD(_of_samples(op, input, counts), shown)


def _dims_of(input: Tensor, dim: int | Sequence[int] | None) -> list[int]:
    given = (
        list(builtins.range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else dim
    )
    dims = []
    for one in given:
        if not -input.ndim <= one < input.ndim:
            raise ebb.errors.IndexError(
                f"gradient: dim {one} is out of range for shape {list(input.shape)}"
            )
        dims.append(one % input.ndim)
    if len(set(dims)) != len(dims):
        raise _ValueError(f"gradient: dim must name each dim once, got {list(given)}")
    return dims


def _spacings(
    spacing: float | Sequence[float] | Sequence[Tensor], input: Tensor, dims: list[int]
) -> list[float | Tensor]:
    """Return for each dim the step between samples, or a tensor of where they are."""
    is_number = isinstance(spacing, int | float | complex)
    each = [spacing] * len(dims) if is_number else list(spacing)
    if len(each) != len(dims):
        raise _ValueError(
            f"gradient: spacing needs one entry for each of {len(dims)} dims, got {len(each)}"
        )
    for place, dim in zip(each, dims, strict=True):
        if not isinstance(place, Tensor) or place.ndim == 0:
            continue
        if place.ndim != 1 or place.numel() != input.shape[dim]:
            raise _ShapeError(
                f"gradient: spacing needs {input.shape[dim]} coordinates for dim {dim}, got shape "
                f"{list(place.shape)}"
            )
    return each


def _slope_between(f: Tensor, x: Tensor, dim: int, edge_order: int) -> Tensor:
    """Return slopes along ``dim`` of samples at coordinates ``x``."""
    size = f.shape[dim]
    shape = [-1 if one == dim else 1 for one in builtins.range(f.ndim)]
    steps = (x[1:] - x[:-1]).reshape(shape)
    rise = (f.narrow(dim, 1, size - 1) - f.narrow(dim, 0, size - 1)) / steps
    if size == 2:
        return ebb.cat([rise, rise], dim)
    before, after = steps.narrow(dim, 0, size - 2), steps.narrow(dim, 1, size - 2)
    left, right = rise.narrow(dim, 0, size - 2), rise.narrow(dim, 1, size - 2)
    inner = (left * after + right * before) / (before + after)
    if edge_order == 1:
        return ebb.cat([rise.narrow(dim, 0, 1), inner, rise.narrow(dim, size - 2, 1)], dim)
    # A parabola through three samples: its slope is linear, and known at two points.
    first = 2 * rise.narrow(dim, 0, 1) - inner.narrow(dim, 0, 1)
    last = 2 * rise.narrow(dim, size - 2, 1) - inner.narrow(dim, size - 3, 1)
    return ebb.cat([first, inner, last], dim)


def _even_slope(f: Tensor, step: Any, dim: int, edge_order: int) -> Tensor:
    """Return slopes along ``dim`` of samples that are ``step`` apart."""
    size = f.shape[dim]
    rise = f.narrow(dim, 1, size - 1) - f.narrow(dim, 0, size - 1)
    first, last = rise.narrow(dim, 0, 1), rise.narrow(dim, size - 2, 1)
    if size == 2:
        return ebb.cat([first, last], dim) / step
    inner = (f.narrow(dim, 2, size - 2) - f.narrow(dim, 0, size - 2)) / 2
    if edge_order == 2:
        first = 2 * first - inner.narrow(dim, 0, 1)
        last = 2 * last - inner.narrow(dim, size - 3, 1)
    return ebb.cat([first, inner, last], dim) / step


def gradient(
    input: Tensor,
    *,
    spacing: float | Sequence[float] | Sequence[Tensor] | None = None,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """Return the slopes of a sampled function along each of its dims.

    Inside by central differences, of second order also between coordinates of any spacing; at the
    ends by the two or, for ``edge_order`` 2, the three outermost samples. Every result has the
    shape of ``input``, and gradients reach ``input`` and coordinates. Integers are sampled in the
    default dtype.

    Args:
        input: The samples; at least ``edge_order`` + 1 along each dim.
        spacing: How far samples are apart, one number for all dims or one each, or for each dim a
            tensor of the coordinates of its samples; None stands for 1.
        dim: One or several dims; all if not given.
        edge_order: 1 or 2.

    Raises:
        DTypeError: If ``input`` is no tensor of numbers.
        ShapeError: If a dim has too few samples, or coordinates have another size.
        ValueError: If ``spacing`` and dims differ in number, or for another ``edge_order``.

    Example:
        >>> ebb.gradient(ebb.tensor([1.0, 4.0, 9.0, 16.0]))
        (tensor([3., 4., 6., 7.]),)
    """
    if not isinstance(input, Tensor):
        raise _DTypeError(
            f"gradient(): argument 'input' must be Tensor, got {type(input).__name__}"
        )
    if input.dtype == ebb.bool:
        raise _DTypeError(f"gradient: input must be a tensor of numbers, got {input.dtype}")
    if edge_order not in (1, 2):
        raise _ValueError(f"gradient: edge_order must be 1 or 2, got {edge_order}")
    dims = _dims_of(input, dim)
    for one in dims:
        if input.shape[one] <= edge_order:
            raise _ShapeError(
                f"gradient: dim {one} needs at least {edge_order + 1} samples, got shape "
                f"{list(input.shape)}"
            )
    is_inexact = input.is_floating_point() or input.is_complex()
    samples = input if is_inexact else input.to(ebb.get_default_dtype())
    found = []
    steps = _spacings(1 if spacing is None else spacing, input, dims)
    for one, step in zip(dims, steps, strict=True):
        is_uneven = isinstance(step, Tensor) and step.ndim == 1
        slope = _slope_between if is_uneven else _even_slope
        found.append(slope(samples, step, one, edge_order))
    return tuple(found)


Tensor.histogram = histogram


# What each reduction is called by scatter_reduce(), and what it starts with.
_REDUCTIONS = {
    "sum": ("sum", 0.0),
    "mean": ("sum", 0.0),
    "prod": ("prod", 1.0),
    "max": ("amax", -math.inf),
    "min": ("amin", math.inf),
}


def _checked_segments(data: Tensor, reduce: str, axis: int) -> int:
    """Return the axis counted from the front."""
    if not isinstance(data, Tensor) or not data.is_floating_point():
        got = data.dtype if isinstance(data, Tensor) else type(data).__name__
        raise _DTypeError(f"segment_reduce: data must be a Tensor of a floating dtype, got {got}")
    if reduce not in _REDUCTIONS:
        raise _ValueError(
            f"segment_reduce: reduce must be sum, mean, max, min or prod, got {reduce!r}"
        )
    if not -data.ndim <= axis < data.ndim:
        raise ebb.errors.IndexError(
            f"segment_reduce: axis {axis} is out of range for shape {list(data.shape)}"
        )
    return axis % data.ndim


def _ends_of(data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int) -> Tensor:
    """Return where segments begin and end: a row of numbers for each slice before ``axis``."""
    if (lengths is None) == (offsets is None):
        raise _ValueError("segment_reduce: needs lengths or offsets, got both or neither")
    given = lengths if offsets is None else offsets
    name = "lengths" if offsets is None else "offsets"
    if not isinstance(given, Tensor) or given.dtype not in (ebb.int64, ebb.int32):
        got = given.dtype if isinstance(given, Tensor) else type(given).__name__
        raise _DTypeError(f"segment_reduce: {name} must be a Tensor of int64 or int32, got {got}")
    if given.ndim != axis + 1 or given.shape[:-1] != data.shape[:axis]:
        raise _ShapeError(
            f"segment_reduce: {name} needs the shape of data before axis {axis} and one more dim, "
            f"got {list(given.shape)} and {list(data.shape)}"
        )
    if offsets is not None:
        return offsets.to(ebb.int64)
    return ebb.constant_pad_nd(lengths.to(ebb.int64).cumsum(-1), (1, 0))


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Return the sum, mean, max, min or prod of each of the runs that a dim is cut into.

    Args:
        data: Of a real floating dtype.
        reduce: "sum", "mean", "max", "min" or "prod".
        lengths: How long each run is; they add up to the size of ``axis``. Of an axis behind
            others, one row for each slice before it.
        indices: None: runs are told by ``lengths`` or ``offsets`` alone.
        offsets: Instead of lengths, where each run begins, and at the end the size of ``axis``.
        axis: The dim.
        unsafe: Your word that runs cover the dim: it is not checked.
        initial: What each run starts with; unless given, 0 for sums, 1 for products, the infinities
            for max and min, and NaN for means of nothing.

    Raises:
        DTypeError: For other dtypes.
        ShapeError: If ``lengths`` or ``offsets`` do not go with ``data``.
        ValueError: If runs do not cover the dim, or for another ``reduce``.

    Example:
        >>> ebb.segment_reduce(ebb.tensor([1.0, 2.0, 3.0]), "sum", lengths=ebb.tensor([1, 2]))
        tensor([1., 5.])
    """
    if indices is not None:
        raise ebb.errors.NotImplementedError(
            "segment_reduce: needs indices None\n"
            "hint: index_reduce() takes the number of each element's segment"
        )
    axis = _checked_segments(data, reduce, axis)
    if reduce == "mean" and data.dtype in (ebb.float16, ebb.bfloat16):
        # A half type holds neither the sum nor the count of a long run.
        options = {"lengths": lengths, "offsets": offsets, "unsafe": unsafe, "initial": initial}
        return segment_reduce(data.float(), reduce, axis=axis, **options).to(data.dtype)
    ends = _ends_of(data, lengths, offsets, axis)
    size, count = data.shape[axis], ends.shape[-1] - 1
    steps = ends[..., 1:] - ends[..., :-1]
    if not unsafe and not ((ends[..., 0] == 0) & (ends[..., -1] == size)).all():
        raise _ValueError(f"segment_reduce: segments must cover all {size} places of dim {axis}")
    if not unsafe and not (steps >= 0).all():
        raise _ValueError("segment_reduce: no segment may have a negative length")
    # The number of each place's segment; what lies behind the last goes to one that is cut off.
    places = ebb.arange(size, device=data.device).expand(*ends.shape[:-1], size)
    index = ebb.searchsorted(ends[..., 1:].contiguous(), places.contiguous(), right=True)
    index = index.reshape(*index.shape, *[1] * (data.ndim - axis - 1)).expand(data.shape)
    name, start = _REDUCTIONS[reduce]
    shape = [*data.shape[:axis], count + 1, *data.shape[axis + 1 :]]
    own = ebb.full(shape, start if initial is None else initial, dtype=data.dtype).to(data.device)
    found = own.scatter_reduce(axis, index, data, name).narrow(axis, 0, count)
    if reduce != "mean":
        return found
    sizes = steps.reshape(*steps.shape, *[1] * (data.ndim - axis - 1))
    nothing = math.nan if initial is None else initial
    return ebb.where(sizes > 0, found / sizes.clamp(1), nothing)


def hash_tensor(
    input: Tensor,
    dim: int | Sequence[int] = (),
    *,
    keepdim: bool = False,
    mode: int = 0,
    out: Tensor | None = None,
) -> Tensor:
    """Return the exclusive or of all elements' bits over ``dim``, or over all, as uint64.

    Floating numbers count as float64, others as int64.

    Args:
        mode: 0.

    Example:
        >>> ebb.hash_tensor(ebb.tensor([1, 2, 7])).item()
        4
    """
    if mode != 0:
        raise _ValueError(f"hash_tensor: mode must be 0, got {mode}")
    if not isinstance(input, Tensor) or input.is_complex():
        got = input.dtype if isinstance(input, Tensor) else type(input).__name__
        raise _DTypeError(f"hash_tensor: input must be a Tensor of real numbers, got {got}")
    given = [dim] if isinstance(dim, int) else list(dim)
    if input.ndim == 0:
        input, keepdim = input.reshape(1), False
    dims = sorted({one % input.ndim for one in given}) or list(range(input.ndim))
    kept = [one for one in range(input.ndim) if one not in dims]
    bits = input.detach()
    bits = bits.to(ebb.float64).view(ebb.int64) if bits.is_floating_point() else bits.to(ebb.int64)
    shape = [input.shape[one] for one in kept]
    bits = bits.permute(*kept, *dims).reshape(*shape, math.prod(input.shape[one] for one in dims))
    while bits.shape[-1] > 1:  # the second half onto the first
        half = (bits.shape[-1] + 1) // 2
        rest = ebb.constant_pad_nd(bits[..., half:], (0, 2 * half - bits.shape[-1]))
        bits = bits[..., :half] ^ rest
    found = bits.sum(-1).view(ebb.uint64)
    if keepdim:
        found = found.reshape([1 if one in dims else input.shape[one] for one in range(input.ndim)])
    return found if out is None else _copied_out("hash_tensor", found, out)


Tensor.hash_tensor = hash_tensor
