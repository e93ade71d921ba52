# python/ebb/distributions/distribution.py -- Distribution: what all distributions share.
#
# A distribution names its parameters once, in arg_constraints, and hands their values to _take():
# that broadcasts, keeps and checks them. expand() and repr() go through the same names. What is
# left to a class is its mathematics. Start reading at Distribution._take().
"""The base of all distributions."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import ebb
from ebb import Size, Tensor
from ebb.distributions import constraints
from ebb.distributions.constraints import Constraint
from ebb.distributions.utils import broadcast_all, lazy_property
from ebb.errors import DTypeError, NotImplementedError, ShapeError, ValueError


class Distribution:
    """A batch of distributions over events.

    Args:
        batch_shape: The shape of the batch, that of the parameters of scalar distributions.
        event_shape: The shape of one event.
        validate_args: Whether parameters and values are checked; by default as
            ``set_default_validate_args`` says.

    Example:
        >>> ebb.distributions.Normal(0.0, 1.0).mean
        tensor(0.)
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: Mapping[str, Constraint] = {}
    _validate_args = __debug__

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ):
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Check parameters and values, or not, in distributions made from now on."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: needs a bool, got {value!r}")
        Distribution._validate_args = value

    def _take(self, validate_args: bool | None, /, **parameters: Tensor | float) -> None:
        """Keep parameters, broadcast against each other; their shape is that of the batch."""
        values = broadcast_all(*parameters.values())
        self.__dict__.update(zip(parameters, values, strict=True))
        Distribution.__init__(self, values[0].shape, validate_args=validate_args)

    def _check_parameters(self) -> None:
        for name, constraint in self.arg_constraints.items():
            is_derived = isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or (is_derived and name not in vars(self)):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"{type(self).__name__}: {name} must satisfy {constraint}, got {_range(value)}"
                )

    # Shapes.

    @property
    def batch_shape(self) -> Size:
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event, without the batch."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Distribution:
        """Return this distribution with its parameters expanded to another shape of the batch."""
        new = self._get_checked_instance(type(self), _instance)
        new.__dict__.update(copy.copy(vars(self)))
        for name, constraint in self.arg_constraints.items():
            value = vars(self).get(name)
            if isinstance(value, Tensor):
                event = value.shape[value.ndim - _event_dim(constraint) :]
                new.__dict__[name] = value.expand((*batch_shape, *event))
        new._batch_shape = Size(batch_shape)
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """Return ``_instance``, or a distribution of this class without attributes."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"expand: {type(self).__name__} needs one of its own, as it has its own __init__()"
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    # What a distribution answers.

    @property
    def support(self) -> Constraint:
        """The values that samples can have."""
        raise self._missing("support")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise self._missing("mean")

    @property
    def mode(self) -> Tensor:
        """The value of the greatest density."""
        raise self._missing("mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise self._missing("variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples without gradient, of the shape sample + batch + event."""
        with ebb.no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Tensor:
        """Return ``sample((n,))``, as programs from before sample shapes call it."""
        return self.sample((n,))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return samples through which gradients reach the parameters."""
        raise self._missing("rsample")

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability, of each event."""
        raise self._missing("log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a sample of at most ``value``."""
        raise self._missing("cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value whose ``cdf`` is ``value``."""
        raise self._missing("icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values along a new first dim; over the whole batch if ``expand``."""
        raise self._missing("enumerate_support")

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        raise self._missing("entropy")

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy."""
        return self.entropy().exp()

    def _missing(self, name: str) -> NotImplementedError:
        return NotImplementedError(f"{name}: {type(self).__name__} has none")

    # Values that are given.

    def _validate_sample(self, value: Tensor) -> None:
        """Refuse what is no sample of this distribution: a wrong type, shape or value."""
        name = type(self).__name__
        if not isinstance(value, Tensor):
            raise DTypeError(f"{name}: value must be Tensor, got {type(value).__name__}")
        event = len(self._event_shape)
        whole = self._extended_shape()
        pairs = zip(reversed(value.shape), reversed(whole), strict=False)
        if value.shape[value.ndim - event :] != self._event_shape or any(
            given not in (1, own) and own != 1 for given, own in pairs
        ):
            raise ShapeError(
                f"{name}: value must broadcast to batch {list(self._batch_shape)} and event "
                f"{list(self._event_shape)}, got {list(value.shape)}"
            )
        try:
            support = self.support
        except NotImplementedError:
            return
        if not support.check(value).all():
            raise ValueError(f"{name}: value must be within {support}, got {_range(value)}")

    def _checked(self, value: Tensor) -> Tensor:
        """Return ``value``, validated if this distribution validates."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def __repr__(self) -> str:
        parts = []
        for name in self.arg_constraints:
            is_read = isinstance(getattr(type(self), name, None), property)
            value = getattr(self, name) if is_read else vars(self).get(name)
            if isinstance(value, Tensor):
                text = value.item() if value.numel() == 1 else value.shape
                parts.append(f"{name}: {text}")
        return f"{type(self).__name__}({', '.join(parts)})"


def _event_dim(constraint: Any) -> int:
    return constraint.event_dim


def _range(value: Tensor) -> str:
    """Return the extremes of what was given, as errors show it."""
    low, high = value.detach().min().item(), value.detach().max().item()
    return f"values from {low:g} to {high:g}"


class ExponentialFamily(Distribution):
    """Distributions of the form exp(<t(x), natural parameters> - log normalizer + k(x)).

    A class that gives ``_natural_params``, ``_log_normalizer`` and ``_mean_carrier_measure``, the
    mean of k, has its entropy and its divergence from others of the class by differentiation.

    Example:
        >>> normal = ebb.distributions.Normal(0.0, 1.0)
        >>> isinstance(normal, ebb.distributions.ExponentialFamily)
        True
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise self._missing("_natural_params")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise self._missing("_log_normalizer")

    @property
    def _mean_carrier_measure(self) -> float | Tensor:
        raise self._missing("_mean_carrier_measure")

    def _log_normalizer_and_means(self) -> tuple[Tensor, tuple[Tensor, ...], Any]:
        """Return the log normalizer, the natural parameters, and the means of t(x)."""
        with ebb.enable_grad():
            leaves = tuple(one.detach().requires_grad_() for one in self._natural_params)
            normalizer = self._log_normalizer(*leaves)
            means = ebb.autograd.grad(normalizer.sum(), leaves, create_graph=True)
        return normalizer, leaves, means

    def entropy(self) -> Tensor:
        normalizer, naturals, means = self._log_normalizer_and_means()
        result = normalizer - self._mean_carrier_measure
        for natural, mean in zip(naturals, means, strict=True):
            terms = natural * mean
            result = result - terms.reshape(*self._batch_shape, -1).sum(-1)
        return result
