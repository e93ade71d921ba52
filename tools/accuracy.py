# tools/accuracy.py -- how far results of pointwise and special functions are from the exact ones.
#
# Exact values come from mpmath (PyPI), with 40 digits. Each function is tried at random points of
# its range, float32 and float64, and the largest error is printed in units in the last place of the
# result; beside it the largest error below |result| = 0.01, in units of that size, where a zero
# makes any rounding of the argument large. docs/accuracy.md has the table that this prints:
#
#     .venv/bin/python -m pip install --target build/mpmath mpmath
#     PYTHONPATH=build/release/python:build/mpmath .venv/bin/python tools/accuracy.py [name ...]
"""Errors of pointwise and special functions in units in the last place."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import mpmath as mp
import numpy as np

import ebb

COUNT = 1500
NEAR_ZERO = 0.01
WIDE, POSITIVE, UNIT = (-30.0, 30.0), (1e-3, 30.0), (1e-6, 1 - 1e-6)
SIGNED_UNIT, ABOVE_ONE = (-0.999999, 0.999999), (1.0, 1e3)


@dataclass(frozen=True)
class Function:
    """A function of ebb, the exact one, and where its operands are drawn."""

    name: str
    exact: Callable[..., Any]
    ranges: tuple[tuple[float, float], ...] = (WIDE,)
    leading: tuple[int, ...] = ()  # numbers before the tensors

    def values(self, columns: list[np.ndarray]) -> np.ndarray:
        """What ebb says."""
        function = attrgetter(self.name)(ebb)
        tensors = [ebb.from_numpy(column) for column in columns]
        return function(*self.leading, *tensors).numpy()

    def wanted(self, *point: float) -> Any:
        """What is right, NaN where mpmath has no value."""
        try:
            return mp.re(self.exact(*self.leading, *(mp.mpf(float(x)) for x in point)))
        except (ValueError, ZeroDivisionError, OverflowError):
            return mp.nan


def normal(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


SMOOTH = ("exp", "expm1", "sin", "cos", "tanh", "sinh", "cosh", "atan", "asinh")
FUNCTIONS = [
    *(Function(name, getattr(mp, name)) for name in SMOOTH),
    *(Function(name, exact, (POSITIVE,)) for name, exact in (
        ("log", mp.log), ("log1p", mp.log1p), ("log10", mp.log10), ("log2", lambda x: mp.log(x, 2)),
    )),
    Function("tan", mp.tan, ((-1.5, 1.5),)),
    Function("exp2", lambda x: mp.power(2, x)),
    Function("asin", mp.asin, (SIGNED_UNIT,)),
    Function("acos", mp.acos, (SIGNED_UNIT,)),
    Function("atanh", mp.atanh, (SIGNED_UNIT,)),
    Function("acosh", mp.acosh, (ABOVE_ONE,)),
    Function("sigmoid", lambda x: 1 / (1 + mp.exp(-x))),
    Function("logaddexp", lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), (WIDE, WIDE)),
    Function("erf", mp.erf, ((-6.0, 6.0),)),
    Function("erfc", mp.erfc, ((-6.0, 9.0),)),
    Function("erfinv", mp.erfinv, (SIGNED_UNIT,)),
    Function("special.erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), ((-5.0, 100.0),)),
    Function("special.ndtr", normal, ((-12.0, 8.0),)),
    Function("special.log_ndtr", lambda x: mp.log(normal(x))),
    Function("special.ndtri", lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), (UNIT,)),
    Function("logit", lambda x: mp.log(x) - mp.log1p(-x), (UNIT,)),
    Function("special.entr", lambda x: -x * mp.log(x), (POSITIVE,)),
    Function("sinc", mp.sincpi),
    Function("xlogy", lambda x, y: x * mp.log(y), (WIDE, POSITIVE)),
    Function("special.xlog1py", lambda x, y: x * mp.log1p(y), (WIDE, POSITIVE)),
    Function("lgamma", lambda x: mp.log(abs(mp.gamma(x))), ((-20.0, 60.0),)),
    Function("digamma", mp.digamma, ((-20.0, 60.0),)),
    *(Function("polygamma", mp.polygamma, ((0.01, 60.0),), (n,)) for n in (1, 2, 5)),
    *(Function(f"special.{name}{n}", exact, (span,)) for n in (0, 1) for name, exact, span in (
        ("bessel_j", lambda x, n=n: mp.besselj(n, x), (0.0, 60.0)),
        ("bessel_y", lambda x, n=n: mp.bessely(n, x), (0.01, 60.0)),
        ("modified_bessel_i", lambda x, n=n: mp.besseli(n, x), (0.0, 60.0)),
        ("modified_bessel_k", lambda x, n=n: mp.besselk(n, x), (0.01, 60.0)),
        ("scaled_modified_bessel_k", lambda x, n=n: mp.exp(x) * mp.besselk(n, x), (0.01, 200.0)),
    )),
    *(Function(name, lambda x, n=n: mp.exp(-x) * mp.besseli(n, x), ((0.0, 200.0),))
      for n, name in enumerate(("special.i0e", "special.i1e"))),
    Function("special.spherical_bessel_j0", lambda x: mp.sin(x) / x),
    Function("igamma", lambda a, x: mp.gammainc(a, 0, x, True), (POSITIVE, POSITIVE)),
    Function("igammac", lambda a, x: mp.gammainc(a, x, mp.inf, True), (POSITIVE, POSITIVE)),
    Function("special.zeta", mp.zeta, ((1.01, 30.0), (0.1, 30.0))),
]  # fmt: skip


def errors(function: Function, dtype: type) -> tuple[float, float]:
    """Return the largest error away from zeros, and the largest absolute one near them."""
    rng = np.random.default_rng(0)
    columns = [rng.uniform(low, high, COUNT).astype(dtype) for low, high in function.ranges]
    got = function.values(columns)
    away, near = 0.0, 0.0
    tiny = np.finfo(dtype).tiny
    for value, *point in zip(got, *columns, strict=True):
        wanted = function.wanted(*point)
        rounded = dtype(float(wanted))
        if not np.isfinite(rounded) or abs(rounded) < tiny:
            continue
        size = max(abs(float(rounded)), NEAR_ZERO)
        error = float(abs(mp.mpf(float(value)) - wanted)) / float(np.spacing(dtype(size)))
        if size > NEAR_ZERO or float(abs(wanted)) == size:
            away = max(away, error)
        else:
            relative = float(abs(mp.mpf(float(value)) - wanted)) / float(np.spacing(abs(rounded)))
            near = max(near, min(error, relative))
    return away, near


def main(names: list[str]) -> None:
    """Print the table."""
    mp.mp.dps = 40
    print("| function | float32 | near 0 | float64 | near 0 |\n| --- | --- | --- | --- | --- |")
    for function in FUNCTIONS:
        if names and function.name not in names:
            continue
        found = [*errors(function, np.float32), *errors(function, np.float64)]
        shown = function.name + "".join(f" {number}" for number in function.leading)
        print(f"| {shown} | " + " | ".join(f"{one:.2f}" for one in found) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
