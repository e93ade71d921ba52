# python/ebb/distributions/positive.py -- Exponential, HalfNormal, HalfCauchy, Weibull, Pareto, ...
#
# Distributions of numbers on one side of a bound. Where the distribution function is simple it says
# all: samples are its inverse at uniform numbers.
"""Distributions of positive numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import ebb
from ebb import Tensor
from ebb.distributions import constraints
from ebb.distributions.distribution import Distribution, ExponentialFamily
from ebb.distributions.gamma import _TwoConcentrations
from ebb.distributions.location_scale import Cauchy, Normal

_EULER = 0.57721566490153286


class Exponential(ExponentialFamily):
    """Waiting times for events that come ``rate`` times in the mean.

    Example:
        >>> ebb.distributions.Exponential(ebb.tensor(2.0)).log_prob(ebb.tensor(1.0))
        tensor(-1.3069)
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {"rate": constraints.positive}
    support: constraints.Constraint = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    rate: Tensor

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None):
        self._take(validate_args, rate=rate)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        waits = ebb.empty(shape, dtype=self.rate.dtype, device=self.rate.device)
        return waits.exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * self._checked(value)

    def cdf(self, value: Tensor) -> Tensor:
        return -(-self.rate * self._checked(value)).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return ebb.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return -(-x).log()


class _Half(Distribution):
    """The size of a number that is spread evenly around 0."""

    arg_constraints: Mapping[str, constraints.Constraint] = {"scale": constraints.positive}
    support: constraints.Constraint = constraints.nonnegative
    has_rsample = True
    _whole_kind: type[Normal] | type[Cauchy]
    scale: Tensor

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None):
        self._take(validate_args, scale=scale)

    @property
    def _whole(self) -> Distribution:
        return self._whole_kind(ebb.zeros_like(self.scale), self.scale, validate_args=False)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._whole.rsample(sample_shape).abs()

    def log_prob(self, value: Tensor) -> Tensor:
        logs = self._whole.log_prob(self._checked(value)) + math.log(2)
        return ebb.where(value >= 0, logs, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return 2 * self._whole.cdf(self._checked(value)) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self._whole.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self._whole.entropy() - math.log(2)

    @property
    def mode(self) -> Tensor:
        return ebb.zeros_like(self.scale)


class HalfNormal(_Half):
    """The size of a normal number of mean 0.

    Example:
        >>> ebb.distributions.HalfNormal(ebb.tensor(1.0)).log_prob(ebb.tensor(1.0))
        tensor(-0.7258)
    """

    _whole_kind = Normal

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The size of a Cauchy number around 0.

    Example:
        >>> ebb.distributions.HalfCauchy(ebb.tensor(1.0)).log_prob(ebb.tensor(1.0))
        tensor(-1.1447)
    """

    _whole_kind = Cauchy

    @property
    def mean(self) -> Tensor:
        return ebb.full_like(self.scale, math.inf)

    @property
    def variance(self) -> Tensor:
        return ebb.full_like(self.scale, math.inf)


class _Inverted(Distribution):
    """What is drawn by its inverse distribution function."""

    has_rsample = True

    def _uniform(self, sample_shape: Sequence[int], like: Tensor) -> Tensor:
        """Return uniform numbers within (0, 1): neither end."""
        shape = self._extended_shape(sample_shape)
        waits = ebb.empty(shape, dtype=like.dtype, device=like.device).exponential_()
        return (-waits).exp().clamp(max=1 - ebb.finfo(like.dtype).eps / 2)


class Pareto(_Inverted):
    """Numbers from ``scale`` on, of which a share (scale / x) ** alpha is larger than x.

    Example:
        >>> ebb.distributions.Pareto(ebb.tensor(1.0), ebb.tensor(2.0)).log_prob(ebb.tensor(2.0))
        tensor(-1.3863)
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "scale": constraints.positive,
        "alpha": constraints.positive,
    }
    scale: Tensor
    alpha: Tensor

    def __init__(
        self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None
    ):
        self._take(validate_args, scale=scale, alpha=alpha)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.greater_than_eq(self.scale)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.scale * self._uniform(sample_shape, self.scale).pow(-1 / self.alpha)

    def log_prob(self, value: Tensor) -> Tensor:
        ratio = self._checked(value) / self.scale
        return self.alpha.log() - self.scale.log() - (self.alpha + 1) * ratio.log()

    def cdf(self, value: Tensor) -> Tensor:
        return 1 - (self.scale / self._checked(value)).pow(self.alpha)

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (1 - value).pow(-1 / self.alpha)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal()

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.square() * a / ((a - 1).square() * (a - 2))


class GeneralizedPareto(_Inverted):
    """What exceeds a high threshold ``loc``; the tail is heavy where ``concentration`` > 0.

    Example:
        >>> from ebb import distributions as D
        >>> parts = (ebb.tensor(0.0), ebb.tensor(1.0), ebb.tensor(0.5))
        >>> D.GeneralizedPareto(*parts).log_prob(ebb.tensor(1.0))
        tensor(-1.2164)
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ):
        self._take(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        end = self.loc - self.scale / self.concentration.clamp(max=0)
        end = ebb.where(self.concentration < 0, end, math.inf)
        return constraints.interval(self.loc, end)

    @property
    def _is_exponential(self) -> Tensor:
        return self.concentration == 0

    def _safe(self) -> Tensor:
        """Return the concentration, or 1 where it is 0."""
        return ebb.where(self._is_exponential, 1.0, self.concentration)

    def _excess(self, value: Tensor) -> Tensor:
        """Return minus the logarithm of the share of larger numbers."""
        z, k = (self._checked(value) - self.loc) / self.scale, self._safe()
        return ebb.where(self._is_exponential, z, (k * z).log1p() / k)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(self._uniform(sample_shape, self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        return -(1 + self.concentration) * self._excess(value) - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        return -(-self._excess(value)).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        excess, k = -(-value).log1p(), self._safe()
        z = ebb.where(self._is_exponential, excess, (k * excess).expm1() / k)
        return self.loc + self.scale * z

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1

    @property
    def mean(self) -> Tensor:
        k = self.concentration
        return ebb.where(k < 1, self.loc + self.scale / (1 - k.clamp(max=1)), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        k = self.concentration.clamp(max=0.5)
        finite = self.scale.square() / ((1 - k).square() * (1 - 2 * k))
        return ebb.where(self.concentration < 0.5, finite, math.inf)


class Weibull(Distribution):
    """``scale`` times a waiting time to the power of 1 / ``concentration``.

    Example:
        >>> ebb.distributions.Weibull(ebb.tensor(1.0), ebb.tensor(2.0)).log_prob(ebb.tensor(1.0))
        tensor(-0.3069)
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support: constraints.Constraint = constraints.positive
    has_rsample = True
    scale: Tensor
    concentration: Tensor

    def __init__(
        self,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ):
        self._take(validate_args, scale=scale, concentration=concentration)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        waits = Exponential(ebb.ones_like(self.scale), validate_args=False).sample(sample_shape)
        return self.scale * waits.pow(1 / self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        ratio, k = self._checked(value) / self.scale, self.concentration
        return (k / self.scale).log() + (k - 1) * ratio.log() - ratio.pow(k)

    def cdf(self, value: Tensor) -> Tensor:
        return -(-(self._checked(value) / self.scale).pow(self.concentration)).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-(-value).log1p()).pow(1 / self.concentration)

    def entropy(self) -> Tensor:
        k = self.concentration
        return _EULER * (1 - 1 / k) + (self.scale / k).log() + 1

    def _moment(self, power: int) -> Tensor:
        return self.scale.pow(power) * (1 + power / self.concentration).lgamma().exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        k = self.concentration.clamp(min=1)
        return self.scale * ((k - 1) / k).pow(1 / k)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).square()


class Kumaraswamy(_TwoConcentrations, _Inverted):
    """Numbers from 0 to 1 with the distribution function 1 - (1 - x ** a) ** b.

    Example:
        >>> from ebb import distributions as D
        >>> D.Kumaraswamy(ebb.tensor(2.0), ebb.tensor(3.0)).log_prob(ebb.tensor(0.5))
        tensor(0.5232)
    """

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(self._uniform(sample_shape, self.concentration1))

    def log_prob(self, value: Tensor) -> Tensor:
        a, b, value = self.concentration1, self.concentration0, self._checked(value)
        return (a * b).log() + (a - 1) * value.log() + (b - 1) * (-value.pow(a)).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return -(b * (-self._checked(value).pow(a)).log1p()).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (-((-value).log1p() / b).expm1()).pow(1 / a)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + _EULER
        return 1 - 1 / b + (1 - 1 / a) * harmonic - (a * b).log()

    def _moment(self, power: int) -> Tensor:
        a, b = self.concentration1, self.concentration0
        one = 1 + power / a
        return (b.log() + one.lgamma() + b.lgamma() - (one + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)).pow(1 / a)
        return ebb.where((a >= 1) & (b >= 1) & (a * b > 1), mode, math.nan)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).square()


__all__ = [
    "Exponential",
    "GeneralizedPareto",
    "HalfCauchy",
    "HalfNormal",
    "Kumaraswamy",
    "Pareto",
    "Weibull",
]
