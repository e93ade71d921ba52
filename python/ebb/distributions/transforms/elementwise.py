# python/ebb/distributions/transforms/elementwise.py -- transforms of single numbers.
"""Maps of each number by itself."""

from __future__ import annotations

import math
from typing import Any

import ebb
from ebb import Tensor
from ebb.distributions import constraints
from ebb.distributions.transforms.base import Transform, sum_rightmost
from ebb.nn import functional as F


class ExpTransform(Transform):
    """y = exp(x).

    Example:
        >>> ebb.distributions.ExpTransform()(ebb.tensor(0.0))
        tensor(1.)
    """

    domain: constraints.Constraint = constraints.real
    codomain: constraints.Constraint = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """y = x ** exponent, of positive numbers.

    Example:
        >>> ebb.distributions.PowerTransform(ebb.tensor(2.0))(ebb.tensor(3.0))
        tensor(9.)
    """

    domain: constraints.Constraint = constraints.positive
    codomain: constraints.Constraint = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0):
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self) -> int | Tensor:
        return _sign(self.exponent)

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> ebb.Size:
        return _joined(shape, self.exponent)

    def inverse_shape(self, shape: Any) -> ebb.Size:
        return _joined(shape, self.exponent)

    def _key(self) -> Any:
        return _values(self.exponent)


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)).

    Example:
        >>> ebb.distributions.SigmoidTransform()(ebb.tensor(0.0))
        tensor(0.5000)
    """

    domain: constraints.Constraint = constraints.real
    codomain: constraints.Constraint = constraints.unit_interval
    bijective = True
    sign = 1

    def _call(self, x: Any) -> Any:
        limits = ebb.finfo(x.dtype)
        return ebb.sigmoid(x).clamp(min=limits.tiny, max=1.0 - limits.eps)

    def _inverse(self, y: Any) -> Any:
        limits = ebb.finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return F.logsigmoid(x) + F.logsigmoid(-x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x)).

    Example:
        >>> ebb.distributions.SoftplusTransform()(ebb.tensor(0.0))
        tensor(0.6931)
    """

    domain: constraints.Constraint = constraints.real
    codomain: constraints.Constraint = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x: Any) -> Any:
        return F.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -F.softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x). Near 1 and -1 the inverse is exact with ``cache_size=1`` only.

    Example:
        >>> ebb.distributions.TanhTransform()(ebb.tensor(0.0))
        tensor(0.)
    """

    domain: constraints.Constraint = constraints.real
    codomain: constraints.Constraint = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = 1

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return 0.5 * (y.log1p() - (-y).log1p())

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2 * (math.log(2) - x - F.softplus(-2 * x))


class AbsTransform(Transform):
    """y = |x|, which is not bijective: the inverse is the positive number.

    Example:
        >>> ebb.distributions.AbsTransform()(ebb.tensor(-2.0))
        tensor(2.)
    """

    domain: constraints.Constraint = constraints.real
    codomain: constraints.Constraint = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """y = loc + scale x; the last ``event_dim`` dims are one event.

    Example:
        >>> ebb.distributions.AffineTransform(1.0, 2.0)(ebb.tensor(3.0))
        tensor(7.)
    """

    bijective = True

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        event_dim: int = 0,
        cache_size: int = 0,
    ):
        super().__init__(cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @property
    def domain(self) -> constraints.Constraint:
        """What it takes."""
        real = constraints.real
        return constraints.independent(real, self._event_dim) if self._event_dim else real

    codomain = domain

    @property
    def sign(self) -> int | Tensor:
        return _sign(self.scale)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        scale = self.scale if isinstance(self.scale, Tensor) else x.new_tensor(self.scale)
        return sum_rightmost(scale.abs().log().expand(x.shape), self._event_dim)

    def forward_shape(self, shape: Any) -> ebb.Size:
        return _joined(shape, self.loc, self.scale)

    def inverse_shape(self, shape: Any) -> ebb.Size:
        return _joined(shape, self.loc, self.scale)

    def _key(self) -> Any:
        return _values(self.loc), _values(self.scale), self._event_dim


class CumulativeDistributionTransform(Transform):
    """y = cdf(x) of a distribution.

    Example:
        >>> from ebb import distributions as D
        >>> D.CumulativeDistributionTransform(D.Normal(0.0, 1.0))(ebb.tensor(0.0))
        tensor(0.5000)
    """

    bijective = True
    codomain: constraints.Constraint = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> constraints.Constraint:
        """What it takes."""
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)

    def _key(self) -> Any:
        return id(self.distribution)


def _sign(parameter: Tensor | float) -> int | Tensor:
    if isinstance(parameter, Tensor):
        return parameter.sign()
    return (parameter > 0) - (parameter < 0)


def _joined(shape: Any, *parameters: Tensor | float) -> ebb.Size:
    """Return the shape to which one of operands and the parameters broadcast."""
    shapes = [tuple(shape), *(one.shape for one in parameters if isinstance(one, Tensor))]
    return ebb.broadcast_tensors(*(ebb.empty(()).expand(one) for one in shapes))[0].shape


def _values(parameter: Tensor | float) -> Any:
    return parameter.tolist() if isinstance(parameter, Tensor) else parameter


__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
]
