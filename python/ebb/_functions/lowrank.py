# python/ebb/_functions/lowrank.py -- a few singular or eigenvectors of large matrices, by products.
"""Spectra of which only a few vectors are wanted: svd_lowrank, pca_lowrank, lobpcg."""

from __future__ import annotations

from typing import Any

import ebb
from ebb import _C, linalg
from ebb._C import ShapeError as _ShapeError, Tensor, ValueError as _ValueError
from ebb._functions.checks import is_followed


def _basis(A, q, niter):  # noqa: N803
    """Return q orthonormal columns that hold nearly all of A: Halko et al. (2009), 4.4."""
    found = linalg.qr(A @ ebb.randn(A.shape[-1], q, dtype=A.dtype, device=A.device))[0]
    for _ in range(niter):
        found = linalg.qr(A.mH @ found)[0]
        found = linalg.qr(A @ found)[0]
    return found


def svd_lowrank(
    A: Any,  # noqa: N803
    q: Any = 6,
    niter: Any = 2,
    M: Any = None,  # noqa: N803
) -> tuple[Tensor, Tensor, Tensor]:
    """Return about ``q`` of the largest singular values of ``A`` - ``M``: (U, S, V).

    Args:
        q: A little more than the rank that matters.
        niter: How often the random basis is improved.
        M: What is taken off, such as means; none if not given.

    Example:
        >>> U, S, V = ebb.svd_lowrank(ebb.ones(6, 4), q=2)
        >>> U.shape, S.shape, V.shape
        (ebb.Size([6, 2]), ebb.Size([2]), ebb.Size([4, 2]))
    """
    if A.ndim < 2:
        raise _ShapeError(f"svd_lowrank: A needs at least 2 dims, got {list(A.shape)}")
    if niter < 0 or not 0 <= q <= min(A.shape[-2:]):
        raise _ValueError(
            f"svd_lowrank: needs q from 0 to {min(A.shape[-2:])} and niter of at least 0, "
            f"got {q} and {niter}"
        )
    moved = A if M is None else A - M
    is_wide = moved.shape[-2] < moved.shape[-1]
    tall = moved.mH if is_wide else moved
    basis = _basis(tall, q, niter)
    left, values, right = linalg.svd(basis.mH @ tall, False)
    left, right = basis @ left, right.mH
    return (right, values, left) if is_wide else (left, values, right)


def pca_lowrank(
    A: Any,  # noqa: N803
    q: Any = None,
    center: Any = True,
    niter: Any = 2,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the ``q`` (6, if there are as many) principal directions V of rows: (U, S, V).

    Args:
        center: Whether the means of columns are taken off first.

    Example:
        >>> U, S, V = ebb.pca_lowrank(ebb.rand(6, 4), q=2)
        >>> U.shape, S.shape, V.shape
        (ebb.Size([6, 2]), ebb.Size([2]), ebb.Size([4, 2]))
    """
    if A.ndim < 2:
        raise _ShapeError(f"pca_lowrank: A needs at least 2 dims, got {list(A.shape)}")
    q = min(6, *A.shape[-2:]) if q is None else q
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)


def lobpcg(
    A: Any,  # noqa: N803
    k: Any = None,
    B: Any = None,  # noqa: N803
    X: Any = None,  # noqa: N803
    n: Any = None,
    iK: Any = None,  # noqa: N803
    niter: Any = None,
    tol: Any = None,
    largest: Any = None,
    method: Any = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """Return the ``k`` largest eigenvalues E of A x = E B x, and their vectors as columns.

    A and B (none: the identity) are Hermitian, B positive definite. Where derivatives are asked
    for, E and X are out of ``linalg.eigh`` of the whole matrix, which has those of any order.

    Args:
        X: Where to begin, [..., n]; random vectors if not given.
        iK: What residuals are multiplied by, an approximate inverse of A.
        niter: The most iterations, 1000 if not given; -1 for no end.
        tol: When a residual is small, relative to A and x: the root of the dtype's epsilon.
        largest: False for the smallest eigenvalues.
        method: "basic" or "ortho", which are one here: bases are always made orthonormal.

    Example:
        >>> values, vectors = ebb.lobpcg(ebb.diag(ebb.arange(1.0, 10.0)), k=1)
        >>> values.shape, vectors.shape
        (ebb.Size([1]), ebb.Size([9, 1]))
    """
    if method not in (None, "basic", "ortho"):
        raise _ValueError(f"lobpcg: method needs basic or ortho, got {method!r}")
    if tracker is not None or ortho_iparams or ortho_fparams or ortho_bparams:
        raise _C.NotImplementedError("lobpcg: takes no tracker and no ortho parameters")
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise _ShapeError(f"lobpcg: A needs square matrices, got {list(A.shape)}")
    wanted = k if k is not None else 1 if X is None else X.shape[-1]
    width = X.shape[-1] if X is not None else n if n is not None else wanted
    if not 0 < wanted <= width or A.shape[-1] < 3 * width:
        raise _ValueError(
            f"lobpcg: needs k of at least 1, n of at least k and 3 n rows, "
            f"got k={wanted}, n={width} and {A.shape[-1]} rows"
        )
    largest = True if largest is None else largest
    with ebb.no_grad():
        start = X
        if start is None:
            start = ebb.randn(*A.shape[:-1], width, dtype=A.dtype, device=A.device)
        values, vectors = _searched(
            [one if one is None else one.detach() for one in (A, start, B, iK)],
            lambda A, start, B, iK: _Search(A, B, iK, largest).run(  # noqa: N803
                start, 1000 if niter is None else niter, tol
            ),
        )
        values, vectors = values[..., :wanted], vectors[..., :wanted]
    if is_followed(A) or is_followed(B):
        return _followed(A, B, vectors, largest)
    return values, vectors


def _searched(operands, run):
    """Return what ``run`` finds for each matrix alone, so that none goes on for another's sake."""
    batch = ebb.broadcast_shapes(*(one.shape[:-2] for one in operands if one is not None))
    if not batch or batch.numel() == 0:
        return run(*operands)
    rows = [
        [None] * batch.numel()
        if one is None
        else one.expand(*batch, *one.shape[-2:]).reshape(-1, *one.shape[-2:])
        for one in operands
    ]
    found = [run(*one) for one in zip(*rows, strict=True)]
    return tuple(ebb.stack(one).unflatten(0, batch) for one in zip(*found, strict=True))


class _Search:
    """The best vectors in the span of themselves, of residuals and of the last steps."""

    def __init__(self, A, B, inverse, largest):  # noqa: N803
        self.A, self.B, self.inverse, self.largest = A, B, inverse, largest

    def run(self, vectors, niter, tol):
        tol = ebb.finfo(self.A.dtype).eps ** 0.5 if tol is None else tol
        width = vectors.shape[-1]
        size = self.A.norm(dim=(-2, -1))[..., None]
        size_of_B = 1 if self.B is None else self.B.norm(dim=(-2, -1))[..., None]
        values, vectors = self.best_of(vectors, width)
        steps = None
        while niter != 0:
            residuals = self.A @ vectors - self.times_B(vectors) * values[..., None, :]
            allowed = tol * (size + abs(values) * size_of_B) * vectors.norm(dim=-2)
            if (residuals.norm(dim=-2) <= allowed).all():
                break
            moved = residuals if self.inverse is None else self.inverse @ residuals
            span = [vectors, moved] if steps is None else [vectors, moved, steps]
            before = vectors
            values, vectors = self.best_of(ebb.cat(span, -1), width)
            steps = vectors - before @ (before.mH @ vectors)
            niter -= 1
        return values, vectors

    def times_B(self, vectors):  # noqa: N802
        return vectors if self.B is None else self.B @ vectors

    def best_of(self, span, width):
        """Return the extreme eigenvalues within a span, and their vectors."""
        basis = linalg.qr(span)[0]
        inner = basis.mH @ self.A @ basis
        if self.B is not None:
            lower = linalg.cholesky(basis.mH @ self.times_B(basis))
            raised = linalg.inv(lower)
            basis, inner = basis @ raised.mH, raised @ inner @ raised.mH
        values, vectors = linalg.eigh((inner + inner.mH) / 2)
        if self.largest:
            values, vectors = values.flip(-1), vectors.flip(-1)
        return values[..., :width], basis @ vectors[..., :width]


def _followed(A, B, found, largest):  # noqa: N803
    """Return the pairs out of all eigenvalues of A: those have derivatives of any order."""
    A, count = (A + A.mH) / 2, found.shape[-1]
    raised = None
    if B is not None:
        raised = linalg.inv(linalg.cholesky((B + B.mH) / 2))
        A = raised @ A @ raised.mH
    values, vectors = linalg.eigh(A)
    if raised is not None:
        vectors = raised.mH @ vectors
    if largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    values, vectors = values[..., :count], vectors[..., :count]
    with ebb.no_grad():  # signs, or phases, are those of the search
        turn = (vectors.detach().conj() * found).sum(-2, True).sgn()
    return values, vectors * turn
