# python/ebb/distributions/relaxed.py -- continuous relatives of Bernoulli and of categories.
#
# C. J. Maddison et al., "The concrete distribution" (2017); ContinuousBernoulli: G. Loaiza-Ganem
# and J. P. Cunningham, "The continuous Bernoulli" (2019).
"""Samples between the categories, with gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import ebb
from ebb import _C, Tensor
from ebb.distributions import constraints
from ebb.distributions.categories import _Categories
from ebb.distributions.composite import TransformedDistribution
from ebb.distributions.counts import _Trials
from ebb.distributions.transforms import ExpTransform, SigmoidTransform
from ebb.distributions.utils import clamp_probs
from ebb.nn import functional as F


def _gumbel(shape: Sequence[int], like: Tensor) -> Tensor:
    return -ebb.empty(shape, dtype=like.dtype, device=like.device).exponential_().log()


class LogitRelaxedBernoulli(_Trials):
    """The logit of a RelaxedBernoulli.

    Example:
        >>> from ebb import distributions as D
        >>> D.LogitRelaxedBernoulli(ebb.tensor(1.0), ebb.tensor([0.5])).sample().shape
        ebb.Size([1])
    """

    support: Any = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ):
        self.temperature = temperature
        self._take_either(probs, logits, validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _gumbel(shape, self._given) - _gumbel(shape, self._given)  # a logistic number
        return (self.logits + noise) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        difference = self.logits - self._checked(value) * self.temperature
        log_temperature = ebb.as_tensor(self.temperature, dtype=difference.dtype).log()
        return log_temperature + difference - 2 * F.softplus(difference)


class _Relaxed(TransformedDistribution):
    """A transform of a distribution, which holds the parameters."""

    has_rsample = True
    _parts: tuple[type[Any], type[Any]]  # the distribution and the transform

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ):
        base, transform = self._parts
        parameters = base(temperature, probs, logits, validate_args)
        super().__init__(parameters, transform(), validate_args)

    def __getattr__(self, name: str) -> Any:
        if name in ("temperature", "logits", "probs"):
            return getattr(self.base_dist, name)
        if hasattr(type(self), name):  # a property that raised, which asks here then
            missing = self._missing("variance" if name == "stddev" else name)
            raise _C._attribute_error(missing)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class RelaxedBernoulli(_Relaxed):
    """Numbers within (0, 1), near the ends for a low ``temperature``.

    Example:
        >>> ebb.distributions.RelaxedBernoulli(ebb.tensor(1.0), ebb.tensor([0.5])).sample().shape
        ebb.Size([1])
    """

    arg_constraints: Mapping[str, constraints.Constraint] = _Trials.arg_constraints
    support = constraints.unit_interval
    _parts = (LogitRelaxedBernoulli, SigmoidTransform)


class ExpRelaxedCategorical(_Categories):
    """The logarithm of a RelaxedOneHotCategorical.

    Example:
        >>> from ebb import distributions as D
        >>> D.ExpRelaxedCategorical(ebb.tensor(1.0), ebb.tensor([0.5, 0.5])).sample().shape
        ebb.Size([2])
    """

    support: Any = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        self.temperature = temperature
        self._take_either(probs, logits, validate_args, is_event=True)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        noise = _gumbel(self._extended_shape(sample_shape), self._given)
        return ebb.log_softmax((self.logits + noise) / self.temperature, -1)

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = ebb.broadcast_tensors(self.logits, self._checked(value))
        count = self._num_events
        temperature = ebb.as_tensor(self.temperature, dtype=logits.dtype)
        weight = math.lgamma(count) + (count - 1) * temperature.log()
        return weight + ebb.log_softmax(logits - value * temperature, -1).sum(-1)


class RelaxedOneHotCategorical(_Relaxed):
    """Points of the simplex, near the corners for a low ``temperature``.

    Example:
        >>> from ebb import distributions as D
        >>> D.RelaxedOneHotCategorical(ebb.tensor(1.0), ebb.tensor([0.5, 0.5])).sample().shape
        ebb.Size([2])
    """

    arg_constraints: Mapping[str, constraints.Constraint] = _Categories.arg_constraints
    support = constraints.simplex
    _parts = (ExpRelaxedCategorical, ExpTransform)


class ContinuousBernoulli(_Trials):
    """Numbers x from 0 to 1 with a density in proportion to probs ** x (1 - probs) ** (1 - x).

    Args:
        lims: Between these probabilities, formulas that are 0 / 0 at 0.5 are series around it.

    Example:
        >>> ebb.distributions.ContinuousBernoulli(ebb.tensor(0.3)).log_prob(ebb.tensor(0.5))
        tensor(-0.0297)
    """

    support: Any = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ):
        self._lims = lims
        self._take_either(probs, logits, validate_args)

    def _either(self, series: Any, formula: Any) -> Tensor:
        """Return ``series(x)`` of x = probs - 0.5 near 0.5, elsewhere ``formula(probs)``."""
        probs = clamp_probs(self.probs)
        is_outside = (probs <= self._lims[0]) | (probs > self._lims[1])
        away = formula(ebb.where(is_outside, probs, self._lims[0]))
        return ebb.where(is_outside, away, series(ebb.where(is_outside, 0.0, probs - 0.5)))

    def _log_weight(self) -> Tensor:
        """Return the logarithm of what makes the density's integral 1."""

        def formula(p: Tensor) -> Tensor:
            return ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log()

        return self._either(
            lambda x: math.log(2) + (4 / 3 + 104 / 45 * x.square()) * x.square(), formula
        )

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        given = self._given
        u = ebb.empty(self._extended_shape(sample_shape), dtype=given.dtype, device=given.device)
        return self.icdf(u.uniform_())

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = ebb.broadcast_tensors(self.logits, self._checked(value))
        terms = -F.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return terms + self._log_weight()

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)

        def formula(p: Tensor) -> Tensor:
            return (p.pow(value) * (1 - p).pow(1 - value) + p - 1) / (2 * p - 1)

        shares = self._either(lambda x: value + 0 * x, formula)
        return ebb.where(value <= 0, 0.0, ebb.where(value >= 1, 1.0, shares))

    def icdf(self, value: Tensor) -> Tensor:
        def formula(p: Tensor) -> Tensor:
            return ((value * (2 * p - 1) - p).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())

        return self._either(lambda x: value + 0 * x, formula)

    def entropy(self) -> Tensor:
        p = clamp_probs(self.probs)
        odds = p.log() - (-p).log1p()
        return -self.mean * odds - self._log_weight() - (-p).log1p()

    @property
    def mean(self) -> Tensor:
        def formula(p: Tensor) -> Tensor:
            return p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())

        return self._either(lambda x: 0.5 + (1 / 3 + 16 / 45 * x.square()) * x, formula)

    @property
    def variance(self) -> Tensor:
        def formula(p: Tensor) -> Tensor:
            odds = (-p).log1p() - p.log()
            return p * (p - 1) / (1 - 2 * p).square() + 1 / odds.square()

        return self._either(
            lambda x: 1 / 12 - (1 / 15 - 128 / 945 * x.square()) * x.square(), formula
        )


__all__ = [
    "ContinuousBernoulli",
    "ExpRelaxedCategorical",
    "LogitRelaxedBernoulli",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
]
