# python/ebb/distributions/location_scale.py -- Normal, Laplace, Cauchy, Gumbel, StudentT; Uniform.
#
# If x = loc + scale z, all of x follows from the standard z: a class says the density, the
# distribution function and the moments of z, and how z is drawn.
"""Standard distributions, moved and stretched."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import ebb
from ebb import Size, Tensor
from ebb.distributions import constraints
from ebb.distributions.distribution import Distribution, ExponentialFamily

_EULER = 0.57721566490153286


class _Centred(Distribution):
    """What lies evenly around ``loc``, where it is densest."""

    loc: Tensor

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc


class _LocationScale(_Centred):
    """x = loc + scale z: what is asked of x, by what is known of z."""

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support: constraints.Constraint = constraints.real
    has_rsample = True
    scale: Tensor

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ):
        self._take(validate_args, loc=loc, scale=scale)

    def _draw(self, shape: Size) -> Tensor:
        """Return samples of z."""
        raise self._missing("rsample")

    def _log_density(self, z: Tensor) -> Tensor:
        raise self._missing("log_prob")

    def _standard_cdf(self, z: Tensor) -> Tensor:
        raise self._missing("cdf")

    def _standard_icdf(self, value: Tensor) -> Tensor:
        raise self._missing("icdf")

    def _standard_entropy(self) -> Tensor | float:
        raise self._missing("entropy")

    def _empty(self, shape: Size) -> Tensor:
        return ebb.empty(shape, dtype=self.loc.dtype, device=self.loc.device)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.loc + self.scale * self._draw(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        z = (self._checked(value) - self.loc) / self.scale
        return self._log_density(z) - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        return self._standard_cdf((self._checked(value) - self.loc) / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * self._standard_icdf(value)

    def entropy(self) -> Tensor:
        return self.scale.log() + self._standard_entropy()


class Normal(_LocationScale, ExponentialFamily):
    """The normal distribution of mean ``loc`` and standard deviation ``scale``.

    Example:
        >>> ebb.distributions.Normal(0.0, 1.0).log_prob(ebb.tensor(1.0))
        tensor(-1.4189)
    """

    _mean_carrier_measure = 0

    def _draw(self, shape: Size) -> Tensor:
        return self._empty(shape).normal_()

    def _log_density(self, z: Tensor) -> Tensor:
        return -0.5 * z.square() - 0.5 * math.log(2 * math.pi)

    def _standard_cdf(self, z: Tensor) -> Tensor:
        return 0.5 * (1 + ebb.erf(z / math.sqrt(2)))

    def _standard_icdf(self, value: Tensor) -> Tensor:
        return math.sqrt(2) * ebb.erfinv(2 * value - 1)

    def _standard_entropy(self) -> float:
        return 0.5 + 0.5 * math.log(2 * math.pi)

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale.square()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        precision = self.scale.square().reciprocal()
        return self.loc * precision, -0.5 * precision

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return -0.25 * x.square() / y + 0.5 * (-math.pi / y).log()


class Laplace(_LocationScale):
    """Two exponential distributions, back to back at ``loc``.

    Example:
        >>> ebb.distributions.Laplace(ebb.tensor(0.0), ebb.tensor(1.0)).log_prob(ebb.tensor(1.0))
        tensor(-1.6931)
    """

    def _draw(self, shape: Size) -> Tensor:
        # One uniform number in (-1, 1): its sign, and how rare its size is.
        eps = ebb.finfo(self.loc.dtype).eps
        u = self._empty(shape).uniform_(eps - 1, 1)
        return -u.sign() * (-u.abs()).log1p()

    def _log_density(self, z: Tensor) -> Tensor:
        return -z.abs() - math.log(2)

    def _standard_cdf(self, z: Tensor) -> Tensor:
        return 0.5 - 0.5 * z.sign() * (-z.abs()).expm1()

    def _standard_icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return -term.sign() * (-2 * term.abs()).log1p()

    def _standard_entropy(self) -> float:
        return 1 + math.log(2)

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.square()


class Cauchy(_LocationScale):
    """The ratio of two normal variables: it has neither mean nor variance.

    Example:
        >>> ebb.distributions.Cauchy(ebb.tensor(0.0), ebb.tensor(1.0)).log_prob(ebb.tensor(0.0))
        tensor(-1.1447)
    """

    def _draw(self, shape: Size) -> Tensor:
        return self._empty(shape).cauchy_()

    def _log_density(self, z: Tensor) -> Tensor:
        return -z.square().log1p() - math.log(math.pi)

    def _standard_cdf(self, z: Tensor) -> Tensor:
        return ebb.atan(z) / math.pi + 0.5

    def _standard_icdf(self, value: Tensor) -> Tensor:
        return ebb.tan(math.pi * (value - 0.5))

    def _standard_entropy(self) -> float:
        return math.log(4 * math.pi)

    @property
    def mean(self) -> Tensor:
        return ebb.full_like(self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        return ebb.full_like(self.loc, math.inf)


class Gumbel(_LocationScale):
    """The largest of many samples, as their number grows.

    Example:
        >>> ebb.distributions.Gumbel(ebb.tensor(0.0), ebb.tensor(1.0)).log_prob(ebb.tensor(0.0))
        tensor(-1.)
    """

    def _draw(self, shape: Size) -> Tensor:
        return -self._empty(shape).exponential_().log()

    def _log_density(self, z: Tensor) -> Tensor:
        return -z - (-z).exp()

    def _standard_cdf(self, z: Tensor) -> Tensor:
        return (-(-z).exp()).exp()

    def _standard_icdf(self, value: Tensor) -> Tensor:
        return -(-value.log()).log()

    def _standard_entropy(self) -> float:
        return 1 + _EULER

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * _EULER

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.square()


class StudentT(_LocationScale):
    """A normal variable over the root of an independent mean of ``df`` squares of such.

    Example:
        >>> ebb.distributions.StudentT(ebb.tensor(3.0)).log_prob(ebb.tensor(0.0))
        tensor(-1.0009)
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "df": constraints.positive,
        **_LocationScale.arg_constraints,
    }
    df: Tensor

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ):
        self._take(validate_args, df=df, loc=loc, scale=scale)

    def _draw(self, shape: Size) -> Tensor:
        half = 0.5 * self.df.expand(shape)
        return self._empty(shape).normal_() * (half / ebb._C._ops.standard_gamma(half)).sqrt()

    def _log_density(self, z: Tensor) -> Tensor:
        return -0.5 * (self.df + 1) * (z.square() / self.df).log1p() - self._log_weight()

    def _log_weight(self) -> Tensor:
        half = 0.5 * self.df
        return half.lgamma() - (half + 0.5).lgamma() + 0.5 * (math.pi * self.df).log()

    def _standard_entropy(self) -> Tensor:
        half = 0.5 * self.df
        return (half + 0.5) * ((half + 0.5).digamma() - half.digamma()) + self._log_weight()

    @property
    def mean(self) -> Tensor:
        return ebb.where(self.df > 1, self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        df = self.df.clamp(min=1)
        finite = self.scale.square() * df / (df - 2)
        infinite = ebb.where(self.df > 1, ebb.full_like(df, math.inf), math.nan)
        return ebb.where(self.df > 2, finite, infinite)


class Uniform(Distribution):
    """Values evenly spread over [low, high).

    Example:
        >>> ebb.distributions.Uniform(ebb.tensor(0.0), ebb.tensor(2.0)).log_prob(ebb.tensor(1.0))
        tensor(-0.6931)
    """

    has_rsample = True
    low: Tensor
    high: Tensor

    def __init__(
        self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None
    ):
        self._take(validate_args, low=low, high=high)

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "low": constraints.dependent(is_discrete=False, event_dim=0),
        "high": constraints.dependent(is_discrete=False, event_dim=0),
    }

    def _check_parameters(self) -> None:
        if not (self.low < self.high).all():
            raise ebb.errors.ValueError(f"Uniform: needs low below high, got {self!r}")

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.interval(self.low, self.high)

    @property
    def _width(self) -> Tensor:
        return self.high - self.low

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = ebb.empty(shape, dtype=self.low.dtype, device=self.low.device).uniform_()
        return self.low + u * self._width

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        is_within = (value >= self.low) & (value < self.high)
        return ebb.where(is_within, -self._width.log(), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return ((self._checked(value) - self.low) / self._width).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return self.low + value * self._width

    def entropy(self) -> Tensor:
        return self._width.log()

    @property
    def mean(self) -> Tensor:
        return (self.low + self.high) / 2

    @property
    def mode(self) -> Tensor:
        return ebb.full_like(self.low, math.nan)

    @property
    def variance(self) -> Tensor:
        return self._width.square() / 12


__all__ = ["Cauchy", "Gumbel", "Laplace", "Normal", "StudentT", "Uniform"]
