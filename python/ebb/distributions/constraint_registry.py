# python/ebb/distributions/constraint_registry.py -- which transform leads to a constraint.
"""From unconstrained numbers to constrained ones: ``biject_to`` and ``transform_to``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebb.distributions import constraints, transforms
from ebb.distributions.constraints import Constraint
from ebb.distributions.transforms import Transform
from ebb.errors import DTypeError, NotImplementedError

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """For each class of constraints, what makes the transform from unconstrained numbers to it.

    Example:
        >>> positive = ebb.distributions.constraints.positive
        >>> ebb.distributions.biject_to(positive)(ebb.tensor(0.0))
        tensor(1.)
        >>> simplex = ebb.distributions.constraints.simplex
        >>> ebb.distributions.transform_to(simplex)(ebb.zeros(2))
        tensor([0.5000, 0.5000])
    """

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Register a factory for a constraint or its class; without a factory, a decorator."""
        if factory is None:
            return lambda later: self.register(constraint, later)
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, Constraint)):
            raise DTypeError(f"register: needs a constraint or its class, got {constraint!r}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        if not isinstance(constraint, Constraint):
            raise DTypeError(f"needs a constraint, got {type(constraint).__name__}")
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"no transform is registered for {constraint!r}")
        return factory(constraint)


biject_to: ConstraintRegistry = ConstraintRegistry()  # bijective, so that densities can follow
transform_to: ConstraintRegistry = ConstraintRegistry()  # not always: what optimizers like best


def _register(*kinds: Any, bijective: Factory | None = None) -> Any:
    """Register for both registries, or with another factory where bijections are asked for."""

    def add(factory: Factory) -> Factory:
        for kind in kinds:
            transform_to.register(kind, factory)
            biject_to.register(kind, bijective or factory)
        return factory

    return add


@_register(constraints.real)
def _real(constraint: Any) -> Transform:
    return transforms.identity_transform


@_register(constraints.positive, constraints.greater_than_eq)
def _above(constraint: Any) -> Transform:
    bound = constraint.lower_bound
    if isinstance(bound, (int, float)) and bound == 0:
        return transforms.ExpTransform()
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(bound, 1)]
    )


@_register(constraints.less_than)
def _below(constraint: Any) -> Transform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_register(constraints.interval, constraints.half_open_interval)
def _between(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    numbers = isinstance(low, (int, float)) and isinstance(high, (int, float))
    if numbers and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)]
    )


@_register(constraints.simplex, bijective=lambda _: transforms.StickBreakingTransform())
def _simplex(constraint: Any) -> Transform:
    return transforms.SoftmaxTransform()


@_register(constraints.lower_cholesky)
def _lower_cholesky(constraint: Any) -> Transform:
    return transforms.LowerCholeskyTransform()


@_register(constraints.positive_definite, constraints.positive_semidefinite)
def _positive_definite(constraint: Any) -> Transform:
    return transforms.PositiveDefiniteTransform()


@_register(constraints.corr_cholesky)
def _corr_cholesky(constraint: Any) -> Transform:
    return transforms.CorrCholeskyTransform()


def _each(registry: ConstraintRegistry) -> None:
    """Register what is made of parts, whose transforms come from the same registry."""

    @registry.register(constraints.independent)
    def _independent(constraint: Any) -> Transform:
        return transforms.IndependentTransform(
            registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
        )

    @registry.register(constraints.cat)
    def _cat(constraint: Any) -> Transform:
        parts = [registry(one) for one in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def _stack(constraint: Any) -> Transform:
        return transforms.StackTransform([registry(one) for one in constraint.cseq], constraint.dim)


_each(biject_to)
_each(transform_to)
