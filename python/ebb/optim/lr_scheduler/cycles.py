# python/ebb/optim/lr_scheduler/cycles.py -- cosines that start again, and one cycle up and down.
"""Schedules whose rate follows from the epoch alone."""

from __future__ import annotations

import math
from typing import Any

from ebb import _C
from ebb.optim.lr_scheduler.base import LRScheduler, at_least, per_group
from ebb.optim.lr_scheduler.momentum import limit_momenta, set_momentum
from ebb.optim.optimizer import Optimizer


class CosineAnnealingWarmRestarts(LRScheduler):
    """Lets the rate fall to ``eta_min`` along half a cosine, again and again.

    Args:
        optimizer: Its groups are changed.
        T_0: How many epochs the first fall takes.
        T_mult: How many times longer each fall is than the one before.
        eta_min: The lowest rate.
        last_epoch: The epoch to go on from; -1 starts anew.

    Example:
        >>> optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> schedule = ebb.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=4)
        >>> optimizer.step()
        >>> schedule.step()
        >>> f"{schedule.get_last_lr()[0]:.4f}"
        '0.0854'
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,  # noqa: N803 -- PyTorch's name
        T_mult: int = 1,  # noqa: N803
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ):
        name = "CosineAnnealingWarmRestarts"
        self.T_0 = at_least(name, "T_0", T_0, 1)
        self.T_mult: int = at_least(name, "T_mult", T_mult, 1)
        self.eta_min = eta_min
        self.T_i: int = self.T_0
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates of this epoch."""
        factor = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (rate - self.eta_min) * factor for rate in self._starting_lrs()]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch.

        Args:
            epoch: Go to this epoch instead; fractions are allowed, so that the rate may change
                with every batch.
        """
        if epoch is not None and not epoch >= 0:
            raise _C.ValueError(f"step: needs epoch >= 0, got {epoch}")
        if epoch is not None or self._step_count == 0:
            epoch = self.last_epoch + 1 if epoch is None else epoch
            self._place(epoch)
            self.last_epoch = math.floor(epoch)
        else:
            self._advance()
        self._step_count += 1
        self._set(self._computed(self.get_lr, is_initial=self._step_count == 1))

    def _advance(self) -> None:
        """Go one epoch on; a fraction that step(epoch) gave stays."""
        self.last_epoch += 1
        self.T_cur += 1
        if self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult

    def _start(self) -> None:
        self._place(0)
        super()._start()

    def _restart(self) -> None:
        self._place(0)
        super()._restart()

    def _place(self, epoch: float) -> None:
        """Find the fall that ``epoch`` is in, and how far."""
        start, length = 0, self.T_0
        if self.T_mult == 1:
            start = int(epoch // length) * length
        else:
            while epoch >= start + length:
                start += length
                length *= self.T_mult
        self.T_cur = epoch - start
        self.T_i = length


class OneCycleLR(LRScheduler):
    """Raises the rate to ``max_lr`` and lowers it far below its start, once; step it every batch.

    Args:
        optimizer: Its groups are changed.
        max_lr: The highest rate, or one per group.
        total_steps: How many steps the cycle takes; else ``epochs * steps_per_epoch``.
        epochs: With ``steps_per_epoch`` instead of ``total_steps``.
        steps_per_epoch: With ``epochs`` instead of ``total_steps``.
        pct_start: Share of the steps in which the rate rises.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: Lead the momentum (the first beta) the other way.
        base_momentum: The lowest momentum, or one per group.
        max_momentum: The highest momentum, or one per group.
        div_factor: ``max_lr`` over the first rate.
        final_div_factor: The first rate over the last.
        three_phase: Fall as slowly as the rise, and only then below the start.
        last_epoch: The step to go on from; -1 starts anew.

    Example:
        >>> optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> schedule = ebb.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
        >>> optimizer.step()
        >>> schedule.step()
        >>> f"{schedule.get_last_lr()[0]:.4f}"
        '0.5200'
    """

    _may_be_missing = frozenset(("phases", "anneal_strategy"))

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ):
        if not isinstance(optimizer, Optimizer):
            raise _C.DTypeError(f"OneCycleLR: needs an Optimizer, got {type(optimizer).__name__}")
        if total_steps is not None:
            self.total_steps = at_least("OneCycleLR", "total_steps", total_steps, 1)
        elif epochs is None or steps_per_epoch is None:
            raise _C.ValueError(
                "OneCycleLR: needs total_steps, or epochs and steps_per_epoch, got neither"
            )
        else:
            self.total_steps: int = at_least("OneCycleLR", "epochs", epochs, 1) * at_least(
                "OneCycleLR", "steps_per_epoch", steps_per_epoch, 1
            )
        if not 0 <= pct_start <= 1:
            raise _C.ValueError(f"OneCycleLR: needs 0 <= pct_start <= 1, got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise _C.ValueError(
                f"OneCycleLR: needs anneal_strategy cos or linear, got {anneal_strategy!r}"
            )
        self.anneal_strategy = anneal_strategy
        self.cycle_momentum = cycle_momentum
        self.phases: list[tuple[Any, ...]] = _phases(self.total_steps, pct_start, three_phase)
        if last_epoch == -1:
            self._set_rates(optimizer, max_lr, div_factor, final_div_factor)
            if cycle_momentum:
                limit_momenta("OneCycleLR", optimizer, base_momentum, max_momentum)
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _set_rates(optimizer: Optimizer, max_lr: Any, div: float, final_div: float) -> None:
        highest = per_group("OneCycleLR", "max_lr", max_lr, optimizer)
        for group, rate in zip(optimizer.param_groups, highest, strict=True):
            group["initial_lr"] = rate / div
            group["max_lr"] = rate
            group["min_lr"] = rate / div / final_div

    def get_lr(self) -> list[float]:
        """Return the rates of this step, and set the momenta."""
        step = self.last_epoch
        if step > self.total_steps:
            raise _C.ValueError(
                f"OneCycleLR: needs at most {self.total_steps} steps, got step {step}"
            )
        start, last = 0.0, len(self.phases) - 1
        for number, phase in enumerate(self.phases):
            end, rate_from, rate_to, momentum_from, momentum_to = phase
            if step <= end or number == last:
                break
            start = end
        # The step after the last one keeps its rate: loops step once more than they use.
        part = min((step - start) / (end - start), 1.0) if end != start else 1.0
        anneal = _cosine if self.anneal_strategy == "cos" else _line
        self._starting_lrs()  # a group added later has no rates to go between
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[rate_from], group[rate_to], part))
            if self.cycle_momentum:
                set_momentum(group, anneal(group[momentum_from], group[momentum_to], part))
        return rates


def _phases(total: int, pct_start: float, three_phase: bool) -> list[tuple[Any, ...]]:
    """Return per phase its last step, and between which entries of a group it leads."""
    top = float(pct_start * total) - 1
    up = ("initial_lr", "max_lr", "max_momentum", "base_momentum")
    if three_phase:
        back = ("max_lr", "initial_lr", "base_momentum", "max_momentum")
        out = ("initial_lr", "min_lr", "max_momentum", "max_momentum")
        return [(top, *up), (2 * top, *back), (total - 1, *out)]
    return [(top, *up), (total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]


def _cosine(start: float, end: float, part: float) -> float:
    return end + (start - end) / 2 * (1 + math.cos(math.pi * part))


def _line(start: float, end: float, part: float) -> float:
    return start + (end - start) * part
