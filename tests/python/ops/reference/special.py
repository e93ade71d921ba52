# tests/python/ops/reference/special.py -- references of special functions, number by number.
#
# Inverses by bisection, functions made of gamma by recurrence and asymptotic series,
# Bessel functions by integrals: slower than the kernels, and by other formulas where there are any.
"""References named in ops/pointwise/special.yaml."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def by_element(function: Callable[..., float], *names: str) -> Callable[[dict[str, Any]], Any]:
    """Return a reference that calls ``function`` with the numbers of the arguments ``names``."""
    vectorized = np.vectorize(function, otypes=[np.float64])

    def reference(a: dict[str, Any]) -> np.ndarray:
        return vectorized(*(np.asarray(a[name], np.float64) for name in names))

    return reference


def guarded(function: Callable[..., float]) -> Callable[..., float]:
    """Return ``function`` with NaN for arguments that it refuses, and of NaN."""

    def value(*given: float) -> float:
        if any(map(math.isnan, given)):
            return math.nan
        try:
            return function(*given)
        except ValueError:
            return math.nan

    return value


def bisected(is_below: Callable[[float], bool], low: float, high: float) -> float:
    """Return where ``is_below`` turns false."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low


def erfinv(x: float) -> float:
    if abs(x) >= 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    if abs(x) < 1e-5:
        return x * math.sqrt(math.pi) / 2 * (1 + math.pi * x * x / 12)
    if abs(x) < 0.5:
        return math.copysign(bisected(lambda y: math.erf(y) < abs(x), 0, 6), x)
    return math.copysign(bisected(lambda y: math.erfc(y) > 1 - abs(x), 0, 6), x)


def erfcx(x: float) -> float:
    if x < -27:
        return math.inf
    if x < 5:
        return math.exp(x * x) * math.erfc(x)
    rest = 0.0  # DLMF 7.9.2, a continued fraction
    for k in range(400, 0, -1):
        rest = k / 2 / (x + rest)
    return 1 / (x + rest) / math.sqrt(math.pi)


def erfcx_slope(x: float) -> float:
    if x < -27 or math.isinf(x):
        return math.copysign(math.inf, x) if x < 0 else 0.0
    if x < 5:
        return 2 * (x * erfcx(x) - 1 / math.sqrt(math.pi))
    # The integral of t exp(-t^2 - 2 x t), after DLMF 7.7.2, by Gauss and Laguerre's rule.
    at, weights = np.polynomial.laguerre.laggauss(60)
    values = at * np.exp(-np.square(at / (2 * x)))
    return float(-np.sum(weights * values) / (x * x * math.sqrt(math.pi)))


def ndtr(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def log_ndtr(x: float) -> float:
    if x > -5:
        return math.log1p(-ndtr(-x))
    if math.isinf(x):
        return x
    return math.log(erfcx(-x / math.sqrt(2)) / 2) - x * x / 2


def ndtri(p: float) -> float:
    if not 0 < p < 1:
        return {0: -math.inf, 1: math.inf}.get(p, math.nan)
    sign, tail = (-1, p) if p < 0.5 else (1, 1 - p)
    if p != 0.5 and abs(p - 0.5) < 0.25:
        return math.sqrt(2) * erfinv(2 * p - 1)
    return sign * bisected(lambda y: ndtr(-y) > tail, 0, 40)


def logit(x: float) -> float:
    if not 0 < x < 1:
        return {0: -math.inf, 1: math.inf}.get(x, math.nan)
    return math.log(x) - math.log1p(-x)


def logit_clamped(a: dict[str, Any]) -> np.ndarray:
    eps = a.get("eps")
    x = np.asarray(a["input"], np.float64)
    return by_element(guarded(logit), "x")({"x": x if eps is None else np.clip(x, eps, 1 - eps)})


def entr(x: float) -> float:
    if x <= 0:
        return 0.0 if x == 0 else -math.inf
    return -x * math.log(x)


def logarithm(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


def xlogy(x: float, y: float) -> float:
    return 0.0 if x == 0 else x * logarithm(y)


def xlog1py(x: float, y: float) -> float:
    return 0.0 if x == 0 else x * (math.log1p(y) if y > -1 else logarithm(1 + y))


def sinc(a: dict[str, Any]) -> np.ndarray:
    x = np.asarray(a["input"])
    if x.dtype.kind == "c":
        return np.where(x == 0, 1, np.sin(np.pi * x) / np.where(x == 0, 1, np.pi * x))
    return by_element(guarded(real_sinc), "input")(a)


def sinc_slopes(a: dict[str, Any]) -> np.ndarray:
    x = np.asarray(a["input"])
    if x.dtype.kind != "c":
        return by_element(guarded(sinc_slope), "input")(a)
    z = np.where(x == 0, 1, x)
    return np.where(x == 0, 0, (np.cos(np.pi * z) - np.sin(np.pi * z) / (np.pi * z)) / z)


def logaddexp(a: dict[str, Any]) -> np.ndarray:
    x, y = np.asarray(a["input"]), np.asarray(a["other"])
    is_complex = x.dtype.kind == "c" or y.dtype.kind == "c"
    return np.log(np.exp(x) + np.exp(y)) if is_complex else np.logaddexp(x, y)


def real_sinc(x: float) -> float:
    turn = math.remainder(x, 2)
    turn = math.copysign(1 - abs(turn), turn) if abs(turn) > 0.5 else turn
    return math.sin(math.pi * turn) / (math.pi * x) if x != 0 else 1.0


def sinc_slope(x: float) -> float:
    if abs(x) < 0.3:
        series = (
            (-1) ** k * 2 * k * math.pi ** (2 * k) * x ** (2 * k - 1) / math.factorial(2 * k + 1)
            for k in range(1, 12)
        )
        return math.fsum(series)
    return (math.cos(math.pi * math.remainder(x, 2)) - real_sinc(x)) / x


def lgamma(x: float) -> float:
    if x <= 0 and (math.isinf(x) or x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


def digamma(x: float) -> float:
    if x == 0:
        return -math.copysign(math.inf, x)
    if x < 0:
        if math.isinf(x) or x == math.floor(x):
            return math.nan
        return digamma(1 - x) - math.pi / math.tan(math.pi * math.remainder(x, 1))
    shift = max(0, math.ceil(20 - x)) if x < 20 else 0
    y = x + shift
    series = (
        sum(b / (2 * k * y ** (2 * k)) for k, b in enumerate(BERNOULLI[:4], 1)) if y < 1e30 else 0
    )
    steps = math.fsum(1 / (x + k) for k in range(shift))
    return math.log(y) - 0.5 / y - series - steps


def zeta(s: float, q: float) -> float:
    if s == 1:
        return math.inf
    if s < 1:
        return math.nan
    if q <= 0:
        if math.isinf(q) or q == math.floor(q):
            return math.inf
        if math.isinf(s) or s != math.floor(s):
            return math.nan
        fraction = -q - math.floor(-q)
        sign = -1 if s % 2 else 1
        return zeta(s, 1 - fraction) + sign * (zeta(s, fraction) - zeta(s, 1 - q))
    if math.isinf(s) or math.isinf(q):
        return 0.0 if math.isinf(q) or q > 1 else 1.0 if q == 1 else math.inf
    if s > 1e3:
        return power(q, -s)
    count = 60 if q < 1e4 else 0
    terms = [power(q + k, -s) for k in range(count)]
    last = q + count
    tail = power(last, -s) * (last / (s - 1) + 0.5)
    tail += s / 12 * power(last, -s - 1) - s * (s + 1) * (s + 2) / 720 * power(last, -s - 3)
    tail += s * (s + 1) * (s + 2) * (s + 3) * (s + 4) / 30240 * power(last, -s - 5)
    return math.fsum([*terms, tail])


def power(base: float, exponent: float) -> float:
    try:
        return base**exponent
    except OverflowError:
        return math.inf


def polygamma(n: float, x: float) -> float:
    if n == 0:
        return digamma(x)
    return (-1) ** (int(n) + 1) * math.factorial(int(n)) * guarded(zeta)(n + 1, x)


def mvlgamma(a: dict[str, Any]) -> np.ndarray:
    p = a["p"]
    x = np.asarray(a["input"], np.float64)
    terms = [by_element(guarded(lgamma), "x")({"x": x - j / 2}) for j in range(p)]
    return np.sum(terms, axis=0) + p * (p - 1) / 4 * math.log(math.pi)


NAMED = {
    **{
        name: by_element(guarded(function), "input")
        for name, function in {
            "erfinv": erfinv,
            "erfcx": erfcx,
            "erfcx_slope": erfcx_slope,
            "ndtr": ndtr,
            "log_ndtr": log_ndtr,
            "ndtri": ndtri,
            "entr": entr,
            "lgamma": lgamma,
            "digamma": digamma,
        }.items()
    },
    "sinc": sinc,
    "sinc_slope": sinc_slopes,
    "logaddexp": logaddexp,
    "logit": logit_clamped,
    "xlogy": by_element(guarded(xlogy), "input", "other"),
    "xlog1py": by_element(guarded(xlog1py), "input", "other"),
    "zeta": by_element(guarded(zeta), "input", "other"),
    "polygamma": by_element(guarded(polygamma), "n", "input"),
    "mvlgamma": mvlgamma,
}
