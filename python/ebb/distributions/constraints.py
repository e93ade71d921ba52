# python/ebb/distributions/constraints.py -- which values a parameter or a sample may have.
#
# A constraint answers check(value) with a bool per event: its last event_dim dims are one event.
# Names in lower case are what programs use, `constraints.positive`; they are instances, or classes
# that take bounds. Start reading at Constraint.
"""Constraints of parameters and of supports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ebb
from ebb import Tensor
from ebb.errors import DTypeError, NotImplementedError, ValueError

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of values. ``check`` says of each event whether it lies in it.

    Example:
        >>> from ebb.distributions import constraints
        >>> class Even(constraints.Constraint):
        ...     is_discrete = True
        ...     def check(self, value):
        ...         return value % 2 == 0
        >>> Even().check(ebb.tensor([2, 3]))
        tensor([ True, False])
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Return whether each event of ``value`` is in the set."""
        raise NotImplementedError(f"{type(self).__name__}.check: not defined")

    def __repr__(self) -> str:
        bounds = ", ".join(
            f"{name}={value}" for name, value in vars(self).items() if not name.startswith("_")
        )
        return f"{type(self).__name__.lstrip('_')}({bounds})"


class _Dependent(Constraint):
    """What depends on other parameters, and so cannot be checked by itself.

    Example:
        >>> from ebb.distributions import constraints
        >>> constraints.is_dependent(constraints.dependent(event_dim=1))
        True
    """

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0):
        self.is_discrete = is_discrete
        self.event_dim = event_dim

    def __call__(self, *, is_discrete: bool = False, event_dim: int = 0) -> _Dependent:
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("check: a dependent constraint is known of a distribution only")


def _check_function(fn: object) -> None:
    if not callable(fn):
        raise DTypeError(
            f"dependent_property: argument 'fn' must be callable, got {type(fn).__name__}"
        )


class dependent_property(property, _Dependent):  # noqa: N801 -- what programs write
    """A property of distributions that gives a constraint, and stands for it on the class.

    Args:
        fn: The property's function; without it, a decorator is made.
        is_discrete: Whether the values are whole numbers.
        event_dim: How many of the last dims are one event.

    Example:
        >>> from ebb.distributions import constraints
        >>> class Uniform(ebb.distributions.Distribution):
        ...     @constraints.dependent_property(is_discrete=False, event_dim=0)
        ...     def support(self):
        ...         return constraints.interval(self.low, self.high)
        >>> constraints.is_dependent(Uniform.support)
        True
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: bool = False,
        event_dim: int = 0,
    ):
        if fn is not None:
            _check_function(fn)
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Callable[..., Any]) -> dependent_property:  # type: ignore[override]
        _check_function(fn)
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint: object) -> bool:
    """Return whether a constraint depends on other parameters.

    Example:
        >>> from ebb.distributions import constraints
        >>> check = constraints.is_dependent
        >>> check(constraints.dependent), check(constraints.real)
        (True, False)
    """
    return isinstance(constraint, _Dependent)


class _Independent(Constraint):
    """Events of ``base_constraint`` that count as one along some more dims.

    Example:
        >>> from ebb.distributions import constraints
        >>> rows = constraints.independent(constraints.positive, 1)
        >>> rows.check(ebb.tensor([[1.0, 2.0], [-1.0, 2.0]]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int):
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        if value.ndim < self.event_dim:
            raise ValueError(f"check: needs at least {self.event_dim} dims, got {value.ndim}")
        return _all(self.base_constraint.check(value), self.reinterpreted_batch_ndims)


class MixtureSameFamilyConstraint(Constraint):
    """What every component of a mixture can give.

    Example:
        >>> from ebb.distributions import constraints
        >>> components = constraints.greater_than(ebb.tensor([0.0, 1.0]))
        >>> made = constraints.MixtureSameFamilyConstraint(components)
        >>> made.check(ebb.tensor([0.5, 2.0]))
        tensor([False,  True])
    """

    def __init__(self, base_constraint: Constraint):
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        components = value.unsqueeze(-1 - self.event_dim)
        return _all(self.base_constraint.check(components), 1)


def _all(valid: Tensor, dims: int) -> Tensor:
    """Return whether all are true along the last ``dims`` dims."""
    return valid.flatten(valid.ndim - dims).all(-1) if dims else valid


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _IntegerInterval(Constraint):
    """Whole numbers from ``lower_bound`` to ``upper_bound``, both included.

    Example:
        >>> from ebb.distributions import constraints
        >>> constraints.integer_interval(0, 2).check(ebb.tensor([2.0, 0.5, 3.0]))
        tensor([ True, False, False])
    """

    is_discrete = True

    def __init__(self, lower_bound: float | Tensor, upper_bound: float | Tensor):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        within = (self.lower_bound <= value) & (value <= self.upper_bound)
        return (value % 1 == 0) & within


class _IntegerGreaterThan(Constraint):
    is_discrete = True

    def __init__(self, lower_bound: float | Tensor):
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value  # false for NaN


class _GreaterThan(Constraint):
    """Numbers above ``lower_bound``.

    Example:
        >>> from ebb.distributions import constraints
        >>> constraints.greater_than(1.0).check(ebb.tensor([1.0, 2.0]))
        tensor([False,  True])
    """

    def __init__(self, lower_bound: float | Tensor):
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound


class _GreaterThanEq(_GreaterThan):
    """Numbers from ``lower_bound`` on.

    Example:
        >>> from ebb.distributions import constraints
        >>> constraints.greater_than_eq(1.0).check(ebb.tensor([1.0, 0.0]))
        tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound


class _LessThan(Constraint):
    """Numbers below ``upper_bound``.

    Example:
        >>> from ebb.distributions import constraints
        >>> constraints.less_than(1.0).check(ebb.tensor([1.0, 0.0]))
        tensor([False,  True])
    """

    def __init__(self, upper_bound: float | Tensor):
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(Constraint):
    """Numbers from ``lower_bound`` to ``upper_bound``, both included.

    Example:
        >>> from ebb.distributions import constraints
        >>> constraints.interval(0.0, 1.0).check(ebb.tensor([0.0, 1.0, 2.0]))
        tensor([ True,  True, False])
    """

    def __init__(self, lower_bound: float | Tensor, upper_bound: float | Tensor):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(_Interval):
    """Numbers from ``lower_bound`` on and below ``upper_bound``.

    Example:
        >>> from ebb.distributions import constraints
        >>> constraints.half_open_interval(0.0, 1.0).check(ebb.tensor([0.0, 1.0]))
        tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Vectors of numbers that are not negative and sum to 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts that sum to at most ``upper_bound``.

    Example:
        >>> from ebb.distributions import constraints
        >>> constraints.multinomial(3).check(ebb.tensor([[1, 2], [2, 2]]))
        tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: int):
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


class _Matrix(Constraint):
    event_dim = 2


class _LowerTriangular(_Matrix):
    def check(self, value: Tensor) -> Tensor:
        return _all(value.tril() == value, 2)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value: Tensor) -> Tensor:
        tolerance = ebb.finfo(value.dtype).eps * value.size(-1) * 10  # a sum of that many squares
        lengths = value.square().sum(-1)
        return super().check(value) & ((lengths - 1).abs() < tolerance).all(-1)


class _Square(_Matrix):
    def check(self, value: Tensor) -> Tensor:
        return ebb.full(value.shape[:-2], value.size(-2) == value.size(-1), dtype=ebb.bool)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        if value.size(-2) != value.size(-1):
            return super().check(value)
        return _all(ebb.isclose(value, value.mT, atol=1e-6), 2)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return (ebb.linalg.eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return ebb.linalg.cholesky_ex(value).info == 0


class _Parts(Constraint):
    """Parts along ``dim``, each with a constraint of its own."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0):
        self.cseq: list[Constraint] = list(cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> bool:
        return any(one.is_discrete for one in self.cseq)

    @property
    def event_dim(self) -> int:
        return max(one.event_dim for one in self.cseq)


class _Cat(_Parts):
    """Parts along ``dim``, ``lengths`` long, each with a constraint of its own.

    Example:
        >>> from ebb.distributions import constraints
        >>> parts = constraints.cat([constraints.positive, constraints.real], lengths=[1, 2])
        >>> parts.check(ebb.tensor([-1.0, -1.0, -1.0]))
        tensor([False,  True,  True])
    """

    def __init__(
        self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ):
        super().__init__(cseq, dim)
        self.lengths: list[int] = [1] * len(self.cseq) if lengths is None else list(lengths)

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        checks = [one.check(part) for one, part in zip(self.cseq, parts, strict=True)]
        return ebb.cat(checks, self.dim)


class _Stack(_Parts):
    """Slices along ``dim``, each with a constraint of its own.

    Example:
        >>> from ebb.distributions import constraints
        >>> rows = constraints.stack([constraints.positive, constraints.real])
        >>> rows.check(ebb.tensor([[-1.0, 1.0], [-1.0, 1.0]]))
        tensor([[False,  True],
                [ True,  True]])
    """

    def check(self, value: Tensor) -> Tensor:
        parts = value.unbind(self.dim)
        checks = [one.check(part) for one, part in zip(self.cseq, parts, strict=True)]
        return ebb.stack(checks, self.dim)


# What programs write.
dependent: _Dependent = _Dependent()
independent = _Independent
boolean: Constraint = _Boolean()
one_hot: Constraint = _OneHot()
integer_interval = _IntegerInterval
nonnegative_integer: Constraint = _IntegerGreaterThan(0)
positive_integer: Constraint = _IntegerGreaterThan(1)
real: Constraint = _Real()
real_vector: Constraint = independent(real, 1)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
positive: Constraint = _GreaterThan(0.0)
nonnegative: Constraint = _GreaterThanEq(0.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
unit_interval: Constraint = _Interval(0.0, 1.0)
simplex: Constraint = _Simplex()
multinomial = _Multinomial
lower_triangular: Constraint = _LowerTriangular()
lower_cholesky: Constraint = _LowerCholesky()
corr_cholesky: Constraint = _CorrCholesky()
square: Constraint = _Square()
symmetric: Constraint = _Symmetric()
positive_semidefinite: Constraint = _PositiveSemidefinite()
positive_definite: Constraint = _PositiveDefinite()
cat = _Cat
stack = _Stack
