# python/ebb/distributions/transforms/events.py -- transforms of vectors and matrices, and of parts.
"""Maps of whole events: simplices, triangles, shapes, parts along a dim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ebb
from ebb import Size
from ebb.distributions import constraints
from ebb.distributions.transforms.base import Transform, sum_rightmost
from ebb.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from ebb.errors import ShapeError, ValueError
from ebb.nn import functional as F


class ReshapeTransform(Transform):
    """Events of ``in_shape`` as events of ``out_shape``.

    Example:
        >>> ebb.distributions.ReshapeTransform((4,), (2, 2))(ebb.ones(4)).shape
        ebb.Size([2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0):
        super().__init__(cache_size)
        self.in_shape: Size = Size(in_shape)
        self.out_shape: Size = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                "ReshapeTransform: shapes need as many elements, "
                f"got {list(in_shape)} and {list(out_shape)}"
            )

    @property
    def domain(self) -> constraints.Constraint:
        """What it takes."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> constraints.Constraint:
        """What it gives."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Any) -> Any:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.ndim - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return _exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return _exchanged(shape, self.out_shape, self.in_shape)

    def _key(self) -> Any:
        return self.in_shape, self.out_shape


def _exchanged(shape: Sequence[int], old: Size, new: Size) -> Size:
    batch = len(shape) - len(old)
    if batch < 0 or tuple(shape[batch:]) != old:
        raise ShapeError(f"ReshapeTransform: needs events of {list(old)}, got {list(shape)}")
    return Size((*shape[:batch], *new))


class SoftmaxTransform(Transform):
    """Vectors to the simplex; not bijective, as a constant added to x changes nothing.

    Example:
        >>> ebb.distributions.SoftmaxTransform()(ebb.zeros(2))
        tensor([0.5000, 0.5000])
    """

    domain: constraints.Constraint = constraints.real_vector
    codomain: constraints.Constraint = constraints.simplex

    def _call(self, x: Any) -> Any:
        return ebb.softmax(x, -1)

    def _inverse(self, y: Any) -> Any:
        return y.log()


class StickBreakingTransform(Transform):
    """Vectors of K - 1 numbers to the simplex of K: each breaks a share off what is left.

    Example:
        >>> ebb.distributions.StickBreakingTransform()(ebb.zeros(1))
        tensor([0.5000, 0.5000])
    """

    domain: constraints.Constraint = constraints.real_vector
    codomain: constraints.Constraint = constraints.simplex
    bijective = True

    def _shifted(self, x: Any) -> Any:
        """Return x so that 0 gives equal shares."""
        left = ebb.arange(x.size(-1), 0, -1, dtype=x.dtype, device=x.device)
        return x - left.log()

    def _call(self, x: Any) -> Any:
        shares = ebb.sigmoid(self._shifted(x))
        left = (1 - shares).cumprod(-1)
        return F.pad(shares, [0, 1], value=1.0) * F.pad(left, [1, 0], value=1.0)

    def _inverse(self, y: Any) -> Any:
        pieces = y[..., :-1]
        left = (1 - pieces.cumsum(-1)).clamp(min=ebb.finfo(y.dtype).tiny)
        return pieces.log() - left.log() - self._shifted(ebb.zeros_like(pieces))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (y[..., :-1].log() + F.logsigmoid(-self._shifted(x))).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangles with a positive diagonal, by exp of the diagonal.

    Example:
        >>> ebb.distributions.LowerCholeskyTransform()(ebb.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain: constraints.Constraint = constraints.independent(constraints.real, 2)
    codomain: constraints.Constraint = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones, through their Cholesky factors.

    Example:
        >>> ebb.distributions.PositiveDefiniteTransform()(ebb.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain: constraints.Constraint = constraints.independent(constraints.real, 2)
    codomain: constraints.Constraint = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(ebb.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Vectors of D (D - 1) / 2 numbers to Cholesky factors of D x D correlation matrices.

    Row by row, tanh of a number says which share of the row's remaining length an entry takes.

    Example:
        >>> ebb.distributions.CorrCholeskyTransform()(ebb.zeros(1))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain: constraints.Constraint = constraints.real_vector
    codomain: constraints.Constraint = constraints.corr_cholesky
    bijective = True

    @staticmethod
    def _left(squares: Any) -> Any:
        """Return what the entries before each one leave of a row's length 1, squared."""
        return F.pad(1 - squares.cumsum(-1)[..., :-1], [1, 0], value=1.0)

    def _call(self, x: Any) -> Any:
        eps = ebb.finfo(x.dtype).eps
        shares = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), -1)
        left = F.pad((1 - shares.square()).sqrt().cumprod(-1)[..., :-1], [1, 0], value=1.0)
        return (shares + ebb.eye(shares.size(-1), dtype=x.dtype, device=x.device)) * left

    def _inverse(self, y: Any) -> Any:
        left = tril_matrix_to_vec(self._left(y.square()), -1)
        shares = tril_matrix_to_vec(y, -1) / left.sqrt()
        return 0.5 * (shares.log1p() - (-shares).log1p())

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        left = tril_matrix_to_vec(self._left(y.square()), -1).log().sum(-1)
        return 0.5 * left + 2 * (math.log(2) - x - F.softplus(-2 * x)).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        size = round((1 + math.sqrt(1 + 8 * shape[-1])) / 2)
        if size * (size - 1) // 2 != shape[-1]:
            raise ShapeError(f"CorrCholeskyTransform: {shape[-1]} numbers fill no triangle")
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        if shape[-2] != shape[-1]:
            raise ShapeError(f"CorrCholeskyTransform: needs square matrices, got {list(shape)}")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class _Parts(Transform):
    """A transform for each part along a dim."""

    transforms: list[Transform]
    dim: int

    def _split(self, x: Any) -> Sequence[Any]:
        raise NotImplementedError

    def _join(self, parts: Sequence[Any]) -> Any:
        raise NotImplementedError

    @property
    def bijective(self) -> bool:
        return all(one.bijective for one in self.transforms)

    def _call(self, x: Any) -> Any:
        return self._join(
            [one(part) for one, part in zip(self.transforms, self._split(x), strict=True)]
        )

    def _inverse(self, y: Any) -> Any:
        return self._join(
            [one.inv(part) for one, part in zip(self.transforms, self._split(y), strict=True)]
        )

    def _key(self) -> Any:
        return self.transforms, self.dim


class CatTransform(_Parts):
    """Parts of ``lengths`` along ``dim``, each by its own transform.

    Example:
        >>> parts = [ebb.distributions.ExpTransform(), ebb.distributions.TanhTransform()]
        >>> ebb.distributions.CatTransform(parts)(ebb.zeros(2))
        tensor([1., 0.])
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ):
        super().__init__(cache_size)
        self.transforms: list[Transform] = [one.with_cache(cache_size) for one in tseq]
        self.dim = dim
        self.lengths: list[int] = [1] * len(self.transforms) if lengths is None else list(lengths)

    @property
    def domain(self) -> constraints.Constraint:
        """What it takes."""
        return constraints.cat([one.domain for one in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> constraints.Constraint:
        """What it gives."""
        return constraints.cat([one.codomain for one in self.transforms], self.dim, self.lengths)

    def _split(self, x: Any) -> Sequence[Any]:
        return x.split(self.lengths, self.dim)

    def _join(self, parts: Sequence[Any]) -> Any:
        return ebb.cat(list(parts), self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        event_dim = max(one.domain.event_dim for one in self.transforms)
        pieces = zip(self.transforms, self._split(x), self._split(y), strict=True)
        sizes = [
            sum_rightmost(one.log_abs_det_jacobian(a, b), event_dim - one.domain.event_dim)
            for one, a, b in pieces
        ]
        dim = self.dim - x.ndim if self.dim >= 0 else self.dim
        dim += event_dim
        return ebb.cat(sizes, dim) if dim < 0 else sum(sizes)


class StackTransform(_Parts):
    """The entries along ``dim``, each by its own transform.

    Example:
        >>> parts = [ebb.distributions.ExpTransform(), ebb.distributions.TanhTransform()]
        >>> ebb.distributions.StackTransform(parts)(ebb.zeros(2))
        tensor([1., 0.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.transforms: list[Transform] = [one.with_cache(cache_size) for one in tseq]
        self.dim = dim

    @property
    def domain(self) -> constraints.Constraint:
        """What it takes."""
        return constraints.stack([one.domain for one in self.transforms], self.dim)

    @property
    def codomain(self) -> constraints.Constraint:
        """What it gives."""
        return constraints.stack([one.codomain for one in self.transforms], self.dim)

    def _split(self, x: Any) -> Sequence[Any]:
        return x.unbind(self.dim)

    def _join(self, parts: Sequence[Any]) -> Any:
        return ebb.stack(list(parts), self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        pieces = zip(self.transforms, self._split(x), self._split(y), strict=True)
        return self._join([one.log_abs_det_jacobian(a, b) for one, a, b in pieces])


__all__ = [
    "CatTransform",
    "CorrCholeskyTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "ReshapeTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
]
