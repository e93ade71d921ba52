# tests/python/ops/reference/igamma.py -- references of the incomplete gamma function, in decimals.
#
# One power series of positive terms with so many digits that 1 less its sum has enough left, but
# in far tails. Where both operands are beyond a million, Temme's leading terms.
"""References named in ops/pointwise/special.yaml."""

from __future__ import annotations

import decimal
import functools
import math
from decimal import Decimal
from fractions import Fraction

from tests.python.ops.reference.special import by_element, guarded

DIGITS = decimal.Context(prec=110, Emin=-(10**9), Emax=10**9)
LARGE = 1e6
PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862"
)


@functools.cache
def bernoulli() -> list[Fraction]:
    """The Bernoulli numbers up to B80."""
    numbers = [Fraction(1)]
    for m in range(1, 81):
        known = sum(math.comb(m + 1, k) * number for k, number in enumerate(numbers))
        numbers.append(-known / (m + 1))
    return numbers


def log_gamma(a: Decimal) -> Decimal:
    """Stirling's series, 60 or more away from 0."""
    below = Decimal(1)
    while a < 60:
        below, a = below * a, a + 1
    total = (a - Decimal("0.5")) * a.ln() - a + (2 * PI).ln() / 2
    for k in range(1, 41):
        number = bernoulli()[2 * k] / (2 * k * (2 * k - 1))
        total += Decimal(number.numerator) / Decimal(number.denominator) / a ** (2 * k - 1)
    return total - below.ln()


@functools.cache
def shares(a: float, x: float) -> tuple[float, float]:
    """The shares below and above ``x``, of finite positive numbers."""
    if min(a, x) > LARGE:
        eta = (x - a) / math.sqrt(a)  # its square alone counts this far out
        rest = math.exp(-eta * eta / 2) / 3 / math.sqrt(2 * math.pi * a)
        tail = math.erfc(abs(eta) / math.sqrt(2)) / 2 if abs(eta) < 40 else 0.0
        return (tail + rest, 1 - tail - rest) if x <= a else (1 - tail + rest, tail - rest)
    spread = 60 * math.sqrt(a + 1) + 2000
    if abs(x - a) > spread and max(a, x) > 4000:
        return (1.0, 0.0) if x > a else (0.0, 1.0)
    with decimal.localcontext(DIGITS):
        shape, value = Decimal(a), Decimal(x)
        term = total = (shape * value.ln() - value - log_gamma(shape + 1)).exp()
        n = 0
        while n < x or term > total * Decimal("1e-105"):
            n += 1
            term *= value / (shape + n)
            total += term
        rest = 1 - total
        if rest < Decimal("1e-40"):
            rest = upper_tail(shape, value)
        return float(total), float(rest)


def upper_tail(a: Decimal, x: Decimal) -> Decimal:
    """The share above a large ``x``: the continued fraction of DLMF 8.9.2, from its end."""
    rest = x
    for n in range(400, 0, -1):
        rest = x + 2 * n + 1 - a - (n + 1) * (n + 1 - a) / rest
    rest = x + 1 - a - (1 - a) / rest
    return (a * x.ln() - x - log_gamma(a)).exp() / rest


def both(a: float, x: float) -> tuple[float, float]:
    if a < 0 or x < 0 or a == x == 0 or (math.isinf(a) and math.isinf(x)):
        return math.nan, math.nan
    if a == 0 or math.isinf(x):
        return 1.0, 0.0
    return (0.0, 1.0) if x == 0 or math.isinf(a) else shares(a, x)


def slope(a: float, x: float) -> float:
    if math.isnan(both(a, x)[0]):
        return math.nan
    if a == 0 or math.isinf(a) or math.isinf(x):
        return 0.0
    if x == 0:
        return 0.0 if a > 1 else 1.0 if a == 1 else math.inf
    if min(a, x) > LARGE:
        return math.exp(-((x - a) ** 2) / a / 2) / math.sqrt(2 * math.pi * a) if x == a else 0.0
    with decimal.localcontext(DIGITS):
        shape, value = Decimal(a), Decimal(x)
        return float(((shape - 1) * value.ln() - value - log_gamma(shape)).exp())


NAMED = {
    "igamma": by_element(guarded(lambda a, x: both(a, x)[0]), "input", "other"),
    "igammac": by_element(guarded(lambda a, x: both(a, x)[1]), "input", "other"),
    "igamma_slope": by_element(guarded(slope), "input", "other"),
}
