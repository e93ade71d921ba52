# python/ebb/distributions/counts.py -- Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson.
#
# All but Poisson count trials of one probability, given by probs or by logits; _Trials holds both.
"""Distributions over counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import ebb
from ebb import Tensor
from ebb.distributions import constraints
from ebb.distributions.distribution import Distribution, ExponentialFamily
from ebb.distributions.utils import (
    clamp_probs,
    exactly_one,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from ebb.nn import functional as F


class _Trials(Distribution):
    """Trials that succeed with probability ``probs``, the sigmoid of ``logits``."""

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ):
        self._take_either(probs, logits, validate_args)

    def _take_either(
        self,
        probs: Tensor | float | None,
        logits: Tensor | float | None,
        validate_args: bool | None,
        **others: Tensor | float,
    ) -> None:
        exactly_one(type(self).__name__, probs=probs, logits=logits)
        given = {"logits": logits} if probs is None else {"probs": probs}
        self._take(validate_args, **others, **given)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of success."""
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        """log(probs / (1 - probs))."""
        return probs_to_logits(self.probs, is_binary=True)

    @property
    def _given(self) -> Tensor:
        """What was given of the two, for its dtype and device."""
        return vars(self)["probs" if "probs" in vars(self) else "logits"]

    @property
    def param_shape(self) -> ebb.Size:
        """The shape of the parameter that was given."""
        return self._given.shape

    def _wide(self, tensor: Tensor, sample_shape: Sequence[int]) -> Tensor:
        return tensor.detach().expand(self._extended_shape(sample_shape))


class Bernoulli(_Trials, ExponentialFamily):
    """1 with probability ``probs``, else 0.

    Example:
        >>> ebb.distributions.Bernoulli(ebb.tensor(0.5)).log_prob(ebb.tensor(1.0))
        tensor(-0.6931)
    """

    support: constraints.Constraint = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with ebb.no_grad():
            return ebb.bernoulli(self._wide(self.probs, sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = ebb.broadcast_tensors(self.logits, self._checked(value))
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = self._given.new_tensor([0.0, 1.0]).reshape(2, *[1] * len(self._batch_shape))
        return values.expand(2, *self._batch_shape) if expand else values

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        mode = (self.probs > 0.5).to(self.probs.dtype)
        return ebb.where(self.probs == 0.5, math.nan, mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return F.softplus(x)


class Geometric(_Trials):
    """The number of failures before the first success.

    Example:
        >>> ebb.distributions.Geometric(ebb.tensor(0.5)).log_prob(ebb.tensor(2.0))
        tensor(-2.0794)
    """

    support: constraints.Constraint = constraints.nonnegative_integer

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if "probs" in vars(self) and not (self.probs > 0).all():
            raise ebb.errors.ValueError(f"Geometric: probs must be positive, got {self!r}")

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with ebb.no_grad():
            probs = self._wide(self.probs, sample_shape)
            waits = ebb.empty(probs.shape, dtype=probs.dtype, device=probs.device).exponential_()
            return (waits / -(-clamp_probs(probs)).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        value, probs = ebb.broadcast_tensors(self._checked(value), self.probs)
        is_sure = (probs == 1) & (value == 0)
        failures = ebb.where(is_sure, 0.0, value * (-ebb.where(is_sure, 0.0, probs)).log1p())
        return failures + self.probs.log()

    def entropy(self) -> Tensor:
        return (
            F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
            / self.probs
        )

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return ebb.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs


class Binomial(_Trials):
    """The number of successes in ``total_count`` trials.

    Example:
        >>> ebb.distributions.Binomial(4, probs=ebb.tensor(0.5)).log_prob(ebb.tensor(2.0))
        tensor(-0.9808)
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "total_count": constraints.nonnegative_integer,
        **_Trials.arg_constraints,
    }
    has_enumerate_support = True
    total_count: Tensor

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ):
        self._take_either(probs, logits, validate_args, total_count=total_count)
        self.total_count = self.total_count.to(self._given.dtype)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with ebb.no_grad():
            counts = self._wide(self.total_count, sample_shape)
            return ebb.binomial(counts, self._wide(self.probs, sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        n, logits = self.total_count, self.logits
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * logits - n * F.softplus(logits)

    def entropy(self) -> Tensor:
        values = self.enumerate_support(False)  # refuses counts that differ
        logs = self.log_prob(values)
        return -(logs.exp() * logs).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        most = int(self.total_count.max().item())
        if self.total_count.min().item() != most:
            raise ebb.errors.NotImplementedError(
                "Binomial: enumerate_support needs one total_count for the whole batch"
            )
        values = ebb.arange(most + 1, dtype=self._given.dtype, device=self._given.device)
        values = values.reshape(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)


class NegativeBinomial(_Trials):
    """The number of successes before ``total_count`` failures.

    Example:
        >>> from ebb import distributions as D
        >>> D.NegativeBinomial(ebb.tensor(3.0), ebb.tensor(0.5)).log_prob(ebb.tensor(2.0))
        tensor(-1.6740)
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "total_count": constraints.nonnegative,
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support: constraints.Constraint = constraints.nonnegative_integer
    total_count: Tensor

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ):
        self._take_either(probs, logits, validate_args, total_count=total_count)
        self.total_count = self.total_count.to(self._given.dtype)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with ebb.no_grad():  # a Poisson variable whose rate is a Gamma variable
            shape = self._wide(self.total_count, sample_shape)
            return ebb.poisson(ebb._C._ops.standard_gamma(shape) * self.logits.exp())

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        n = self.total_count
        terms = n * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        # (n + value - 1)! / (n - 1)! is 1 without a value, also where n is 0.
        total = ebb.where(value + n == 0, 1.0, value + n)
        shape = ebb.where(n == 0, 1.0, n)
        return terms + ebb.where(
            value + n == 0, 0.0, total.lgamma() - shape.lgamma() - (1 + value).lgamma()
        )

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / ebb.sigmoid(-self.logits)


class Poisson(ExponentialFamily):
    """The number of events that come independently, ``rate`` in the mean.

    Example:
        >>> ebb.distributions.Poisson(ebb.tensor(3.0)).log_prob(ebb.tensor(2.0))
        tensor(-1.4959)
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {"rate": constraints.nonnegative}
    support: constraints.Constraint = constraints.nonnegative_integer
    rate: Tensor

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None):
        self._take(validate_args, rate=rate)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with ebb.no_grad():
            return ebb.poisson(self.rate.detach().expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        rate, value = ebb.broadcast_tensors(self.rate, self._checked(value))
        return ebb.xlogy(value, rate) - rate - (value + 1).lgamma()

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp()


__all__ = ["Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson"]
