# python/ebb/distributions/gaussian.py -- MultivariateNormal, and with a covariance of low rank.
#
# All is computed with the Cholesky factor of a covariance: what is given in another form becomes
# one, and the other forms are made of it when they are asked for.
"""Normal vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import ebb
from ebb import Size, Tensor
from ebb.distributions import constraints
from ebb.distributions.distribution import Distribution
from ebb.distributions.location_scale import _Centred
from ebb.distributions.utils import exactly_one, lazy_property
from ebb.errors import ShapeError
from ebb.linalg import cholesky, solve_triangular


def _log_diagonal(factor: Tensor) -> Tensor:
    """Return the logarithm of a triangle's determinant."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _mahalanobis(factor: Tensor, vector: Tensor) -> Tensor:
    """Return v^T (L L^T)^-1 v for batches that broadcast, in the wider dtype of both."""
    dtype = ebb.promote_types(factor.dtype, vector.dtype)
    factor, vector = factor.to(dtype), vector.to(dtype)
    shape = ebb.broadcast_tensors(vector.unsqueeze(-1), factor[..., :1])[0].shape
    wide = factor.expand(*shape[:-1], factor.size(-1))
    whitened = solve_triangular(wide, vector.unsqueeze(-1).expand(shape), upper=False)
    return whitened.squeeze(-1).square().sum(-1)


def _inverse(factor: Tensor) -> Tensor:
    """Return (L L^T)^-1."""
    size = factor.size(-1)
    eye = ebb.eye(size, dtype=factor.dtype, device=factor.device).expand(factor.shape)
    half = solve_triangular(factor, eye, upper=False)
    return half.mT @ half


def _factor_of_inverse(precision: Tensor) -> Tensor:
    """Return the Cholesky factor of a precision matrix's inverse."""
    # Turned by half a turn, the factor is upper: precision = U U^T, and the result is U^-T.
    lower = cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT
    eye = ebb.eye(lower.size(-1), dtype=lower.dtype, device=lower.device).expand(lower.shape)
    return solve_triangular(lower, eye, upper=False)


class _NormalVector(_Centred):
    """What follows from the mean and from two numbers that the covariance gives."""

    support: constraints.Constraint = constraints.real_vector
    has_rsample = True

    def _take_vector(
        self, loc: Tensor, batch_shape: Sequence[int], validate_args: bool | None
    ) -> None:
        self.loc = loc
        super().__init__(batch_shape, loc.shape[-1:], validate_args)

    def _squared_distance(self, difference: Tensor) -> Tensor:
        raise self._missing("log_prob")

    def _half_log_det(self) -> Tensor:
        raise self._missing("log_prob")

    def log_prob(self, value: Tensor) -> Tensor:
        distance = self._squared_distance(self._checked(value) - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - self._half_log_det()

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi))
        return (constant + self._half_log_det()).expand(self._batch_shape)


class _Factored(Distribution):
    """What has a covariance, its inverse or its Cholesky factor, of which ``_factor`` is kept."""

    _factor: Tensor

    def _given(
        self, covariance: Tensor | None, precision: Tensor | None, factor: Tensor | None
    ) -> tuple[str, Tensor]:
        """Return the name of the one that is given, and it."""
        given = {
            "covariance_matrix": covariance,
            "precision_matrix": precision,
            "scale_tril": factor,
        }
        exactly_one(type(self).__name__, **given)
        return next((name, one) for name, one in given.items() if one is not None)

    def _take_factor(self, name: str, matrix: Tensor) -> None:
        if name == "scale_tril":
            self._factor = matrix
        else:
            self._factor = cholesky(matrix) if name[0] == "c" else _factor_of_inverse(matrix)

    def _wide(self, matrix: Tensor) -> Tensor:
        return matrix.expand(*self._batch_shape, *matrix.shape[-2:])

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._wide(self._factor)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance; of Wishart, that of the vectors."""
        return self._wide(self._factor @ self._factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._wide(_inverse(self._factor))


class MultivariateNormal(_NormalVector, _Factored):
    """Vectors whose every weighted sum is normal.

    Args:
        loc: The mean.
        covariance_matrix, precision_matrix, scale_tril: One of these: the covariance, its inverse,
            or its Cholesky factor, which costs least.

    Example:
        >>> ebb.distributions.MultivariateNormal(ebb.zeros(2), ebb.eye(2)).log_prob(ebb.zeros(2))
        tensor(-1.8379)
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        name, matrix = self._given(covariance_matrix, precision_matrix, scale_tril)
        if loc.ndim < 1 or matrix.ndim < 2:
            raise ShapeError(
                "MultivariateNormal: needs a vector and a matrix at least, "
                f"got loc {list(loc.shape)} and {name} {list(matrix.shape)}"
            )
        loc, _ = ebb.broadcast_tensors(loc, matrix[..., 0])
        wide = matrix.expand(*loc.shape, loc.size(-1))
        setattr(self, name, wide)
        self._take_vector(loc, loc.shape[:-1], validate_args)
        self._take_factor(name, matrix)

    @property
    def variance(self) -> Tensor:
        return self._factor.square().sum(-1).expand(self._extended_shape())

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = ebb.empty(shape, dtype=self.loc.dtype, device=self.loc.device).normal_()
        return self.loc + _times(self._factor, noise)

    def _squared_distance(self, difference: Tensor) -> Tensor:
        return _mahalanobis(self._factor, difference)

    def _half_log_det(self) -> Tensor:
        return _log_diagonal(self._factor)


class LowRankMultivariateNormal(_NormalVector):
    """Normal vectors with the covariance W W^T + diag(D), which is never made to compute.

    Args:
        loc: The mean.
        cov_factor: W, of as many columns as its rank.
        cov_diag: D.

    Example:
        >>> from ebb import distributions as D
        >>> D.LowRankMultivariateNormal(ebb.zeros(2), ebb.ones(2, 1), ebb.ones(2)).variance
        tensor([2., 2.])
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    cov_factor: Tensor
    cov_diag: Tensor

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ):
        if loc.ndim < 1 or cov_factor.ndim < 2 or cov_factor.shape[-2] != loc.shape[-1]:
            raise ShapeError(
                "LowRankMultivariateNormal: needs a row of cov_factor for each element of loc, "
                f"got loc {list(loc.shape)} and cov_factor {list(cov_factor.shape)}"
            )
        loc, diagonal, _ = ebb.broadcast_tensors(loc, cov_diag, cov_factor[..., 0])
        self.cov_diag = diagonal
        self.cov_factor = cov_factor.expand(*loc.shape, cov_factor.size(-1))
        self._take_vector(loc, loc.shape[:-1], validate_args)
        self._core = cholesky(self._capacitance())

    def _capacitance(self) -> Tensor:
        """Return I + W^T D^-1 W, of the size of the rank, by which the covariance is inverted."""
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        eye = ebb.eye(scaled.size(-2), dtype=scaled.dtype, device=scaled.device)
        return eye + scaled @ self.cov_factor

    def expand(
        self, batch_shape: Sequence[int], _instance: Any = None
    ) -> LowRankMultivariateNormal:
        new = super().expand(batch_shape, _instance)
        new._core = self._core.expand(*batch_shape, *self._core.shape[-2:])
        return new

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        half = solve_triangular(self._core, scaled, upper=False)
        return self.cov_diag.reciprocal().diag_embed() - half.mT @ half

    @property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return cholesky(self.covariance_matrix)

    @property
    def variance(self) -> Tensor:
        return self.cov_factor.square().sum(-1) + self.cov_diag

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        rank = Size((*shape[:-1], self.cov_factor.size(-1)))
        common, own = (self.loc.new_empty(one).normal_() for one in (rank, shape))
        return self.loc + _times(self.cov_factor, common) + self.cov_diag.sqrt() * own

    def _squared_distance(self, difference: Tensor) -> Tensor:
        scaled = difference / self.cov_diag
        inner = _times(self.cov_factor.mT, scaled)
        return (difference * scaled).sum(-1) - _mahalanobis(self._core, inner)

    def _half_log_det(self) -> Tensor:
        return _log_diagonal(self._core) + 0.5 * self.cov_diag.log().sum(-1)


__all__ = ["LowRankMultivariateNormal", "MultivariateNormal"]
