# python/ebb/utils/gradient_state.py -- what is wrong with a gradient: one notion for all reports.
"""``norm_of`` and ``state_of``, for ``GradientFlow`` and ``ebb.explain``."""

from __future__ import annotations

import math

from ebb import Tensor, float64, no_grad

MISSING, ZERO, NOT_FINITE, FINITE = "missing", "zero", "not_finite", "finite"

TEXTS = {MISSING: "none", ZERO: "zero everywhere", NOT_FINITE: "not finite", FINITE: "finite"}


def norm_of(grad: Tensor | None) -> float | None:
    """Return the 2-norm, computed in float64 so that squares neither overflow nor vanish."""
    if grad is None:
        return None
    grad = grad.detach()
    if not grad.is_dense:
        grad = grad.coalesce().values()
    if grad.is_complex():  # norm() takes real numbers only
        import numpy as np

        return float(np.linalg.norm(grad.cpu().numpy().astype(np.complex128)))
    with no_grad():
        return float(grad.to(float64).norm().item())


def state_of(norm: float | None) -> str:
    """Return "missing", "zero", "not_finite" or "finite" for the norm of a gradient."""
    if norm is None:
        return MISSING
    if not math.isfinite(norm):
        return NOT_FINITE
    return ZERO if norm == 0 else FINITE
