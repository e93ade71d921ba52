# python/ebb/_functions/dtypes.py -- what dtypes give together, which casts there are, limits.
"""Promotion of dtypes, asked of the ops themselves; ``finfo`` and ``iinfo``."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb._C import Tensor

_OPERANDS = {"tensor", "other", "scalar", "scalar1", "scalar2", "tensor1", "tensor2"}


def _asked(name, value):
    """Return ``value`` if it is a dtype."""
    if not isinstance(value, _C.dtype):
        raise _C.DTypeError(f"{name}: needs a dtype, got {type(value).__name__}")
    return value


def promote_types(type1: Any, type2: Any) -> Any:
    """Return the dtype that tensors of two dtypes give together.

    Example:
        >>> ebb.promote_types(ebb.int32, ebb.float16)
        ebb.float16
    """
    parts = [_C.empty((0,), dtype=_asked("promote_types", one)) for one in (type1, type2)]
    return result_type(*parts)


def result_type(*args: Any, **kwargs: Any) -> Any:
    """Return the dtype that two operands give together; either may be a number.

    By name they are ``tensor`` and ``other``, ``scalar`` and ``tensor``, ``scalar1`` and
    ``scalar2``, or ``tensor1`` and ``tensor2``.

    Example:
        >>> ebb.result_type(ebb.ones(2, dtype=ebb.int32), 1.5)
        ebb.float32
    """
    unknown = sorted(kwargs.keys() - _OPERANDS)
    operands = [*args, *kwargs.values()]
    if unknown or len(operands) != 2:
        got = f"an unexpected keyword argument {unknown[0]!r}" if unknown else f"{len(operands)}"
        raise _C.DTypeError(f"result_type(): needs two tensors or numbers, got {got}")
    if not any(isinstance(one, Tensor) for one in operands):
        operands[0] = _C.full((), operands[0])
    small = [
        _C.zeros((0,) * bool(one.ndim), dtype=one.dtype) if isinstance(one, Tensor) else one
        for one in operands
    ]
    # Unlike sums, this takes every dtype.
    return _C.where(_C.empty((0,), dtype=_C.bool), *small).dtype


def can_cast(from_: Any, to: Any) -> bool:
    """Return whether ``to`` is of as high a kind as ``from_``: bool, integer, real, complex.

    Example:
        >>> ebb.can_cast(ebb.float32, ebb.int64)
        False
    """
    kinds = [
        3 if one.is_complex else 2 if one.is_floating_point else int(one is not _C.bool)
        for one in (_asked("can_cast", from_), _asked("can_cast", to))
    ]
    return kinds[0] <= kinds[1]


# Bits, exponent of the smallest normal number, of the largest, and of the step at 1.
_FLOATS = {
    "float16": (16, -14, 15, -10),
    "bfloat16": (16, -126, 127, -7),
    "float32": (32, -126, 127, -23),
    "float64": (64, -1022, 1023, -52),
    # Of programs for PyTorch, which ask their limits; no tensor has them.
    "float8_e4m3fn": (8, -6, 8, -3),
    "float8_e4m3fnuz": (8, -7, 7, -3),
    "float8_e5m2": (8, -14, 15, -2),
    "float8_e5m2fnuz": (8, -15, 15, -2),
}
_LARGEST = {"float8_e4m3fn": 448.0}  # the number that would be above is NaN


class finfo:  # noqa: N801
    """Limits of a floating dtype: bits, eps, max, min, tiny.

    Example:
        >>> ebb.finfo(ebb.float32).max
        3.4028234663852886e+38
    """

    def __init__(self, dtype: Any = None) -> None:
        dtype = dtype or _C.get_default_dtype()
        parts = {"complex64": "float32", "complex128": "float64"}
        name = parts.get(dtype.name, dtype.name)
        if name not in _FLOATS:
            raise _C.DTypeError(f"finfo: needs a floating or complex dtype, got {dtype.name}")
        self.bits, smallest, largest, step = _FLOATS[name]
        self.dtype = name  # of a complex dtype, that of its parts
        self.eps: float = 2.0**step
        self.smallest_normal: float = 2.0**smallest
        self.tiny: float = self.smallest_normal
        self.max: float = _LARGEST.get(name, 2.0**largest * (2.0 - self.eps))
        self.min: float = -self.max
        self.resolution: float = 10.0 ** -len(str(int(1 / self.eps))[1:])

    def __repr__(self) -> str:
        return f"finfo(dtype={self.dtype}, eps={self.eps}, max={self.max}, tiny={self.tiny})"


class iinfo:  # noqa: N801
    """Limits of an integer dtype: bits, max, min.

    Example:
        >>> ebb.iinfo(ebb.int8).max
        127
    """

    def __init__(self, dtype: Any) -> None:
        if dtype.is_floating_point or dtype.is_complex or dtype.name == "bool":
            raise _C.DTypeError(f"iinfo: needs an integer dtype, got {dtype.name}")
        self.bits: Any = dtype.itemsize * 8
        self.dtype: Any = dtype.name
        self.max: Any = 2 ** (self.bits - dtype.is_signed) - 1
        self.min = -self.max - 1 if dtype.is_signed else 0

    def __repr__(self) -> str:
        return f"iinfo(dtype={self.dtype}, min={self.min}, max={self.max})"
