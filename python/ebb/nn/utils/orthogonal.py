# python/ebb/nn/utils/orthogonal.py -- weights with orthogonal columns, or rows.
#
# Each of three maps takes an unconstrained matrix to one with orthonormal columns; _Orthogonal
# computes with tall matrices and turns wide ones. With a trivialization the map's result is
# multiplied by a fixed orthogonal `base`, so that training begins at the map's best-behaved place.
"""The parametrization ``orthogonal``; users find it in ``parametrizations``."""

from __future__ import annotations

from ebb import _C, linalg
from ebb._C import Tensor
from ebb._functions.checks import allclose
from ebb._functions.dtypes import finfo
from ebb.nn.module import Module
from ebb.nn.utils.parametrize import register_parametrization

_MAPS = ("matrix_exp", "cayley", "householder")


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a matrix, or each of a batch, orthogonal: its columns, or rows if these are fewer.

    It begins as it was if it was orthogonal, else as the Q of its QR decomposition.

    Args:
        module: What the matrix belongs to.
        name: Its name.
        orthogonal_map: "matrix_exp", "cayley" or "householder"; if None the first for square and
            complex matrices, the last for others.
        use_trivialization: Multiply by a fixed orthogonal matrix; without it the first two maps
            cannot be assigned to, and begin elsewhere.
    Example:
        >>> layer = ebb.nn.utils.parametrizations.orthogonal(ebb.nn.Linear(3, 3))
        >>> weight = layer.weight
        >>> ebb.allclose(weight @ weight.mT, ebb.eye(3), atol=1e-5)
        True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise _C.ValueError(
            f"orthogonal: needs the name of a parameter of {type(module).__name__}, got {name!r}"
        )
    if weight.ndim < 2:
        raise _C.ShapeError(f"orthogonal: needs a matrix or several, got {list(weight.shape)}")
    if orthogonal_map is None:
        is_square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if is_square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise _C.ValueError(f"orthogonal: needs a map of {', '.join(_MAPS)}, "
                            f"got {orthogonal_map!r}")  # fmt: skip
    if weight.is_complex() and orthogonal_map == "householder":
        raise _C.DTypeError(f"orthogonal: householder needs real matrices, got {weight.dtype}")
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


class _Orthogonal(Module):
    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool):
        super().__init__()
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, weight: Tensor) -> Tensor:
        is_wide = weight.shape[-2] < weight.shape[-1]
        tall = weight.mT if is_wide else weight
        by_reflections = self.orthogonal_map == "householder"
        made = _reflected(tall) if by_reflections else self._turned(tall.tril())
        if hasattr(self, "base"):
            made = self.base @ made
        return made.mT if is_wide else made

    def _turned(self, lower: Tensor) -> Tensor:
        """Return the first columns of the rotation that belongs to a skew matrix."""
        rows, columns = lower.shape[-2:]
        if rows != columns:
            zeros = _C.zeros([*lower.shape[:-1], rows - columns], dtype=lower.dtype,
                             device=lower.device)  # fmt: skip
            lower = _C.cat([lower, zeros], -1)
        skew = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            made = linalg.matrix_exp(skew)
        else:
            one = _C.eye(rows, dtype=skew.dtype, device=skew.device)
            made = linalg.solve(one - 0.5 * skew, one + 0.5 * skew)
        return made[..., :columns]

    def right_inverse(self, value: Tensor) -> Tensor:
        if value.shape != self.shape:
            raise _C.ShapeError(
                f"orthogonal: needs a tensor of {list(self.shape)}, got {list(value.shape)}"
            )
        is_wide = value.shape[-2] < value.shape[-1]
        tall = (value.mT if is_wide else value).detach()
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise _C.NotImplementedError(
                    f"orthogonal: {self.orthogonal_map} needs use_trivialization=True to be "
                    "assigned to, got False"
                )
            found = _reflectors(tall)
            return found.mT if is_wide else found
        self.base = _completed(tall)
        # What all maps take to the identity: the diagonal holds the signs of the reflections.
        start = _C.zeros_like(value)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def _reflected(tall: Tensor) -> Tensor:
    """Return the product of the reflections below the diagonal, with the diagonal's signs.

    With the vectors as columns of V it is ``I - V T V^T``, where the inverse of T is the upper
    triangle of ``V^T V``, its diagonal halved (Joffrain et al., 2006).
    """
    rows, columns = tall.shape[-2:]
    one = _C.eye(rows, columns, dtype=tall.dtype, device=tall.device)
    vectors = tall.tril(-1) + one
    products = vectors.mT @ vectors
    inverse = products.triu() - 0.5 * _C.diag_embed(products.diagonal(dim1=-2, dim2=-1))
    first_rows = vectors[..., :columns, :].mT
    made = one - vectors @ linalg.solve_triangular(inverse, first_rows, upper=True)
    signs = tall.detach().diagonal(dim1=-2, dim2=-1).trunc()
    return made * signs.unsqueeze(-2)


def _reflectors(tall: Tensor) -> Tensor:
    """Return the matrix that ``_reflected`` takes to the Q, of positive R, of ``tall``."""
    left = tall.clone()
    kept = _C.zeros_like(tall)
    for column in range(tall.shape[-1]):
        part = left[..., column:, column]
        head, tail = part[..., :1], part[..., 1:]
        length = _C.norm(part, 2, -1, True)
        is_done = (tail == 0).all(-1, keepdim=True)
        end = _C.where(head < 0, length, -length)  # what is left of the column: R's diagonal
        vector = _C.where(is_done, 0.0, tail / (head - end))
        # Where nothing is to be reflected the vector is zero, and _reflected turns the sign.
        kept[..., column, column] = _C.where(is_done, -head, end).sign().squeeze(-1)
        kept[..., column + 1 :, column] = vector
        whole = _C.cat([_C.ones_like(head), vector], -1).unsqueeze(-1)
        factor = _C.where(is_done, 0.0, 2.0 / whole.square().sum(-2)).unsqueeze(-1)
        rest = left[..., column:, :].clone()
        left[..., column:, :] = rest - factor * (whole @ (whole.mT @ rest))
    return kept


def _completed(tall: Tensor) -> Tensor:
    """Return a square orthogonal matrix that begins with the columns, made orthogonal."""
    rows, columns = tall.shape[-2:]
    if rows > columns:
        more = _C.randn([*tall.shape[:-1], rows - columns], dtype=tall.dtype, device=tall.device)
        return _positive_q(_C.cat([tall, more], -1))
    one = _C.eye(rows, dtype=tall.dtype, device=tall.device)
    if allclose(tall.mH @ tall, one, atol=10.0 * rows * finfo(tall.dtype).eps):
        return tall.clone()
    return _positive_q(tall)


def _positive_q(matrix: Tensor) -> Tensor:
    """Return the Q whose R has a positive diagonal."""
    q, r = linalg.qr(matrix)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
