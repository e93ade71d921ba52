# python/ebb/array_api/_elementwise.py -- functions of each element: ops under the standard's names.
"""Elementwise functions."""

from __future__ import annotations

import functools
from typing import Any

import ebb
from ebb._C import Tensor

_SAME = """
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_or bitwise_xor
bitwise_left_shift bitwise_right_shift ceil copysign cos cosh exp expm1 floor floor_divide greater
greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp
logical_and logical_not logical_or logical_xor maximum minimum nextafter positive pow real
reciprocal remainder sign signbit sin sinh sqrt square tan tanh trunc round conj
"""
_RENAMED = {
    "bitwise_invert": "bitwise_not",
    "divide": "div",
    "equal": "eq",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "subtract": "sub",
}


def _renamed(own, name):
    """Return an op under the standard's name, which its errors then tell."""

    @functools.wraps(own)
    def function(*args, **kwargs):
        return own(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    return function


_names = [name for name in _SAME.split() if hasattr(ebb, name)]
globals().update((name, getattr(ebb, name)) for name in _names)
globals().update((name, _renamed(getattr(ebb, own), name)) for name, own in _RENAMED.items())


def clip(x: Any, /, min: Any = None, max: Any = None) -> Tensor:
    """Return elements that are brought between two bounds, in the dtype of ``x``.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.clip(xp.asarray([-1.0, 0.5, 2.0]), 0.0, 1.0)
        tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        return x.clone()
    return ebb.clamp(x, min, max).to(x.dtype)


__all__ = ["clip", *_names, *_RENAMED]
