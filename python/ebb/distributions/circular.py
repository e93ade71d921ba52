# python/ebb/distributions/circular.py -- VonMises: angles around a direction.
"""Distributions on the circle."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import ebb
from ebb import Tensor
from ebb.distributions import constraints
from ebb.distributions.location_scale import _Centred

_NODES = 128
_LARGE = 500.0  # from here on a series in 1 / k is exact; up to here, the sum over the nodes


def _cosines(k: Tensor) -> Tensor:
    """Return cosines of angles that share the half circle evenly."""
    places = ebb.arange(_NODES, dtype=k.dtype, device=k.device) + 0.5
    return (places * (math.pi / _NODES)).cos()


def _weights(k: Tensor) -> Tensor:
    """Return exp(k (cos - 1)): its mean is exp(-k) times the Bessel function I0 of k."""
    return (k.clamp(max=_LARGE).unsqueeze(-1) * (_cosines(k) - 1)).exp()


def _log_bessel(k: Tensor) -> Tensor:
    """Return log I0(k)."""
    x = 1 / k.clamp(min=_LARGE)
    series = x / 8 * (1 + 9 / 16 * x * (1 + 25 / 24 * x * (1 + 49 / 32 * x)))
    far = series.log1p() + 0.5 * (x / (2 * math.pi)).log()
    return k + ebb.where(k > _LARGE, far, _weights(k).mean(-1).log())


def _mean_cosine(k: Tensor) -> Tensor:
    """Return the derivative of log I0(k), I1(k) / I0(k)."""
    x, weights = 1 / k.clamp(min=_LARGE), _weights(k)
    far = 1 - x / 2 * (1 + x / 4 * (1 + x * (1 + 25 / 16 * x)))
    return ebb.where(k > _LARGE, far, (weights * _cosines(k)).mean(-1) / weights.mean(-1))


class VonMises(_Centred):
    """Angles from -pi to pi around ``loc``, the closer the greater ``concentration`` is.

    Example:
        >>> ebb.distributions.VonMises(ebb.tensor(0.0), ebb.tensor(1.0)).log_prob(ebb.tensor(0.0))
        tensor(-1.0738)
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support: constraints.Constraint = constraints.real
    has_rsample = False
    concentration: Tensor

    def __init__(
        self,
        loc: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ):
        self._take(validate_args, loc=loc, concentration=concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        k = self.concentration
        weight = math.log(2 * math.pi) + _log_bessel(k)
        return k * (self._checked(value) - self.loc).cos() - weight

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return angles, drawn as D. J. Best and N. I. Fisher (1979) do: from a wrapped Cauchy."""
        with ebb.no_grad():
            shape = self._extended_shape(sample_shape)
            k = self.concentration.double().expand(shape)
            tau = 1 + (1 + 4 * k.square()).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            r = ebb.where(k < 1e-5, 1 / k + k, (1 + rho.square()) / (2 * rho))
            angle, is_open = ebb.zeros_like(k), ebb.ones(shape, dtype=ebb.bool, device=k.device)
            while is_open.any():
                u1, u2, u3 = ebb.rand((3, *shape), dtype=k.dtype, device=k.device).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                is_kept = is_open & ((c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0))
                angle = ebb.where(is_kept, (u3 - 0.5).sign() * f.clamp(min=-1, max=1).acos(), angle)
                is_open = is_open & ~is_kept
            around = (angle + math.pi + self.loc) % (2 * math.pi) - math.pi
            return around.to(self.loc.dtype)

    @property
    def variance(self) -> Tensor:
        """The circular variance, 1 - the length of the mean direction."""
        return 1 - _mean_cosine(self.concentration)


__all__ = ["VonMises"]
