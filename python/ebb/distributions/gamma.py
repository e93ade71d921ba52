# python/ebb/distributions/gamma.py -- Gamma and what is made of gamma variables: Beta and others.
#
# All are drawn from ebb's op standard_gamma, whose gradient moves a variable so that its share in
# the distribution stays. Ratios are taken between logarithms: small shapes do not underflow.
"""Distributions that are drawn from gamma variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ebb
from ebb import Tensor
from ebb.distributions import constraints
from ebb.distributions.distribution import Distribution, ExponentialFamily

_standard_gamma = ebb._C._ops.standard_gamma


class _Rated(Distribution):
    """Distributions of a shape, ``concentration``, and a ``rate``."""

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    has_rsample = True
    concentration: Tensor
    rate: Tensor

    def __init__(
        self,
        concentration: Tensor | float,
        rate: Tensor | float,
        validate_args: bool | None = None,
    ):
        self._take(validate_args, concentration=concentration, rate=rate)


class Gamma(_Rated, ExponentialFamily):
    """Sums of waiting times: of shape ``concentration``, over ``rate``.

    Example:
        >>> ebb.distributions.Gamma(2.0, 4.0).mean
        tensor(0.5000)
    """

    support: constraints.Constraint = constraints.nonnegative
    _mean_carrier_measure = 0

    def sample(
        self, sample_shape: Sequence[int] = (), *, generator: ebb.Generator | None = None
    ) -> Tensor:
        with ebb.no_grad():
            return self.rsample(sample_shape, generator)

    def rsample(
        self, sample_shape: Sequence[int] = (), generator: ebb.Generator | None = None
    ) -> Tensor:
        wide = self.concentration.expand(self._extended_shape(sample_shape))
        return _standard_gamma(wide, generator=generator) / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        a, rate, value = self.concentration, self.rate, self._checked(value)
        return ebb.xlogy(a, rate) + ebb.xlogy(a - 1, value) - rate * value - a.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        return ebb.igamma(self.concentration, self.rate * self._checked(value))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.square()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return (x + 1).lgamma() - (x + 1) * (-y).log()


class Chi2(Gamma):
    """The sum of ``df`` squares of standard normal numbers.

    Example:
        >>> ebb.distributions.Chi2(ebb.tensor(3.0)).log_prob(ebb.tensor(1.0))
        tensor(-1.4189)
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {"df": constraints.positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None):
        super().__init__(0.5 * df, 0.5, validate_args)

    @property
    def df(self) -> Tensor:
        """The number of squares."""
        return 2 * self.concentration

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Chi2:
        new = super().expand(batch_shape, _instance)
        new.concentration = self.concentration.expand(batch_shape)
        new.rate = self.rate.expand(batch_shape)
        return new


class InverseGamma(_Rated):
    """One over a gamma variable.

    Example:
        >>> from ebb import distributions as D
        >>> D.InverseGamma(ebb.tensor(3.0), ebb.tensor(2.0)).log_prob(ebb.tensor(1.0))
        tensor(-0.6137)
    """

    support: constraints.Constraint = constraints.positive

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.rate / _standard_gamma(self.concentration.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        a, rate, value = self.concentration, self.rate, self._checked(value)
        return a * rate.log() - (a + 1) * value.log() - rate / value - a.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        return ebb.igammac(self.concentration, self.rate / self._checked(value))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()

    @property
    def mean(self) -> Tensor:
        a = self.concentration
        return ebb.where(a > 1, self.rate / (a - 1), ebb.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return ebb.where(a > 2, (self.rate / (a - 1)).square() / (a - 2), ebb.inf)


class Dirichlet(ExponentialFamily):
    """Points of the simplex: gamma variables of shapes ``concentration`` over their sum.

    Example:
        >>> ebb.distributions.Dirichlet(ebb.tensor([1.0, 2.0])).mean
        tensor([0.3333, 0.6667])
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "concentration": constraints.independent(constraints.positive, 1),
    }
    support: constraints.Constraint = constraints.simplex
    has_rsample = True
    concentration: Tensor

    def __init__(self, concentration: Tensor, validate_args: bool | None = None):
        if concentration.ndim < 1:
            raise ebb.errors.ShapeError("Dirichlet: concentration needs at least one dim, got []")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return ebb.softmax(_standard_gamma(self.concentration.expand(shape), True), -1)

    def log_prob(self, value: Tensor) -> Tensor:
        a, value = self.concentration, self._checked(value)
        return ebb.xlogy(a - 1, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1)
        spread = (total - a.size(-1)) * total.digamma() - ((a - 1) * a.digamma()).sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() + spread

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        less = (self.concentration - 1).clamp(min=0.0)
        mode = less / less.sum(-1, True)
        # Without one above 1 the density is greatest at the corner of the largest.
        corner = ebb.zeros_like(mode).scatter(-1, self.concentration.argmax(-1, True), 1.0)
        return ebb.where((self.concentration < 1).all(-1, True), corner, mode)

    @property
    def variance(self) -> Tensor:
        total, mean = self.concentration.sum(-1, True), self.mean
        return mean * (1 - mean) / (total + 1)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


class _TwoConcentrations(Distribution):
    """Numbers from 0 to 1, near 1 for a large ``concentration1``, near 0 for the other."""

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support: constraints.Constraint = constraints.unit_interval
    has_rsample = True
    concentration1: Tensor
    concentration0: Tensor

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ):
        self._take(validate_args, concentration1=concentration1, concentration0=concentration0)


class Beta(_TwoConcentrations, ExponentialFamily):
    """Numbers from 0 to 1: the first of a Dirichlet's two.

    Example:
        >>> ebb.distributions.Beta(ebb.tensor(2.0), ebb.tensor(3.0)).log_prob(ebb.tensor(0.5))
        tensor(0.4055)
    """

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        log1 = _standard_gamma(self.concentration1.expand(shape), True)
        log0 = _standard_gamma(self.concentration0.expand(shape), True)
        return ebb.sigmoid(log1 - log0)

    def log_prob(self, value: Tensor) -> Tensor:
        a, b, value = self.concentration1, self.concentration0, self._checked(value)
        return ebb.xlogy(a - 1, value) + ebb.xlogy(b - 1, 1 - value) - self._log_beta(a, b)

    @staticmethod
    def _log_beta(a: Tensor, b: Tensor) -> Tensor:
        return a.lgamma() + b.lgamma() - (a + b).lgamma()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        slopes = (a - 1) * a.digamma() + (b - 1) * b.digamma()
        return self._log_beta(a, b) - slopes + (a + b - 2) * (a + b).digamma()

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        both = ebb.stack([self.concentration1, self.concentration0], -1)
        return Dirichlet(both, validate_args=False).mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.square() * (total + 1))

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return self._log_beta(x, y)


class FisherSnedecor(Distribution):
    """The ratio of two means of squares of normal numbers, ``df1`` over ``df2`` of them.

    Example:
        >>> from ebb import distributions as D
        >>> D.FisherSnedecor(ebb.tensor(3.0), ebb.tensor(4.0)).log_prob(ebb.tensor(1.0))
        tensor(-1.0684)
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "df1": constraints.positive,
        "df2": constraints.positive,
    }
    support: constraints.Constraint = constraints.positive
    has_rsample = True
    df1: Tensor
    df2: Tensor

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None):
        self._take(validate_args, df1=df1, df2=df2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        above = _standard_gamma((self.df1 / 2).expand(shape), True)
        below = _standard_gamma((self.df2 / 2).expand(shape), True)
        return (above - below).exp() * (self.df2 / self.df1)

    def log_prob(self, value: Tensor) -> Tensor:
        a, b, value = self.df1 / 2, self.df2 / 2, self._checked(value)
        ratio = self.df1 / self.df2
        weight = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return weight + a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()

    @property
    def mean(self) -> Tensor:
        return ebb.where(self.df2 > 2, self.df2 / (self.df2 - 2), ebb.nan)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return ebb.where(self.df1 > 2, mode, ebb.nan)

    @property
    def variance(self) -> Tensor:
        df1, df2 = self.df1, self.df2
        finite = 2 * df2.square() * (df1 + df2 - 2) / (df1 * (df2 - 2).square() * (df2 - 4))
        return ebb.where(df2 > 4, finite, ebb.nan)


__all__ = ["Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma"]
