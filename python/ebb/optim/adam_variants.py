# python/ebb/optim/adam_variants.py -- Adamax, NAdam and RAdam.
"""Their steps are ebb/optim/adam_variants.cpp."""

from __future__ import annotations

import math
from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.optim.fused import FusedOptimizer, options_of
from ebb.optim.optimizer import Group, Params


class Adamax(FusedOptimizer):
    """Adam with the largest gradient in place of the root mean square (Kingma and Ba, 2015).

    Args:
        params: Parameters, or groups of them.
        lr: Step size.
        betas: Decay of the running mean and of the largest gradient.
        eps: Added to the gradient's size, so that nothing is divided by zero.
        weight_decay: Factor of the parameter that is added to its gradient.
        maximize: Go up instead of down.
        master_weights: Keep float32 values of parameters of half types, which make the steps.
        foreach, capturable: Taken for PyTorch's sake; every step is fused.
        differentiable: Refused if True: a step is not recorded.

    Example:
        >>> x = ebb.tensor([4.0], requires_grad=True)
        >>> optimizer = ebb.optim.Adamax([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 4.0)
        True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        master_weights: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, options_of(locals()), differentiable=differentiable)


class NAdam(FusedOptimizer):
    """Adam with Nesterov's momentum (Dozat, 2016).

    Args:
        params: Parameters, or groups of them.
        lr: Step size.
        betas: Decay of the running mean and of the running mean square.
        eps: Added to the root, so that nothing is divided by zero.
        weight_decay: Factor of the parameter that is added to its gradient.
        momentum_decay: How fast momentum rises to ``betas[0]``.
        decoupled_weight_decay: Shrink the parameter directly instead, as AdamW does.
        maximize: Go up instead of down.
        master_weights: Keep float32 values of parameters of half types, which make the steps.
        foreach, capturable: Taken for PyTorch's sake; every step is fused.
        differentiable: Refused if True: a step is not recorded.

    Example:
        >>> x = ebb.tensor([4.0], requires_grad=True)
        >>> optimizer = ebb.optim.NAdam([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 4.0)
        True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
        master_weights: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, options_of(locals()), differentiable=differentiable)

    def _following(self, group: Group, steps: int) -> dict[str, Any]:
        first, decay = group["betas"][0], group["momentum_decay"]
        momenta = (first * (1 - 0.5 * 0.96 ** (step * decay)) for step in range(1, steps + 1))
        return {"mu_product": _C.tensor(math.prod(momenta))}


class RAdam(FusedOptimizer):
    """Adam that divides by the root mean square once it is known well enough (Liu et al., 2020).

    Args:
        params: Parameters, or groups of them.
        lr: Step size.
        betas: Decay of the running mean and of the running mean square.
        eps: Added to the root, so that nothing is divided by zero.
        weight_decay: Factor of the parameter that is added to its gradient.
        decoupled_weight_decay: Shrink the parameter directly instead, as AdamW does.
        maximize: Go up instead of down.
        master_weights: Keep float32 values of parameters of half types, which make the steps.
        foreach, capturable: Taken for PyTorch's sake; every step is fused.
        differentiable: Refused if True: a step is not recorded.

    Example:
        >>> x = ebb.tensor([4.0], requires_grad=True)
        >>> optimizer = ebb.optim.RAdam([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 4.0)
        True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
        master_weights: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        super().__init__(params, options_of(locals()), differentiable=differentiable)
