# python/ebb/optim/lr_scheduler/factors.py -- schedules that are a factor of the starting rate.
#
# Each has a factor f(epoch) and a floor; the rate goes from floor + (rate - floor) at one epoch to
# the next times f(epoch) / f(epoch - 1). So schedules that act on one optimizer multiply.
"""Steps, lines, exponentials, half a cosine, and functions of the user's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ebb import _C
from ebb.optim.lr_scheduler.base import LRScheduler, at_least, per_group, state_of
from ebb.optim.optimizer import Optimizer


class FactorLR(LRScheduler):
    """Base of the schedules with a factor."""

    _floor = 0.0

    def _factor(self, epoch: int) -> float:
        raise NotImplementedError

    def get_lr(self) -> list[float]:
        """Return the rates of this epoch."""
        epoch, floor = self.last_epoch, self._floor
        now = self._factor(epoch)
        if epoch == 0:
            return [floor + (rate - floor) * now for rate in self._present_lrs()]
        if self._step_count == 1:  # goes on from an epoch: the rate by definition
            return self._defined_lrs(now)
        before = self._factor(epoch - 1)
        if now == before:
            return self._present_lrs()
        if before == 0:  # nothing is left to multiply
            pairs = zip(self._present_lrs(), self._starting_lrs(), strict=True)
            return [rate + (start - floor) * now for rate, start in pairs]
        return [floor + (rate - floor) * (now / before) for rate in self._present_lrs()]

    def _get_closed_form_lr(self) -> list[float]:
        return self._defined_lrs(self._factor(self.last_epoch))

    def _defined_lrs(self, factor: float) -> list[Any]:
        return [self._floor + (rate - self._floor) * factor for rate in self._starting_lrs()]


class StepLR(FactorLR):
    """Multiplies the rate by ``gamma`` every ``step_size`` epochs.

    Args:
        optimizer: Its groups are changed.
        step_size: How many epochs one rate lasts.
        gamma: The factor.
        last_epoch: The epoch to go on from; -1 starts anew.

    Example:
        >>> optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> schedule = ebb.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        >>> optimizer.step()
        >>> schedule.step()
        >>> f"{schedule.get_last_lr()[0]:.4f}"
        '0.0500'
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ):
        self.step_size: int = at_least("StepLR", "step_size", step_size, 1)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return self.gamma ** (epoch // self.step_size)


class MultiStepLR(FactorLR):
    """Multiplies the rate by ``gamma`` at each of the ``milestones``.

    Args:
        optimizer: Its groups are changed.
        milestones: Epochs; one named twice counts twice.
        gamma: The factor.
        last_epoch: The epoch to go on from; -1 starts anew.

    Example:
        >>> optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> schedule = ebb.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3])
        >>> optimizer.step()
        >>> schedule.step()
        >>> f"{schedule.get_last_lr()[0]:.4f}"
        '0.0100'
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ):
        self.milestones: Counter[int] = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return self.gamma ** sum(n for at, n in self.milestones.items() if at <= epoch)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        super().load_state_dict(state_dict)
        self.milestones = Counter(self.milestones)  # some files know lists and dicts only


class ConstantLR(FactorLR):
    """Multiplies the rate by ``factor`` for the first ``total_iters`` epochs.

    Args:
        optimizer: Its groups are changed.
        factor: From 0 to 1.
        total_iters: How many epochs it lasts.
        last_epoch: The epoch to go on from; -1 starts anew.

    Example:
        >>> optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> schedule = ebb.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> optimizer.step()
        >>> schedule.step()
        >>> f"{schedule.get_last_lr()[0]:.4f}"
        '0.0500'
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if not 0 <= factor <= 1:
            raise _C.ValueError(f"ConstantLR: needs 0 <= factor <= 1, got {factor}")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return self.factor if epoch < self.total_iters else 1.0


class LinearLR(FactorLR):
    """Leads the factor in a line from ``start_factor`` to ``end_factor``.

    Args:
        optimizer: Its groups are changed.
        start_factor: Factor of epoch 0, above 0 and up to 1.
        end_factor: Factor from epoch ``total_iters`` on, from 0 to 1.
        total_iters: How many epochs the line takes.
        last_epoch: The epoch to go on from; -1 starts anew.

    Example:
        >>> optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> schedule = ebb.optim.lr_scheduler.LinearLR(optimizer, total_iters=4)
        >>> optimizer.step()
        >>> schedule.step()
        >>> f"{schedule.get_last_lr()[0]:.4f}"
        '0.0500'
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if not 0 < start_factor <= 1:
            raise _C.ValueError(f"LinearLR: needs 0 < start_factor <= 1, got {start_factor}")
        if not 0 <= end_factor <= 1:
            raise _C.ValueError(f"LinearLR: needs 0 <= end_factor <= 1, got {end_factor}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters: int = at_least("LinearLR", "total_iters", total_iters, 1)
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        part = min(epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * part


class ExponentialLR(FactorLR):
    """Multiplies the rate by ``gamma`` every epoch.

    Args:
        optimizer: Its groups are changed.
        gamma: The factor.
        last_epoch: The epoch to go on from; -1 starts anew.

    Example:
        >>> optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> schedule = ebb.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step()
        >>> schedule.step()
        >>> f"{schedule.get_last_lr()[0]:.4f}"
        '0.0500'
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return self.gamma**epoch


class PolynomialLR(FactorLR):
    """Lets the factor fall from 1 to 0 as ``(1 - epoch / total_iters) ** power``.

    Args:
        optimizer: Its groups are changed.
        total_iters: How many epochs it takes.
        power: 1 is a line.
        last_epoch: The epoch to go on from; -1 starts anew.

    Example:
        >>> optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> schedule = ebb.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
        >>> optimizer.step()
        >>> schedule.step()
        >>> f"{schedule.get_last_lr()[0]:.4f}"
        '0.0750'
    """

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ):
        self.total_iters: int = at_least("PolynomialLR", "total_iters", total_iters, 1)
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return (1.0 - min(epoch, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingLR(FactorLR):
    """Lets the rate fall to ``eta_min`` along half a cosine, and rise again after that.

    Args:
        optimizer: Its groups are changed.
        T_max: How many epochs the fall takes.
        eta_min: The lowest rate.
        last_epoch: The epoch to go on from; -1 starts anew.

    Example:
        >>> optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> schedule = ebb.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
        >>> optimizer.step()
        >>> schedule.step()
        >>> f"{schedule.get_last_lr()[0]:.4f}"
        '0.0854'
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_max: float,  # noqa: N803 -- PyTorch's name
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ):
        if not T_max > 0:
            raise _C.ValueError(f"CosineAnnealingLR: needs T_max > 0, got {T_max}")
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    @property
    def _floor(self) -> float:
        return self.eta_min

    def _factor(self, epoch: int) -> float:
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class _FunctionLR(LRScheduler):
    """Base of the schedules by functions, one per group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ):
        name = type(self).__name__
        self.lr_lambdas: list[Any] = per_group(name, "functions", lr_lambda, optimizer)
        for function in self.lr_lambdas:
            if not callable(function):
                raise _C.DTypeError(f"{name}: needs functions, got {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer; functions are left out, objects keep their state."""
        state = super().state_dict()
        state["lr_lambdas"] = [state_of(function) for function in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        functions = self.lr_lambdas
        super().load_state_dict(state_dict)
        self.lr_lambdas = functions
        for function, kept in zip(functions, state_dict["lr_lambdas"], strict=True):
            if kept is not None:
                vars(function).update(kept)


class LambdaLR(_FunctionLR):
    """Sets the rate to the starting rate times ``lr_lambda(epoch)``.

    Args:
        optimizer: Its groups are changed.
        lr_lambda: A function of the epoch, or one per group.
        last_epoch: The epoch to go on from; -1 starts anew.

    Example:
        >>> optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> schedule = ebb.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (epoch + 1))
        >>> optimizer.step()
        >>> schedule.step()
        >>> f"{schedule.get_last_lr()[0]:.4f}"
        '0.0500'
    """

    def get_lr(self) -> list[float]:
        """Return the rates of this epoch."""
        pairs = zip(self._starting_lrs(), self.lr_lambdas, strict=True)
        return [rate * function(self.last_epoch) for rate, function in pairs]


class MultiplicativeLR(_FunctionLR):
    """Multiplies the rate by ``lr_lambda(epoch)`` every epoch but the first.

    As a later part of a SequentialLR it multiplies the first time too.

    Args:
        optimizer: Its groups are changed.
        lr_lambda: A function of the epoch, or one per group.
        last_epoch: The epoch to go on from; -1 starts anew.

    Example:
        >>> optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> schedule = ebb.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> optimizer.step()
        >>> schedule.step()
        >>> f"{schedule.get_last_lr()[0]:.4f}"
        '0.0500'
    """

    def get_lr(self) -> list[float]:
        """Return the rates of this epoch."""
        return self._present_lrs() if self.last_epoch == 0 else self._multiplied_lrs()

    def _multiplied_lrs(self) -> list[Any]:
        self._starting_lrs()  # there is a function for each of them
        pairs = zip(self._present_lrs(), self.lr_lambdas, strict=True)
        return [rate * function(self.last_epoch) for rate, function in pairs]

    def _restart(self) -> None:
        self._start()
        self._set(self._multiplied_lrs())
