# python/ebb/masked.py -- ebb.masked: reductions and scans over the elements that a mask keeps.
#
# Each function puts the number that changes nothing (0 for sums, -inf for maxima) in the place of
# what the mask hides and calls ebb's function; masked elements get the gradient 0. `mask` has the
# input's shape, or broadcasts to it; True keeps. Start reading at _kept().
"""Functions of what a mask keeps, under the names of ``torch.masked``.

Example:
    >>> ebb.masked.mean(ebb.tensor([1.0, 2.0, 9.0]), mask=ebb.tensor([True, True, False]))
    tensor(1.5000)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ParamSpec

import ebb
from ebb._base import naming as _naming
from ebb._base.signature import takes
from ebb._C import DTypeError as _DTypeError, Tensor, ValueError as _ValueError

if TYPE_CHECKING:
    from collections.abc import Callable

_P = ParamSpec("_P")

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]


# --- what stands in the place of hidden elements ---


def _kept(input: Tensor, mask: Tensor | None, instead: float, dtype=None) -> Tensor:
    """Return the input in ``dtype``, with ``instead`` for what the mask hides."""
    if dtype is not None:
        input = input.to(dtype)
    return input if mask is None else ebb.where(_spread(input, mask), input, instead)


def _spread(input: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return ebb.ones(input.shape, dtype=ebb.bool, device=input.device)
    return ebb.broadcast_to(mask.to(ebb.bool), input.shape)


def _lowest(dtype) -> float:
    if dtype.is_floating_point:
        return -math.inf
    return False if dtype == ebb.bool else ebb.iinfo(dtype).min


def _highest(dtype) -> float:
    if dtype.is_floating_point:
        return math.inf
    return True if dtype == ebb.bool else ebb.iinfo(dtype).max


def _continuous(input: Tensor, dtype):
    """Return the dtype to compute in, the default one for integers."""
    computed = input.dtype if dtype is None else dtype
    is_continuous = computed.is_floating_point or computed.is_complex
    return computed if is_continuous else ebb.get_default_dtype()


def _dims(input: Tensor, dim) -> list[int]:
    """Return the dims that a reduction runs over; None and () mean all."""
    if dim is None or dim == ():
        return list(range(input.ndim))
    dims = [dim] if isinstance(dim, int) else list(dim)
    return [one + input.ndim if one < 0 else one for one in dims]


# --- what functions of one signature share ---


def _reduction(
    input: Any, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Any = None
) -> tuple[Any, ...]:
    return input, dim, keepdim, dtype, mask


def _variance(
    input: Any,
    dim: Any = None,
    unbiased: Any = None,
    *,
    correction: Any = None,
    keepdim: Any = False,
    dtype: Any = None,
    mask: Any = None,
) -> tuple[Any, ...]:
    if unbiased is not None and correction is not None:
        raise _ValueError("takes unbiased or correction, got both")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    return input, dim, correction, keepdim, dtype, mask


def _along(input: Any, dim: Any, *, dtype: Any = None, mask: Any = None) -> tuple[Any, ...]:
    return input, dim, dtype, mask


def _takes(
    arguments: Callable[_P, tuple[Any, ...]], shows: str, call: str = "1"
) -> Callable[[Callable[..., Tensor]], Callable[_P, Tensor]]:
    """Give a function the signature of ``arguments``, and an example that prints ``shows``."""

    def decorate(compute: Callable[..., Tensor]) -> Callable[_P, Tensor]:
        compute.__doc__ = f"""{compute.__doc__}

    Example:
        >>> mask = ebb.tensor([[True, False, True]])
        >>> ebb.masked.{compute.__name__}(ebb.tensor([[1.0, 2.0, 4.0]]), {call}, mask=mask)
        {shows}
    """
        return takes(arguments)(compute)

    return decorate


# --- reductions ---


@_takes(_reduction, "tensor([5.])")
def sum(input, dim, keepdim, dtype, mask) -> Tensor:
    """Return the sum of the kept elements; of none, 0."""
    return ebb.sum(_kept(input, mask, 0, dtype), dim, keepdim, dtype=dtype)


@_takes(_reduction, "tensor([4.])")
def prod(input, dim, keepdim, dtype, mask) -> Tensor:
    """Return the product of the kept elements; of none, 1. ``dim`` may be several."""
    values = _kept(input, mask, 1, dtype)
    dims = _dims(input, dim)
    for one in sorted(dims, reverse=True):
        values = ebb.prod(values, one, keepdim, dtype=dtype)
    return values if dims else ebb.prod(values, dtype=dtype)


@_takes(_reduction, "tensor([4.])")
def amax(input, dim, keepdim, dtype, mask) -> Tensor:
    """Return the largest kept element; of none, the lowest number of the dtype."""
    return ebb.amax(_kept(input, mask, _lowest(dtype or input.dtype), dtype), dim, keepdim)


@_takes(_reduction, "tensor([1.])")
def amin(input, dim, keepdim, dtype, mask) -> Tensor:
    """Return the smallest kept element; of none, the highest number of the dtype."""
    return ebb.amin(_kept(input, mask, _highest(dtype or input.dtype), dtype), dim, keepdim)


@_takes(_reduction, "tensor([2])")
def argmax(input, dim, keepdim, dtype, mask) -> Tensor:
    """Return the place of the largest kept element."""
    return ebb.argmax(_kept(input, mask, _lowest(dtype or input.dtype), dtype), dim, keepdim)


@_takes(_reduction, "tensor([0])")
def argmin(input, dim, keepdim, dtype, mask) -> Tensor:
    """Return the place of the smallest kept element."""
    return ebb.argmin(_kept(input, mask, _highest(dtype or input.dtype), dtype), dim, keepdim)


@_takes(_reduction, "tensor([4.0486])")
def logsumexp(input, dim, keepdim, dtype, mask) -> Tensor:
    """Return the logarithm of the sum of the exponentials of the kept elements; of none, -inf."""
    values = _kept(input, mask, -math.inf, _continuous(input, dtype))
    return ebb.logsumexp(values, _dims(input, dim), keepdim)


def norm(
    input: Any,
    ord: Any = 2.0,
    dim: Any = None,
    *,
    keepdim: Any = False,
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """Return the norm of the kept elements as a vector, as ``ebb.linalg.vector_norm``.

    Example:
        >>> mask = ebb.tensor([[True, False, True]])
        >>> ebb.masked.norm(ebb.tensor([[3.0, 2.0, 4.0]]), 2.0, 1, mask=mask)
        tensor([5.])
    """
    instead = math.inf if ord is not None and ord < 0 else 0
    values = _kept(input, mask, instead, _continuous(input, dtype))
    return ebb.linalg.vector_norm(values, 2 if ord is None else ord, dim, keepdim)


@_takes(_reduction, "tensor([2.5000])")
def mean(input, dim, keepdim, dtype, mask) -> Tensor:
    """Return the mean of the kept elements; of none, NaN."""
    _check_continuous("mean", input, dtype)
    count = ebb.sum(_spread(input, mask), dim, keepdim)
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / count


def median(
    input: Any, dim: Any = -1, *, keepdim: Any = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Return the median of the kept elements along ``dim``, of two the lower; of none, NaN.

    Example:
        >>> mask = ebb.tensor([[True, False, True]])
        >>> ebb.masked.median(ebb.tensor([[1.0, 2.0, 4.0]]), 1, mask=mask)
        tensor([1.])
    """
    _check_continuous("median", input, dtype)
    return ebb.nanmedian(_kept(input, mask, math.nan, dtype), dim, keepdim)[0]


def _spread_of(input, dim, correction, keepdim, dtype, mask):
    values = input.to(_continuous(input, dtype))
    middle = mean(values, dim, keepdim=True, mask=mask)
    apart = _kept(values - middle, mask, 0)
    count = ebb.sum(_spread(input, mask), dim, keepdim)
    squares = ebb.square(ebb.abs(apart)) if apart.is_complex() else ebb.square(apart)
    if squares.dtype is ebb.float64:  # in which 1.3 has more digits than in the default dtype
        count = count.double()
    return ebb.sum(squares, dim, keepdim) / ebb.clamp(count - correction, 0)


@_takes(_variance, "tensor([4.5000])", "1, unbiased=True")
def var(input, dim, correction, keepdim, dtype, mask) -> Tensor:
    """Return the variance of the kept elements, whose number is lessened by ``correction``."""
    return _spread_of(input, dim, correction, keepdim, dtype, mask)


@_takes(_variance, "tensor([2.1213])", "1, unbiased=True")
def std(input, dim, correction, keepdim, dtype, mask) -> Tensor:
    """Return the square root of ``var``."""
    return ebb.sqrt(_spread_of(input, dim, correction, keepdim, dtype, mask))


def _check_continuous(name: str, input: Tensor, dtype) -> None:
    computed = input.dtype if dtype is None else dtype
    if _continuous(input, dtype) != computed:
        raise _DTypeError(f"{name}: needs a floating or complex dtype, got {computed}")


# --- of the input's shape ---


@_takes(_along, "tensor([[1., 1., 5.]])")
def cumsum(input, dim, dtype, mask) -> Tensor:
    """Return the running sum along ``dim``, in which hidden elements count 0."""
    return ebb.cumsum(_kept(input, mask, 0, dtype), dim, dtype=dtype)


@_takes(_along, "tensor([[1., 1., 4.]])")
def cumprod(input, dim, dtype, mask) -> Tensor:
    """Return the running product along ``dim``, in which hidden elements count 1."""
    return ebb.cumprod(_kept(input, mask, 1, dtype), dim, dtype=dtype)


@_takes(_along, "tensor([[0.0474, 0.0000, 0.9526]])")
def softmax(input, dim, dtype, mask) -> Tensor:
    """Return softmax along ``dim`` of the kept elements, 0 elsewhere; NaN where none is kept."""
    return ebb.softmax(_kept(input, mask, -math.inf, _continuous(input, dtype)), dim)


@_takes(_along, "tensor([[-3.0486,    -inf, -0.0486]])")
def log_softmax(input, dim, dtype, mask) -> Tensor:
    """Return the logarithm of ``softmax``."""
    return ebb.log_softmax(_kept(input, mask, -math.inf, _continuous(input, dtype)), dim)


@_takes(_along, "tensor([[0.9526, 0.0000, 0.0474]])")
def softmin(input, dim, dtype, mask) -> Tensor:
    """Return ``softmax`` of the negated elements."""
    return ebb.softmax(-_kept(input, mask, math.inf, _continuous(input, dtype)), dim)


def normalize(
    input: Any, ord: Any, dim: Any, *, eps: Any = 1e-12, dtype: Any = None, mask: Any = None
) -> Tensor:
    """Return the kept elements over their norm along ``dim``, or over ``eps`` if that is more.

    Example:
        >>> mask = ebb.tensor([[True, False, True]])
        >>> ebb.masked.normalize(ebb.tensor([[3.0, 2.0, 4.0]]), 2.0, 1, mask=mask)
        tensor([[0.6000, 0.0000, 0.8000]])
    """
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _kept(input, mask, 0, dtype) / ebb.clamp(size, eps)


def logaddexp(
    input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None
) -> Tensor:
    """Return log(exp(input) + exp(other)) of what either mask keeps; of none, -inf.

    Example:
        >>> ebb.masked.logaddexp(ebb.zeros(2), ebb.zeros(2), input_mask=ebb.tensor([True, False]))
        tensor([0.6931, 0.0000])
    """
    left = _kept(input, input_mask, -math.inf, dtype)
    return ebb.logaddexp(left, _kept(other, other_mask, -math.inf, dtype))


_naming.name_module(__name__)


def is_masked_tensor(obj: Any) -> bool:
    """Return False: a tensor and its mask are two values.

    Example:
        >>> ebb.masked.is_masked_tensor(ebb.ones(2))
        False
    """
    del obj
    return False
