# python/ebb/distributions/kl.py -- kl_divergence() and the pairs it knows.
#
# A formula is registered for two classes. For others that derive from such, the pair closest to
# their own classes counts. Start reading at kl_divergence().
"""Divergences between distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebb import Tensor
from ebb.distributions.distribution import Distribution
from ebb.errors import DTypeError, NotImplementedError

Formula = Callable[[Any, Any], Tensor]

_FORMULAS: dict[tuple[type, type], Formula] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Return a decorator that registers a formula for distributions of these classes.

    Example:
        >>> class Point(ebb.distributions.Normal):
        ...     pass
        >>> @ebb.distributions.register_kl(Point, Point)
        ... def between_points(p, q):
        ...     return (p.loc - q.loc).abs()
    """
    for one in (type_p, type_q):
        if not isinstance(one, type):  # also a base that is none, of classes that are both
            raise DTypeError(f"register_kl: needs classes of distributions, got {one!r}")

    def add(formula: Formula) -> Formula:
        _FORMULAS[type_p, type_q] = formula
        return formula

    return add


def _formula(type_p: type, type_q: type) -> Formula | None:
    """Return the formula of the pair of base classes that is closest to these."""
    pairs = [
        (i + j, i, _FORMULAS[p, q])
        for i, p in enumerate(type_p.__mro__)
        for j, q in enumerate(type_q.__mro__)
        if (p, q) in _FORMULAS
    ]
    return min(pairs, key=lambda one: one[:2])[2] if pairs else None


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the mean under ``p`` of log p(x) - log q(x), in nats.

    Raises:
        NotImplementedError: If no formula is registered for the two classes.
    Example:
        >>> D = ebb.distributions
        >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
        tensor(0.5000)
    """
    formula = _formula(type(p), type(q))
    if formula is None:
        raise NotImplementedError(
            f"kl_divergence: no formula is registered for {type(p).__name__} and "
            f"{type(q).__name__}\nhint: register_kl() adds one"
        )
    return formula(p, q)


__all__ = ["kl_divergence", "register_kl"]
