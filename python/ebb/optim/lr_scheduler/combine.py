# python/ebb/optim/lr_scheduler/combine.py -- schedules made of schedules.
"""One after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ebb import _C
from ebb.optim.lr_scheduler.base import LRScheduler, set_rate
from ebb.optim.lr_scheduler.plateau import ReduceLROnPlateau
from ebb.optim.optimizer import Optimizer


def _checked_schedules(op: str, schedulers: Iterable[LRScheduler]) -> list[LRScheduler]:
    found = list(schedulers)
    if not found:
        raise _C.ValueError(f"{op}: needs at least one schedule, got none")
    for schedule in found:
        if not isinstance(schedule, LRScheduler):
            raise _C.DTypeError(f"{op}: needs schedules, got {type(schedule).__name__}")
        if isinstance(schedule, ReduceLROnPlateau):
            raise _C.ValueError(
                f"{op}: needs schedules that step without a metric, got ReduceLROnPlateau"
            )
        if schedule.optimizer is not found[0].optimizer:
            raise _C.ValueError(f"{op}: needs schedules of one optimizer, got those of several")
    return found


class _CombinedLR(LRScheduler):
    """Base: keeps the state of its parts under ``_schedulers``."""

    _schedulers: list[LRScheduler]
    last_epoch: int
    _may_be_missing = frozenset(("base_lrs", "_step_count", "last_epoch"))

    def _restart(self) -> None:
        for group in self.optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        self._start()

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer, the parts as dicts of their own."""
        state = super().state_dict()
        state["_schedulers"] = [schedule.state_dict() for schedule in self._schedulers]
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        schedules = self._schedulers
        given = state_dict.get("_schedulers") if isinstance(state_dict, Mapping) else None
        if given is not None and len(given) != len(schedules):
            raise _C.ValueError(
                f"load_state_dict: needs the state of {len(schedules)} schedules, got {len(given)}"
            )
        super().load_state_dict(state_dict)
        self._schedulers = schedules
        for schedule, kept in zip(schedules, state_dict["_schedulers"], strict=True):
            schedule.load_state_dict(kept)
        if "last_epoch" not in state_dict:
            self.last_epoch = schedules[0].last_epoch


class SequentialLR(_CombinedLR):
    """Uses one schedule after the other; each begins anew at its milestone.

    Args:
        optimizer: Its groups are changed.
        schedulers: Schedules of that optimizer.
        milestones: The epochs at which the next one begins: one less than there are schedules.
        last_epoch: The epoch to go on from; -1 starts anew.

    Example:
        >>> optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> from ebb.optim import lr_scheduler as S
        >>> parts = [S.ConstantLR(optimizer), S.ExponentialLR(optimizer, 0.5)]
        >>> schedule = ebb.optim.lr_scheduler.SequentialLR(optimizer, parts, milestones=[2])
        >>> len(schedule.get_last_lr())
        1
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ):
        self._schedulers = _checked_schedules("SequentialLR", schedulers)
        if self._schedulers[0].optimizer is not optimizer:
            raise _C.ValueError("SequentialLR: needs schedules of its optimizer, got another's")
        self._milestones = list(milestones)
        if len(self._milestones) != len(self._schedulers) - 1:
            raise _C.ValueError(
                f"SequentialLR: needs {len(self._schedulers) - 1} milestones, "
                f"got {len(self._milestones)}"
            )
        if self._milestones != sorted(self._milestones):
            raise _C.ValueError(f"SequentialLR: needs rising milestones, got {self._milestones}")
        super().__init__(optimizer, last_epoch)

    def _begin(self) -> None:
        # Every part made its first step when it was made: only one of them may count.
        last_epoch = self.last_epoch + 1
        self._restart()
        self.last_epoch = last_epoch

    def _start(self) -> None:
        self.last_epoch = 0
        self._step_count = 1
        schedule = self._schedulers[bisect_right(self._milestones, 0)]
        schedule._start()
        self._last_lr = schedule.get_last_lr()

    def step(self) -> None:
        """Go on to the next epoch; call it after the optimizer's step."""
        self.last_epoch += 1
        self._step_count += 1
        position = bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[position]
        if position > 0 and self._milestones[position - 1] == self.last_epoch:
            schedule._restart()
        else:
            schedule.step()
        self._last_lr = schedule.get_last_lr()


class ChainedScheduler(_CombinedLR):
    """Steps several schedules of one optimizer together; their factors multiply.

    Args:
        schedulers: The schedules, in the order in which they step.
        optimizer: That of the schedules; it need not be given.

    Example:
        >>> optimizer = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> from ebb.optim import lr_scheduler as S
        >>> parts = [S.ConstantLR(optimizer), S.ExponentialLR(optimizer, 0.5)]
        >>> schedule = ebb.optim.lr_scheduler.ChainedScheduler(parts)
        >>> len(schedule.get_last_lr())
        1
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        self._schedulers = _checked_schedules("ChainedScheduler", schedulers)
        if optimizer is not None and self._schedulers[0].optimizer is not optimizer:
            raise _C.ValueError("ChainedScheduler: needs schedules of its optimizer, got another's")
        super().__init__(self._schedulers[0].optimizer, self._schedulers[0].last_epoch - 1)

    def _begin(self) -> None:
        self.last_epoch += 1
        self._last_lr = self._present_lrs()

    def _start(self) -> None:
        self.last_epoch = 0
        self._step_count = 1
        for schedule in self._schedulers:
            schedule._start()
        self._last_lr = self._present_lrs()

    def step(self) -> None:
        """Step every schedule."""
        self.last_epoch += 1
        self._step_count += 1
        for schedule in self._schedulers:
            schedule.step()
        self._last_lr = self._present_lrs()
