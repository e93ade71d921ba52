# python/ebb/distributions/transforms/base.py -- Transform, its inverse, and what is made of them.
#
# A transform maps events of `domain` to events of `codomain`: the last event_dim dims of each are
# one event, and log_abs_det_jacobian() has one number per event. Start reading at Transform.
"""Maps with known derivatives, and what is made of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ebb
from ebb import Size, Tensor
from ebb.distributions import constraints
from ebb.distributions.constraints import Constraint
from ebb.errors import NotImplementedError, ShapeError, ValueError


def sum_rightmost(value: Any, dims: int) -> Any:
    """Return the sum over the last ``dims`` dims."""
    return value.flatten(value.ndim - dims).sum(-1) if dims > 0 else value


class Transform:
    """A map of tensors with an inverse and the logarithm of its derivative's size.

    Args:
        cache_size: With 1, the last pair is remembered: the inverse of what a call returned is what
            it was called with.

    Example:
        >>> ebb.distributions.ExpTransform().inv(ebb.tensor(1.0))
        tensor(0.)
    """

    bijective = False
    domain: Constraint
    codomain: Constraint

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ValueError(f"{type(self).__name__}: cache_size must be 0 or 1, got {cache_size}")
        self._cache_size = cache_size
        self._cached: tuple[Any, Any] = (None, None)
        self._inv: Transform | None = None

    @property
    def event_dim(self) -> int:
        """How many dims are one event, before as after."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError(f"event_dim: {type(self).__name__} has one before and another after")
        return self.domain.event_dim

    @property
    def inv(self) -> Transform:
        """The inverse transform, whose own inverse is this one."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> int | Tensor:
        """1 if it rises, -1 if it falls; of transforms of single numbers."""
        raise NotImplementedError(f"sign: {type(self).__name__} has none")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return such a transform with this ``cache_size``."""
        if cache_size == self._cache_size:
            return self
        new = type(self).__new__(type(self))
        new.__dict__.update(vars(self))
        Transform.__init__(new, cache_size)
        return new

    def __call__(self, x: Any) -> Any:
        known, value = self._cached
        if self._cache_size == 0 or x is not known:
            value = self._call(x)
            self._remember(x, value)
        return value

    def _inv_call(self, y: Any) -> Any:
        value, known = self._cached
        if self._cache_size == 0 or y is not known:
            value = self._inverse(y)
            self._remember(value, y)
        return value

    def _remember(self, x: Any, y: Any) -> None:
        if self._cache_size:
            self._cached = (x, y)

    def _call(self, x: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: has no forward map")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: has no inverse")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return log |dy / dx| of each event; ``y`` is what ``x`` gives."""
        raise NotImplementedError(f"log_abs_det_jacobian: {type(self).__name__} has none")

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """Return the shape of the result for an operand of this shape."""
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """Return the shape of the operand for a result of this shape."""
        return Size(shape)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(type(self))

    def _key(self) -> Any:
        """Return what tells transforms of one class apart."""
        return ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a transform; its cache is that transform's."""

    def __init__(self, transform: Transform):
        super().__init__(transform._cache_size)
        self._inv = transform

    @property
    def domain(self) -> Constraint:
        """What it takes."""
        return self.inv.codomain

    @property
    def codomain(self) -> Constraint:
        """What it gives."""
        return self.inv.domain

    @property
    def bijective(self) -> bool:
        return self.inv.bijective

    @property
    def sign(self) -> int | Tensor:
        return self.inv.sign

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self.inv.with_cache(cache_size).inv

    def __call__(self, x: Any) -> Any:
        return self.inv._inv_call(x)

    def _inv_call(self, y: Any) -> Any:
        return self.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self.inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self.inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self.inv.forward_shape(shape)

    def _key(self) -> Any:
        return self.inv

    def __repr__(self) -> str:
        return f"{self.inv!r}.inv"


def _widened(constraint: Constraint, event_dim: int) -> Constraint:
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


class ComposeTransform(Transform):
    """Several transforms, one after the other.

    Example:
        >>> parts = [ebb.distributions.ExpTransform(), ebb.distributions.AffineTransform(1.0, 2.0)]
        >>> ebb.distributions.ComposeTransform(parts)(ebb.tensor(0.0))
        tensor(3.)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0):
        super().__init__(cache_size)
        self.parts: list[Transform] = [
            part.with_cache(cache_size) if cache_size else part for part in parts
        ]

    @property
    def domain(self) -> Constraint:
        """What it takes."""
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim = max(
                event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim
            )
        return _widened(self.parts[0].domain, event_dim)

    @property
    def codomain(self) -> Constraint:
        """What it gives."""
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(
                event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim
            )
        return _widened(self.parts[-1].codomain, event_dim)

    @property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> int | Tensor:
        return math.prod((part.sign for part in self.parts), start=1)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if cache_size == self._cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return ebb.zeros_like(x)
        steps = [x]
        for part in self.parts[:-1]:
            steps.append(part(steps[-1]))
        steps.append(y)
        total: Any = 0.0
        event_dim = self.domain.event_dim
        for part, before, after in zip(self.parts, steps[:-1], steps[1:], strict=True):
            size = part.log_abs_det_jacobian(before, after)
            total = total + sum_rightmost(size, event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: Sequence[int]) -> Size:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return Size(shape)

    def _key(self) -> Any:
        return self.parts

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts!r})"


identity_transform: ComposeTransform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last ``reinterpreted_batch_ndims`` dims of the batch count as one event.

    Example:
        >>> from ebb import distributions as D
        >>> D.IndependentTransform(D.ExpTransform(), 1)(ebb.zeros(2))
        tensor([1., 1.])
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ):
        super().__init__(cache_size)
        self.base_transform: Transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def domain(self) -> Constraint:
        """What it takes."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Constraint:
        """What it gives."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        return self.base_transform.bijective

    @property
    def sign(self) -> int | Tensor:
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        _check_ndim(self, x, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        _check_ndim(self, y, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        size = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(size, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self.base_transform.inverse_shape(shape)

    def _key(self) -> Any:
        return self.base_transform, self.reinterpreted_batch_ndims

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


def _check_ndim(transform: Transform, x: Tensor, least: int) -> None:
    if x.ndim < least:
        raise ShapeError(
            f"{type(transform).__name__}: needs at least {least} dims, got {list(x.shape)}"
        )


__all__ = [
    "ComposeTransform",
    "IndependentTransform",
    "Transform",
    "identity_transform",
]
