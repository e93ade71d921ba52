# python/ebb/distributions/matrices.py -- Wishart, LKJCholesky: random matrices.
"""Distributions of covariances, and of factors of correlations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import ebb
from ebb import Tensor
from ebb.distributions import constraints
from ebb.distributions.distribution import Distribution
from ebb.distributions.gaussian import _Factored, _log_diagonal
from ebb.distributions.utils import broadcast_all, vec_to_tril_matrix
from ebb.errors import ShapeError, ValueError
from ebb.linalg import cholesky, solve_triangular

_standard_gamma = ebb._C._ops.standard_gamma


def _log_multigamma(a: Tensor, size: int) -> Tensor:
    """Return the logarithm of the multivariate gamma function."""
    steps = 0.5 * ebb.arange(size, dtype=a.dtype, device=a.device)
    constant = 0.25 * size * (size - 1) * math.log(math.pi)
    return constant + (a.unsqueeze(-1) - steps).lgamma().sum(-1)


def _multidigamma(a: Tensor, size: int) -> Tensor:
    """Return its derivative."""
    steps = 0.5 * ebb.arange(size, dtype=a.dtype, device=a.device)
    return (a.unsqueeze(-1) - steps).digamma().sum(-1)


class Wishart(_Factored):
    """Sums of ``df`` outer products of normal vectors of mean 0.

    Args:
        df: More than the size of the matrices less 1.
        covariance_matrix, precision_matrix, scale_tril: One of these: the covariance of the
            vectors, its inverse, or its Cholesky factor.

    Example:
        >>> ebb.distributions.Wishart(ebb.tensor(3.0), ebb.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {
        "df": constraints.greater_than(0.0),
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support: constraints.Constraint = constraints.positive_definite
    has_rsample = True
    df: Tensor

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        name, matrix = self._given(covariance_matrix, precision_matrix, scale_tril)
        if matrix.ndim < 2:
            raise ShapeError(f"Wishart: {name} needs at least 2 dims, got {list(matrix.shape)}")
        self.df, _ = broadcast_all(ebb.as_tensor(df, dtype=matrix.dtype), matrix[..., 0, 0])
        batch, event = self.df.shape, matrix.shape[-2:]
        setattr(self, name, matrix.expand(*batch, *event))
        super().__init__(batch, event, validate_args)
        if self._validate_args and not (self.df > event[-1] - 1).all():
            raise ValueError(
                f"Wishart: df must be more than {event[-1] - 1}, got {self.df.min().item():g}"
            )
        self._take_factor(name, matrix)

    @property
    def _size(self) -> int:
        return self._event_shape[-1]

    def rsample(
        self, sample_shape: Sequence[int] = (), max_try_correction: int | None = None
    ) -> Tensor:
        # No sample is singular, so none is tried again.
        del max_try_correction
        # M. S. Bartlett's decomposition: normal numbers below a diagonal of roots of chi-squares.
        shape, size = self._extended_shape(sample_shape), self._size
        steps = ebb.arange(size, dtype=self.df.dtype, device=self.df.device)
        halves = 0.5 * (self.df.unsqueeze(-1) - steps)
        diagonal = (2 * _standard_gamma(halves.expand(shape[:-1]))).sqrt()
        noise = self.df.new_empty(shape).normal_().tril(-1)
        factor = self._factor @ (noise + diagonal.diag_embed())
        return factor @ factor.mT

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        half, size = 0.5 * self.df, self._size
        wide, value = ebb.broadcast_tensors(self._wide(self._factor), value)
        ratio = solve_triangular(wide, cholesky(value), upper=False)  # its squares sum to the trace
        log_det = 2 * _log_diagonal(cholesky(value))
        weight = half * size * math.log(2) + self.df * _log_diagonal(self._factor)
        spread = 0.5 * (self.df - size - 1) * log_det - 0.5 * ratio.square().sum((-2, -1))
        return spread - weight - _log_multigamma(half, size)

    def entropy(self) -> Tensor:
        half, size = 0.5 * self.df, self._size
        spread = 0.5 * size * (size + 1) * math.log(2) + (size + 1) * _log_diagonal(self._factor)
        slope = 0.5 * (self.df - size - 1) * _multidigamma(half, size)
        return spread + _log_multigamma(half, size) - slope + half * size

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._size - 1
        factor = ebb.where(factor > 0, factor, math.nan)
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (covariance.square() + products)


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices, of density det(correlation) ** (concentration - 1).

    Args:
        dim: The size of the matrices, from 2 on.
        concentration: 1 makes all correlations as likely; more favours weak ones.

    Example:
        >>> ebb.distributions.LKJCholesky(3).sample().shape
        ebb.Size([3, 3])
    """

    arg_constraints: Mapping[str, constraints.Constraint] = {"concentration": constraints.positive}
    support: constraints.Constraint = constraints.corr_cholesky
    concentration: Tensor

    def __init__(
        self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None
    ):
        if dim < 2:
            raise ValueError(f"LKJCholesky: dim must be at least 2, got {dim}")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def _rows(self) -> Tensor:
        """Return 1 to dim - 1: how many entries below the diagonal a row has."""
        like = self.concentration
        return ebb.arange(1, self.dim, dtype=like.dtype, device=like.device)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return factors, row by row a random direction of a random length ("onion" method).

        D. Lewandowski et al., "Generating random correlation matrices" (2009).
        """
        with ebb.no_grad():
            shape, rows = self._extended_shape(sample_shape), self._rows()
            like = self.concentration
            above = (0.5 * rows).expand(*shape[:-2], self.dim - 1)
            # The part of a row's length that the entries below the diagonal take, squared.
            below = like.unsqueeze(-1) + 0.5 * (self.dim - 1 - rows)
            logs = [_standard_gamma(one.expand(above.shape).contiguous(), True)
                    for one in (above, below)]  # fmt: skip
            share = ebb.sigmoid(logs[0] - logs[1])
            count = self.dim * (self.dim - 1) // 2
            noise = like.new_empty((*shape[:-2], count)).normal_()
            direction = vec_to_tril_matrix(noise, -1)[..., 1:, :]
            direction = direction / direction.square().sum(-1, True).sqrt()
            entries = share.sqrt().unsqueeze(-1) * direction
            factor = ebb.cat([ebb.zeros_like(entries[..., :1, :]), entries], -2)
            left = (1 - factor.square().sum(-1)).clamp(min=ebb.finfo(like.dtype).tiny)
            return factor + left.sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        diagonal = self._checked(value).diagonal(dim1=-2, dim2=-1)[..., 1:]
        rows, concentration = self._rows(), self.concentration
        powers = 2 * (concentration.unsqueeze(-1) - 1) + self.dim - 1 - rows
        return (powers * diagonal.log()).sum(-1) - self._log_weight()

    def _log_weight(self) -> Tensor:
        """Return the logarithm of the integral: of row i, that of a ball with a Beta radius."""
        rows = self._rows()
        last = self.concentration.unsqueeze(-1) + 0.5 * (self.dim - 1 - rows)
        return (0.5 * rows * math.log(math.pi) + last.lgamma() - (last + 0.5 * rows).lgamma()).sum(
            -1
        )

    @property
    def mode(self) -> Tensor:
        eye = ebb.eye(self.dim, dtype=self.concentration.dtype, device=self.concentration.device)
        return eye.expand(self._extended_shape())


__all__ = ["LKJCholesky", "Wishart"]
