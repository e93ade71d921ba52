# python/ebb/optim/lr_scheduler/plateau.py -- lowers the rate when a loss no longer falls.
"""The one schedule that looks at a number."""

from __future__ import annotations

import math
from typing import Any

from ebb import _C
from ebb.optim.lr_scheduler.base import LRScheduler, per_group, set_rate
from ebb.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by ``factor`` when a metric has not got better for a while.

    Args:
        optimizer: Its groups are changed.
        mode: "min" if smaller is better, "max" if larger is.
        factor: Below 1.
        patience: How many epochs without progress are borne.
        threshold: The least progress that counts.
        threshold_mode: "rel": as a share of the best so far; "abs": as a difference.
        cooldown: How many epochs are not looked at after the rate was lowered.
        min_lr: The lowest rate, or one per group.
        eps: A smaller change of the rate is left out.

    Example:
        >>> optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> schedule = ebb.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        >>> schedule.step(1.0)
        >>> schedule.step(1.0)
        >>> f"{schedule.get_last_lr()[0]:.4f}"
        '0.0100'
    """

    _may_be_missing = frozenset(("base_lrs", "_step_count"))

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0.0,
        eps: float = 1e-8,
    ):
        name = "ReduceLROnPlateau"
        if not factor < 1:
            raise _C.ValueError(f"{name}: needs factor < 1, got {factor}")
        if mode not in ("min", "max"):
            raise _C.ValueError(f"{name}: needs mode min or max, got {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise _C.ValueError(f"{name}: needs threshold_mode rel or abs, got {threshold_mode!r}")
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.eps = eps
        self.best: float = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs: int = 0
        self.cooldown_counter: int = 0
        super().__init__(optimizer)
        self.default_min_lr: float | int | None = (
            None if isinstance(min_lr, (list, tuple)) else min_lr
        )
        self.min_lrs: list[Any] = per_group(name, "min_lr", min_lr, optimizer)

    def _begin(self) -> None:
        self.last_epoch = 0
        self._last_lr = self._present_lrs()

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs are not looked at, since the rate was lowered."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Look at this epoch's metric.

        Args:
            metrics: A number, or a tensor of one element.
            epoch: Which epoch it is; the next one if None. Deprecated.
        """
        metric = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._step_count += 1
        if self._is_better(metric):
            self.best = metric
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._present_lrs()

    def _is_better(self, metric: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            bound = self.best * (1 + sign * self.threshold)
        else:
            bound = self.best + sign * self.threshold
        return metric < bound if self.mode == "min" else metric > bound

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):  # one was added
            if self.default_min_lr is None:
                raise _C.ValueError(
                    f"ReduceLROnPlateau: needs min_lrs for {len(groups)} groups, got "
                    f"{len(self.min_lrs)}\nhint: append to min_lrs after add_param_group()"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            before = float(group["lr"])
            rate = max(before * self.factor, least)
            if before - rate > self.eps:
                set_rate(group, rate)
