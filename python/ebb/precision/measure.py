# python/ebb/precision/measure.py -- how far apart two tensors are, in ulps of a narrow dtype.
"""``measure``: the difference of the same result in two precisions."""

from __future__ import annotations

import math
from typing import NamedTuple

from ebb import _C
from ebb._C import Tensor
from ebb._functions.dtypes import finfo


class Difference(NamedTuple):
    """See ``PrecisionRow``."""

    max_abs: float = 0.0
    max_rel: float = 0.0
    drift: float = 0.0
    overflowed: int = 0
    underflowed: int = 0


def is_measured(tensor: Tensor) -> bool:
    """Whether a tensor has numbers that roundings change."""
    is_number = tensor.dtype.is_floating_point or tensor.dtype.is_complex
    return is_number and tensor.numel() > 0 and not tensor.is_sparse


def is_same_kind(lhs: Tensor, rhs: Tensor) -> bool:
    """Whether two tensors can be compared."""
    return lhs.shape == rhs.shape and lhs.dtype.is_complex == rhs.dtype.is_complex


def _wide(tensor: Tensor) -> Tensor:
    here = tensor.detach().cpu()
    if here.dtype.is_complex:
        return _C.view_as_real(here.to(_C.complex128).resolve_conj())
    return here.to(_C.float64)


def measure(narrow: Tensor, wide: Tensor, dtype: _C.dtype) -> Difference:
    """Return how far ``narrow`` is from ``wide``."""
    got, wanted = _wide(narrow), _wide(wide)
    is_number = wanted.isfinite()
    is_kept = got.isfinite()
    overflowed = int((is_number & ~is_kept).sum().item())
    zero = wanted.new_zeros([])
    wanted = _C.where(is_number & is_kept, wanted, zero)
    error = (_C.where(is_number & is_kept, got, zero) - wanted).abs()
    size = wanted.abs()
    underflowed = int(((got == 0) & (size > 0) & (size < finfo(narrow.dtype).tiny)).sum().item())
    tiny, eps = finfo(dtype).tiny, finfo(dtype).eps
    drift = _rms(error) / (max(_rms(size), tiny) * eps)
    relative = _C.where(size > 0, error / size, zero).amax().item()
    largest = error.amax().item()
    return Difference(largest, relative, math.inf if overflowed else drift, overflowed, underflowed)


def _rms(values: Tensor) -> float:
    return math.sqrt((values * values).mean().item())
