# python/ebb/optim/muon.py -- Muon: momentum whose singular values are made equal.
"""The step is a few products of matrices per parameter."""

from __future__ import annotations

import math
from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.optim.optimizer import Group, Params, UpdatesEach, options_of


class Muon(UpdatesEach):
    """Steps along the orthogonal matrix nearest to the momentum; for matrices of hidden layers.

    Newton and Schulz's iteration finds it in bfloat16 (Jordan et al., 2024).

    Args:
        params: Matrices, or groups of them; all other parameters need another optimizer.
        lr: Step size.
        weight_decay: How strongly parameters shrink, as in AdamW.
        momentum: Share of the last step that is kept.
        nesterov: Look ahead along the momentum.
        ns_coefficients: Of ``x``, ``x^3`` and ``x^5`` in the iteration.
        eps: The smallest norm that a matrix is divided by.
        ns_steps: How often the iteration is made.
        adjust_lr_fn: "original" (or None) scales steps of tall matrices by the root of their
            aspect, "spectral_unclamped" those of wide ones as well; "match_rms_adamw" makes all
            steps as large as AdamW's.

    Example:
        >>> x = ebb.ones(2, 2, requires_grad=True)
        >>> optimizer = ebb.optim.Muon([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.shape
        ebb.Size([2, 2])
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ):
        defaults = options_of(locals())
        for name, value in (("lr", lr), ("weight_decay", weight_decay), ("momentum", momentum)):
            if not value >= 0:
                raise _C.ValueError(f"Muon: needs {name} >= 0, got {value}")
        known = ("original", "match_rms_adamw", "spectral_unclamped")
        if adjust_lr_fn is not None and adjust_lr_fn not in known:
            raise _C.ValueError(
                f"Muon: adjust_lr_fn needs one of {', '.join(known)}, got {adjust_lr_fn!r}"
            )
        if not 0 <= ns_steps < 100:
            raise _C.ValueError(f"Muon: needs 0 <= ns_steps < 100, got {ns_steps}")
        super().__init__(params, defaults)

    def _checked_group(self, param_group: Group) -> Group:
        group = super()._checked_group(param_group)
        for number, parameter in enumerate(group["params"]):
            if parameter.ndim != 2:
                raise _C.ShapeError(
                    f"Muon: needs matrices, got {list(parameter.shape)} as parameter {number}\n"
                    "hint: give vectors and tables of embeddings to AdamW"
                )
        return group

    def _update(self, parameter: Tensor, state: dict[str, Any], group: Group) -> None:
        grad, momentum, lr = parameter.grad, group["momentum"], group["lr"]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = _C.zeros_like(grad)
        buffer = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        ahead = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = _orthogonal(ahead, group["ns_coefficients"], group["ns_steps"], group["eps"])
        parameter.mul_(1 - lr * group["weight_decay"])
        rows, columns = parameter.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            lr *= 0.2 * math.sqrt(max(rows, columns))
        else:
            least = 0 if group["adjust_lr_fn"] == "spectral_unclamped" else 1
            lr *= math.sqrt(max(least, rows / max(columns, 1)))
        parameter.add_(update.to(parameter.dtype), alpha=-lr)


def _orthogonal(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """Return, in bfloat16, about U V^T of the singular value decomposition U S V^T."""
    a, b, c = coefficients
    is_tall = matrix.shape[0] > matrix.shape[1]
    found = (matrix.mT if is_tall else matrix).to(_C.bfloat16)
    found = found / found.norm().clamp(min=eps)
    for _ in range(steps):
        gram = found @ found.mT
        found = a * found + (b * gram + c * (gram @ gram)) @ found
    return found.mT if is_tall else found
