# python/ebb/optim/lr_scheduler/cyclic.py -- CyclicLR: up and down between two rates.
"""The schedule of Smith, 2017, in the three shapes of its paper and those that users give."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ebb import _C
from ebb.optim.lr_scheduler.base import LRScheduler, per_group, set_rate, state_of
from ebb.optim.lr_scheduler.momentum import limit_momenta, set_momentum
from ebb.optim.optimizer import Optimizer

# The modes of CyclicLR, and what the height depends on.
_SCALES = {"triangular": "cycle", "triangular2": "cycle", "exp_range": "iterations"}


class CyclicLR(LRScheduler):
    """Lets the rate rise from ``base_lr`` to ``max_lr`` and fall again; step it every batch.

    Args:
        optimizer: Its groups are changed.
        base_lr: The lowest rate, or one per group.
        max_lr: The highest rate, or one per group.
        step_size_up: How many steps the rise takes.
        step_size_down: How many steps the fall takes; as many as the rise if None.
        mode: "triangular", "triangular2" (each cycle half as high as the one before) or
            "exp_range" (the height falls by ``gamma`` every step); ignored with ``scale_fn``.
        gamma: The factor of "exp_range".
        scale_fn: Gives the height, as a share of the first, for a cycle (from 1) or a step.
        scale_mode: "cycle" or "iterations": what ``scale_fn`` is called with.
        cycle_momentum: Lead the momentum (the first beta) the other way.
        base_momentum: The lowest momentum, or one per group.
        max_momentum: The highest momentum, or one per group.
        last_epoch: The step to go on from; -1 starts anew.
    Example:
        >>> weight = ebb.zeros(2, requires_grad=True)
        >>> optimizer = ebb.optim.SGD([weight], lr=0.1, momentum=0.9)
        >>> schedule = ebb.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.5, step_size_up=4)
        >>> schedule.get_last_lr()
        [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ):
        if not isinstance(optimizer, Optimizer):
            raise _C.DTypeError(f"CyclicLR: needs an Optimizer, got {type(optimizer).__name__}")
        if scale_fn is None and mode not in _SCALES:
            raise _C.ValueError(f"CyclicLR: needs mode {', '.join(_SCALES)}, got {mode!r}")
        lowest = per_group("CyclicLR", "base_lr", base_lr, optimizer)
        self.max_lrs: list[Any] = per_group("CyclicLR", "max_lr", max_lr, optimizer)
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size: float = float(step_size_up + down)
        self.step_ratio: float = step_size_up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode: str = scale_mode if scale_fn is not None else _SCALES[mode]
        self.cycle_momentum = cycle_momentum
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, lowest, strict=True):
                set_rate(group, rate)
        if cycle_momentum:
            limit_momenta(
                "CyclicLR", optimizer, base_momentum, max_momentum, begins=last_epoch == -1
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def scale_fn(self, x: float) -> float:
        """Return the height of cycle ``x``, or at step ``x``, as a share of the first."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return self.gamma**x
        return 0.5 ** (x - 1) if self.mode == "triangular2" else 1.0

    def get_lr(self) -> list[float]:
        """Return the rates of this step, and set the momenta."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        rises = place <= self.step_ratio
        part = place / self.step_ratio if rises else (place - 1) / (self.step_ratio - 1)
        part *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                low, high = group["base_momentum"], group["max_momentum"]
                set_momentum(group, high - (high - low) * part)
        pairs = zip(self._starting_lrs(), self.max_lrs, strict=True)
        return [low + (high - low) * part for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer; ``scale_fn`` only if it is an object."""
        state = super().state_dict()
        state["_scale_fn_custom"] = state_of(self._scale_fn_custom)
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        function = self._scale_fn_custom
        super().load_state_dict(state_dict)
        self._scale_fn_custom = function
        if state_dict["_scale_fn_custom"] is not None:
            vars(function).update(state_dict["_scale_fn_custom"])
