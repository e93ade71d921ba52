# python/ebb/optim/lr_scheduler/momentum.py -- schedules that lead the momentum against the rate.
"""The momentum of a group is its ``momentum``, or the first of its ``betas``."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb.optim.lr_scheduler.base import per_group
from ebb.optim.optimizer import Optimizer


def limit_momenta(
    op: str, optimizer: Optimizer, lowest: Any, highest: Any, *, begins: bool = True
) -> None:
    """Note in each group between which momenta it is led; one that begins has the highest."""
    lows = per_group(op, "base_momentum", lowest, optimizer)
    highs = per_group(op, "max_momentum", highest, optimizer)
    for group, low, high in zip(optimizer.param_groups, lows, highs, strict=True):
        if "momentum" not in group and "betas" not in group:
            raise _C.ValueError(
                f"{op}: needs an optimizer with momentum or betas to cycle the momentum, "
                f"got {type(optimizer).__name__}"
            )
        group["base_momentum"], group["max_momentum"] = low, high
        if begins:
            set_momentum(group, high)


def set_momentum(group: dict[str, Any], momentum: float) -> None:
    """Give a group its momentum."""
    if "betas" in group:
        group["betas"] = (momentum, *tuple(group["betas"])[1:])
    else:
        group["momentum"] = momentum
