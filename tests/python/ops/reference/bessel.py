# tests/python/ops/reference/bessel.py -- references of Bessel and Airy functions, as integrals.
#
# Of periodic or quickly decaying functions, which sums over even points meet to the last digits.
"""References named in ops/pointwise/bessel.yaml."""

from __future__ import annotations

import math

import numpy as np

from tests.python.ops.reference.special import by_element, guarded

ANGLES = (np.arange(2000) + 0.5) * math.pi / 2000
STEP = 0.005
TIMES = np.arange(0, 3200) * STEP
WEIGHTS = np.where(TIMES == 0, 0.5, 1.0) * STEP
SHORT, LONG = (np.polynomial.legendre.leggauss(count) for count in (200, 400))


def bessel_j(order: int, x: float) -> float:
    return float(np.mean(np.cos(order * ANGLES - x * np.sin(ANGLES))))


def bessel_y(order: int, x: float) -> float:
    # DLMF 10.9.7
    if x <= 0:
        return -math.inf if x == 0 else math.nan
    angles, weights = SHORT
    angles = (angles + 1) * math.pi / 2
    first = np.sum(weights * np.sin(x * np.sin(angles) - order * angles)) / 2
    at, scale = LONG
    top = math.asinh(60 / x) + 1
    at, scale = (at + 1) * top / 2, scale * top / 2
    growth = np.exp(order * at) + (-1) ** order * np.exp(-order * at)
    return float(first - np.sum(scale * growth * np.exp(-x * np.sinh(at))) / math.pi)


def scaled_i(order: int, x: float) -> float:
    return float(np.mean(np.exp(x * np.cos(ANGLES) - abs(x)) * np.cos(order * ANGLES)))


def scaled_k(order: int, x: float) -> float:
    if x <= 0:
        return math.inf if x == 0 else math.nan
    with np.errstate(over="ignore"):
        powers = np.exp(-2 * x * np.square(np.sinh(np.minimum(TIMES, 15) / 2)))
    return float(np.sum(WEIGHTS * powers * np.cosh(order * np.minimum(TIMES, 15))))


def airy(x: float, order: int) -> float:
    """Return Ai(x), or its slope, along a ray on which the integrand decays: DLMF 9.5.4."""
    if math.isinf(x):
        return 0.0
    places, weights = LONG
    turn = np.exp(1j * math.pi / (12 if x < 0 else 6))  # the less, the less grows before it decays
    way = (places + 1) * 6.0 * turn  # to 12, where nothing is left
    integrand = np.exp(1j * (way**3 / 3 + x * way)) * (1j * way) ** order
    return float((np.sum(weights * 6.0 * integrand) * turn).real) / math.pi


def spherical(x: float) -> float:
    return math.sin(x) / x if x != 0 else 1.0


FUNCTIONS = {
    "spherical_bessel_j0": spherical,
    "airy_ai": guarded(lambda x: airy(x, 0)),
    "airy_ai_slope": guarded(lambda x: airy(x, 1)),
    **{
        name.format(order): guarded(lambda x, order=order, function=function: function(order, x))
        for order in (0, 1)
        for name, function in {
            "bessel_j{}": bessel_j,
            "bessel_y{}": bessel_y,
            "i{}e": scaled_i,
            "i{}": lambda order, x: scaled_i(order, x) * math.exp(abs(x)),
            "scaled_modified_bessel_k{}": scaled_k,
            "modified_bessel_k{}": lambda order, x: scaled_k(order, x) * math.exp(-x),
        }.items()
    },
}
NAMED = {name: by_element(function, "input") for name, function in FUNCTIONS.items()}
