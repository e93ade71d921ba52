# python/ebb/distributions/categories.py -- Categorical, OneHotCategorical, Multinomial.
#
# Probabilities lie along the last dim of probs or logits and are normalised when taken; all stand
# on Categorical.
"""Distributions over a finite number of categories."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import ebb
from ebb import Size, Tensor
from ebb.distributions import constraints
from ebb.distributions.distribution import Distribution
from ebb.distributions.utils import (
    clamp_probs,
    exactly_one,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from ebb.nn import functional as F


class _Categories(Distribution):
    """Probabilities along the last dim; kept normalised, in the form in which they came."""

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }

    _is_event = True  # that the last dim is the event's

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        self._take_either(probs, logits, validate_args, is_event=self._is_event)

    def _take_either(
        self,
        probs: Tensor | None,
        logits: Tensor | None,
        validate_args: bool | None,
        is_event: bool,
    ) -> None:
        name = type(self).__name__
        exactly_one(name, probs=probs, logits=logits)
        given: Any = logits if probs is None else probs
        if given.ndim < 1:
            raise ebb.errors.ShapeError(f"{name}: needs at least one dim, got {list(given.shape)}")
        if probs is None:
            self.logits = given - given.logsumexp(-1, True)
        else:
            self.probs = given / given.sum(-1, True)
        event = given.shape[-1:] if is_event else ()
        super().__init__(given.shape[:-1], event, validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities; they sum to 1."""
        return logits_to_probs(self.logits)

    @lazy_property
    def logits(self) -> Tensor:
        """Logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @property
    def _given(self) -> Tensor:
        return vars(self)["probs" if "probs" in vars(self) else "logits"]

    @property
    def _num_events(self) -> int:
        return self._given.size(-1)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._given.shape

    def _draw(self, draws: int) -> Tensor:
        """Return ``draws`` indices for each distribution of the batch, along the first dim."""
        rows = self.probs.detach().reshape(-1, self._num_events)
        return rows.multinomial(draws, True).t() if draws else rows.new_zeros(0, len(rows)).long()

    def _mean_log(self) -> Tensor:
        """Return the sum of p log p; what is impossible adds nothing."""
        smallest = ebb.finfo(self.logits.dtype).min
        return (self.logits.clamp(min=smallest) * self.probs).sum(-1)


class Categorical(_Categories):
    """Indices from 0 to K - 1, with the probabilities along the last dim.

    Args:
        probs: Weights, not negative; they are divided by their sum.
        logits: Logarithms of weights.
    Example:
        >>> ebb.distributions.Categorical(ebb.tensor([1.0, 3.0])).log_prob(ebb.tensor(1)).exp()
        tensor(0.7500)
    """

    has_enumerate_support = True
    _is_event = False

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with ebb.no_grad():
            drawn = self._draw(math.prod(sample_shape))
            return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        places = self._checked(value).long().unsqueeze(-1)
        places, logits = ebb.broadcast_tensors(places, self.logits)
        return logits.gather(-1, places[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        return -self._mean_log()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = ebb.arange(self._num_events, device=self._given.device)
        values = values.reshape(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values

    @property
    def mean(self) -> Tensor:
        return ebb.full(self._extended_shape(), math.nan, dtype=self._given.dtype)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return self.mean


class OneHotCategorical(_Categories):
    """Vectors with a 1 at the category that was drawn, else 0.

    Example:
        >>> ebb.distributions.OneHotCategorical(ebb.tensor([0.5, 0.5])).mean
        tensor([0.5000, 0.5000])
    """

    support: constraints.Constraint = constraints.one_hot
    has_enumerate_support = True

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with ebb.no_grad():
            drawn = F.one_hot(self._draw(math.prod(sample_shape)), self._num_events)
            return drawn.to(self._given.dtype).reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        value, logits = ebb.broadcast_tensors(self._checked(value), self.logits)
        return logits.gather(-1, value.argmax(-1, True)).squeeze(-1)

    def entropy(self) -> Tensor:
        return -self._mean_log()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._num_events
        values = ebb.eye(count, dtype=self._given.dtype, device=self._given.device)
        values = values.reshape(count, *[1] * len(self._batch_shape), count)
        return values.expand(count, *self._batch_shape, count) if expand else values

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        places = self.probs.argmax(-1)
        return F.one_hot(places, self._num_events).to(self._given.dtype)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose samples pass gradients on as if they were the probabilities.

    Example:
        >>> from ebb import distributions as D
        >>> D.OneHotCategoricalStraightThrough(ebb.tensor([0.5, 0.5])).rsample().shape
        ebb.Size([2])
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(_Categories):
    """How often each category came in ``total_count`` draws.

    Example:
        >>> ebb.distributions.Multinomial(4, probs=ebb.tensor([0.5, 0.5])).mean
        tensor([2., 2.])
    """

    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        if not isinstance(total_count, int) or total_count < 0:
            raise ebb.errors.ValueError(
                f"Multinomial: total_count must be an int from 0 on, got {total_count!r}"
            )
        self.total_count = total_count
        self._take_either(probs, logits, validate_args, is_event=True)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with ebb.no_grad():
            count = math.prod(sample_shape)
            drawn = self._draw(count * self.total_count)
            drawn = drawn.reshape(self.total_count, count, drawn.size(-1)).movedim(0, -1)
            counts = ebb.zeros(count, drawn.size(1), self._num_events, dtype=self._given.dtype)
            counts = counts.scatter_add(-1, drawn, ebb.ones(drawn.shape, dtype=counts.dtype))
            return counts.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        value, logits = ebb.broadcast_tensors(self._checked(value), self.logits)
        is_surely_none = (value == 0) & (logits == -math.inf)
        logs = ebb.where(is_surely_none, 0.0, logits) * value
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + logs.sum(-1)

    def entropy(self) -> Tensor:
        # The categories' counts are binomial; only their factorials do not add up to a number.
        from ebb.distributions.counts import Binomial

        n = ebb.tensor(self.total_count, dtype=self._given.dtype, device=self._given.device)
        binomial = Binomial(self.total_count, probs=clamp_probs(self.probs), validate_args=False)
        values = binomial.enumerate_support(False)[1:]
        weights = binomial.log_prob(values).exp()
        ways = (weights * (values + 1).lgamma()).sum((0, -1))
        return -n * self._mean_log() - (n + 1).lgamma() + ways

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)


__all__ = [
    "Categorical",
    "Multinomial",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
]
