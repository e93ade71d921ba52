# python/ebb/distributions/composite.py -- distributions made of others: transformed, mixed, joined.
"""TransformedDistribution, Independent, MixtureSameFamily, LogNormal, LogisticNormal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ebb
from ebb import Size, Tensor
from ebb.distributions import constraints
from ebb.distributions.categories import Categorical
from ebb.distributions.distribution import Distribution
from ebb.distributions.location_scale import Normal
from ebb.distributions.transforms import (
    ComposeTransform,
    ExpTransform,
    StickBreakingTransform,
    Transform,
)
from ebb.distributions.transforms.base import sum_rightmost
from ebb.errors import DTypeError, ShapeError, ValueError


class Independent(Distribution):
    """A distribution whose last ``reinterpreted_batch_ndims`` dims of the batch join the event.

    Example:
        >>> from ebb import distributions as D
        >>> D.Independent(D.Normal(ebb.zeros(3), ebb.ones(3)), 1).event_shape
        ebb.Size([3])
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {}

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ):
        batch = base_distribution.batch_shape
        kept = len(batch) - reinterpreted_batch_ndims
        if kept < 0:
            raise ValueError(
                f"Independent: needs reinterpreted_batch_ndims of at most {len(batch)}, the dims "
                f"of the batch, got {reinterpreted_batch_ndims}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        event = (*batch[kept:], *base_distribution.event_shape)
        super().__init__(batch[:kept], event, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Independent:
        new = self._get_checked_instance(Independent, _instance)
        joined = self.event_shape[: self.reinterpreted_batch_ndims]
        base = self.base_dist.expand((*batch_shape, *joined))
        Independent.__init__(new, base, self.reinterpreted_batch_ndims, self._validate_args)
        return new

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.independent(self.base_dist.support, self.reinterpreted_batch_ndims)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise self._missing("enumerate_support")
        return self.base_dist.enumerate_support(expand)

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of y = transform(x), where x has the base distribution.

    Example:
        >>> base = ebb.distributions.Normal(ebb.zeros(1), ebb.ones(1))
        >>> from ebb import distributions as D
        >>> D.TransformedDistribution(base, [D.ExpTransform()]).sample().shape
        ebb.Size([1])
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ):
        self.transforms: list[Transform] = (
            [transforms] if isinstance(transforms, Transform) else list(transforms)
        )
        if not all(isinstance(one, Transform) for one in self.transforms):
            raise DTypeError(f"{type(self).__name__}: needs transforms, got {transforms!r}")
        whole = ComposeTransform(self.transforms)
        domain, codomain = whole.domain.event_dim, whole.codomain.event_dim
        shape = base_distribution._extended_shape()
        if len(shape) < domain:
            raise ShapeError(
                f"{type(self).__name__}: needs a base of at least {domain} dims, got {list(shape)}"
            )
        to_shape = whole.forward_shape(shape)
        self.base_dist: Distribution = _as_wide(
            base_distribution, whole.inverse_shape(to_shape), domain
        )
        event_dim = max(codomain, len(self.base_dist.event_shape) + codomain - domain)
        batch = len(to_shape) - event_dim
        super().__init__(to_shape[:batch], to_shape[batch:], validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> TransformedDistribution:
        new = self._get_checked_instance(type(self), _instance)
        shape = ComposeTransform(self.transforms).inverse_shape((*batch_shape, *self.event_shape))
        batch = shape[: len(shape) - len(self.base_dist.event_shape)]
        new.__dict__.update(vars(self))
        new.base_dist = self.base_dist.expand(batch)
        new._batch_shape = Size(batch_shape)
        return new

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> constraints.Constraint:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def _back(self, y: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            y = transform.inv(y)
        return y

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with ebb.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        y = self._checked(value)
        event_dim = len(self.event_shape)
        total: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            size = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(size, event_dim - transform.domain.event_dim)
            y = x
        base = self.base_dist
        return total + sum_rightmost(base.log_prob(y), event_dim - len(base.event_shape))

    def _mirrored(self, share: Tensor) -> Tensor:
        """Return 1 - share where the transforms fall."""
        sign = ComposeTransform(self.transforms).sign
        return sign * (share - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        return self._mirrored(self.base_dist.cdf(self._back(self._checked(value))))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._mirrored(value)))


def _as_wide(base: Distribution, shape: Size, event_dim: int) -> Distribution:
    """Return a distribution of this whole shape whose events have at least that many dims."""
    if base._extended_shape() != shape:
        base = base.expand(shape[: len(shape) - len(base.event_shape)])
    more = event_dim - len(base.event_shape)
    return Independent(base, more) if more > 0 else base


class LogNormal(TransformedDistribution):
    """A number whose logarithm is normal, of mean ``loc`` and standard deviation ``scale``.

    Example:
        >>> ebb.distributions.LogNormal(ebb.tensor(0.0), ebb.tensor(1.0)).log_prob(ebb.tensor(1.0))
        tensor(-0.9189)
    """

    arg_constraints: Mapping[str, constraints.Constraint] = Normal.arg_constraints
    support = constraints.positive
    has_rsample = True

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ):
        base = Normal(loc, scale, validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.square() / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        square = self.scale.square()
        return square.expm1() * (2 * self.loc + square).exp()


class LogisticNormal(TransformedDistribution):
    """Points of the simplex whose stick-breaking numbers are normal.

    Example:
        >>> ebb.distributions.LogisticNormal(ebb.zeros(2), ebb.ones(2)).sample().shape
        ebb.Size([3])
    """

    arg_constraints: Mapping[str, constraints.Constraint] = Normal.arg_constraints
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ):
        base = Normal(loc, scale, validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The means of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal numbers."""
        return self.base_dist.base_dist.scale


class MixtureSameFamily(Distribution):
    """One of several components, which a Categorical chooses.

    Args:
        mixture_distribution: A Categorical over the components.
        component_distribution: The components, along the last dim of its batch.

    Example:
        >>> parts = ebb.distributions.Normal(ebb.tensor([-1.0, 1.0]), ebb.ones(2))
        >>> weights = ebb.distributions.Categorical(ebb.tensor([0.5, 0.5]))
        >>> ebb.distributions.MixtureSameFamily(weights, parts).mean
        tensor(0.)
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ):
        if not isinstance(mixture_distribution, Categorical):
            raise DTypeError(
                "MixtureSameFamily: needs a Categorical for mixture_distribution, "
                f"got {type(mixture_distribution).__name__}"
            )
        count = mixture_distribution._num_events
        components = component_distribution.batch_shape
        if not components or components[-1] != count:
            raise ShapeError(
                f"MixtureSameFamily: needs {count} components along the last dim of the batch, "
                f"got a batch of {list(components)}"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        super().__init__(components[:-1], component_distribution.event_shape, validate_args)

    @property
    def mixture_distribution(self) -> Categorical:
        """What chooses the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> MixtureSameFamily:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        count = self._mixture_distribution._num_events
        components = self._component_distribution.expand((*batch_shape, count))
        mixture = self._mixture_distribution.expand(batch_shape)
        MixtureSameFamily.__init__(new, mixture, components, self._validate_args)
        return new

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _weights(self) -> Tensor:
        """Return the probabilities of the components, beside their events."""
        probs = self._mixture_distribution.probs
        return probs.reshape(*probs.shape, *[1] * len(self.event_shape))

    def _sum(self, tensor: Tensor) -> Tensor:
        """Return the sum over the components."""
        return tensor.sum(-1 - len(self.event_shape))

    def _beside(self, value: Tensor) -> Tensor:
        return value.unsqueeze(-1 - len(self.event_shape))

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with ebb.no_grad():
            values = self._component_distribution.sample(sample_shape)
            chosen = self._mixture_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self.batch_shape)
            places = chosen.reshape(*chosen.shape, *[1] * (values.ndim - chosen.ndim))
            places = places.expand(*values.shape[:dim], 1, *self.event_shape)
            return values.gather(dim, places).squeeze(dim)

    def log_prob(self, x: Tensor) -> Tensor:
        logs = self._component_distribution.log_prob(self._beside(self._checked(x)))
        return (logs + ebb.log_softmax(self._mixture_distribution.logits, -1)).logsumexp(-1)

    def cdf(self, x: Tensor) -> Tensor:
        shares = self._component_distribution.cdf(self._beside(self._checked(x)))
        return (shares * self._mixture_distribution.probs).sum(-1)

    @property
    def mean(self) -> Tensor:
        return self._sum(self._weights() * self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        components = self._component_distribution
        spread = (components.mean - self._beside(self.mean)).square()
        return self._sum(self._weights() * (components.variance + spread))

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self.mixture_distribution!r}, {self.component_distribution!r})"


__all__ = [
    "Independent",
    "LogNormal",
    "LogisticNormal",
    "MixtureSameFamily",
    "TransformedDistribution",
]
