# python/ebb/_functions/segments.py -- runs of elements made one: segment_reduce, and hash_tensor.
"""``segment_reduce`` and ``hash_tensor``, under PyTorch's names."""

from __future__ import annotations

import math
from collections.abc import Sequence

import ebb
from ebb._C import (
    DTypeError as _DTypeError,
    ShapeError as _ShapeError,
    Tensor,
    ValueError as _ValueError,
    _copied_out,
)

# What each reduction is called by scatter_reduce(), and what it starts with.
_REDUCTIONS = {
    "sum": ("sum", 0.0),
    "mean": ("sum", 0.0),
    "prod": ("prod", 1.0),
    "max": ("amax", -math.inf),
    "min": ("amin", math.inf),
}


def _checked(data: Tensor, reduce: str, axis: int) -> int:
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
    return ebb.nn.functional.pad(lengths.to(ebb.int64).cumsum(-1), (1, 0))


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
        indices: Not there: must be None.
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
    axis = _checked(data, reduce, axis)
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
    dims = sorted({one % max(input.ndim, 1) for one in given}) or list(range(input.ndim))
    kept = [one for one in range(input.ndim) if one not in dims]
    bits = input.detach()
    bits = bits.to(ebb.float64).view(ebb.int64) if bits.is_floating_point() else bits.to(ebb.int64)
    shape = [input.shape[one] for one in kept]
    bits = bits.permute(*kept, *dims).reshape(*shape, math.prod(input.shape[one] for one in dims))
    while bits.shape[-1] > 1:  # the second half onto the first
        half = (bits.shape[-1] + 1) // 2
        rest = ebb.nn.functional.pad(bits[..., half:], (0, 2 * half - bits.shape[-1]))
        bits = bits[..., :half] ^ rest
    found = bits.sum(-1).view(ebb.uint64)
    if keepdim:
        found = found.reshape([1 if one in dims else input.shape[one] for one in range(input.ndim)])
    return found if out is None else _copied_out("hash_tensor", found, out)


Tensor.hash_tensor = hash_tensor
