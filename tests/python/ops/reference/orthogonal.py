# tests/python/ops/reference/orthogonal.py -- references of orthogonal polynomials.
#
# NumPy's Clenshaw sums; the third and fourth kind of Chebyshev as sums of the second.
"""References named in ops/pointwise/orthogonal.yaml."""

from __future__ import annotations

from collections.abc import Callable

from numpy import polynomial

from tests.python.ops.reference.special import by_element


def single(evaluate: Callable[..., float]) -> Callable[[float, int], float]:
    """Return the polynomial of one degree of a family."""
    return lambda x, n: float(evaluate(x, [0.0] * n + [1.0]))


def second_kind(x: float, n: int) -> float:
    """Return the derivative of the first kind of degree n + 1, over n + 1 (DLMF 18.9.21)."""
    slope = polynomial.Chebyshev.basis(n + 1).deriv()
    return float(slope(x)) / (n + 1)


def other_kind(sign: int) -> Callable[[float, int], float]:
    return lambda x, n: second_kind(x, n) + sign * (second_kind(x, n - 1) if n else 0.0)


def of_degree(family: Callable[[float, int], float]) -> Callable[[float, float], float]:
    def value(x: float, n: float) -> float:
        return 0.0 if int(n) < 0 else family(x, int(n))

    return value


CHEBYSHEV = {
    "t": single(polynomial.chebyshev.chebval),
    "u": second_kind,
    "v": other_kind(-1),
    "w": other_kind(1),
}
FAMILIES = {
    **{f"chebyshev_polynomial_{kind}": family for kind, family in CHEBYSHEV.items()},
    **{
        f"shifted_chebyshev_polynomial_{kind}": lambda x, n, family=family: family(2 * x - 1, n)
        for kind, family in CHEBYSHEV.items()
    },
    "hermite_polynomial_h": single(polynomial.hermite.hermval),
    "hermite_polynomial_he": single(polynomial.hermite_e.hermeval),
    "laguerre_polynomial_l": single(polynomial.laguerre.lagval),
    "legendre_polynomial_p": single(polynomial.legendre.legval),
}
NAMED = {name: by_element(of_degree(family), "input", "n") for name, family in FAMILIES.items()}
