# python/ebb/optim/adafactor.py -- Adafactor: mean squares kept by row and by column.
"""The step is a few ops per parameter, since it sums over rows and columns."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb._functions.dtypes import finfo
from ebb.optim.optimizer import Params, UpdatesEach, options_of


class Adafactor(UpdatesEach):
    """Steps relative to the parameter, scaled by mean squares of rows and columns.

    State of a matrix is a row and a column instead of a matrix (Shazeer and Stern, 2018).

    Args:
        params: Parameters, or groups of them.
        lr: The largest relative step size; ``1 / sqrt(step)`` once that is smaller.
        beta2_decay: Power of the step that the running means forget with.
        eps: The smallest root of a mean square, the dtype's epsilon if None, and the smallest root
            mean square of a parameter.
        d: The largest root mean square of a step, before it is scaled.
        weight_decay: How strongly parameters shrink, as in AdamW.
        foreach: Taken for PyTorch's sake.
        maximize: Go up instead of down.

    Example:
        >>> x = ebb.tensor([4.0], requires_grad=True)
        >>> optimizer = ebb.optim.Adafactor([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 4.0)
        True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ):
        defaults = options_of(locals())
        if not lr >= 0:
            raise _C.ValueError(f"Adafactor: needs lr >= 0, got {lr}")
        if not beta2_decay <= 0:
            raise _C.ValueError(f"Adafactor: needs beta2_decay <= 0, got {beta2_decay}")
        if not (eps[0] is None or eps[0] >= 0) or not eps[1] >= 0:
            raise _C.ValueError(f"Adafactor: needs eps >= 0, got {eps}")
        if not d >= 1:
            raise _C.ValueError(f"Adafactor: needs d >= 1, got {d}")
        if not weight_decay >= 0:
            raise _C.ValueError(f"Adafactor: needs weight_decay >= 0, got {weight_decay}")
        super().__init__(params, defaults)

    def _update(self, parameter: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        grad = -parameter.grad if group["maximize"] else parameter.grad
        state["step"] = step = state.get("step", 0) + 1
        lr, (smallest, least) = group["lr"], group["eps"]
        smallest = finfo(parameter.dtype).eps if smallest is None else smallest
        scale = min(lr, step**-0.5) * max(least, _root_mean_square(parameter))
        if group["weight_decay"]:
            parameter.mul_(1 - lr * group["weight_decay"])
        squares = _mean_squares(grad, state, step ** group["beta2_decay"], smallest)
        update = squares.clamp_(min=smallest * smallest).rsqrt_().mul_(grad)
        scale /= max(1.0, _root_mean_square(update) / group["d"])
        parameter.add_(update, alpha=-scale)


def _root_mean_square(tensor: Tensor) -> float:
    return tensor.norm().item() / max(tensor.numel(), 1) ** 0.5


def _mean_squares(grad: Tensor, state: dict[str, Any], share: float, smallest: float) -> Tensor:
    """Return the running mean square of each element, moved by ``share`` towards the gradient's."""
    if grad.ndim < 2:
        if "variance" not in state:
            state["variance"] = _C.zeros_like(grad)
        return state["variance"].lerp_(grad.square(), share).clone()
    means = {"row_var": grad.square().mean(-1, True), "col_var": grad.square().mean(-2, True)}
    for name, mean in means.items():
        if name not in state:
            state[name] = _C.zeros_like(mean)
        state[name].lerp_(mean, share)
    rows, columns = state["row_var"], state["col_var"]
    return (rows @ columns).div_(rows.mean(-2, True).clamp_(min=smallest))
