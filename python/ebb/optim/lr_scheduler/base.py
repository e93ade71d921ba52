# python/ebb/optim/lr_scheduler/base.py -- LRScheduler: counts epochs and sets the groups' rates.
#
# A schedule computes the next rate from the present one, so that several can act on one optimizer
# (ChainedScheduler) and a rate changed by hand is taken from there. Start reading at step().
"""The base class of all schedules."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ebb import _C
from ebb._base.deprecation import Deprecation
from ebb.optim.optimizer import Optimizer

# What states of PyTorch's schedules have beside; it follows from how a schedule was made.
_PYTORCHS = frozenset([
    *("_is_initial", "_get_lr_called_within_step", "_anneal_func_type", "_schedule_phases"),
    *("use_beta1", "base_momentums", "max_momentums", "mode_worse"),
])  # fmt: skip

_STEP_TO = Deprecation(
    "scheduler.step(epoch)", instead="step()", since="0.1.0", category=UserWarning
)


class LRScheduler:
    """Base of all schedules: a subclass of yours defines ``get_lr``.

    Args:
        optimizer: Its groups are changed.
        last_epoch: The epoch to go on from; -1 starts anew.

    Example:
        >>> class Halving(ebb.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [lr * 0.5**self.last_epoch for lr in self.base_lrs]
        >>> sgd = ebb.optim.SGD([ebb.ones(1, requires_grad=True)], lr=0.1)
        >>> schedule = Halving(sgd)
        >>> sgd.step()
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.05]
    """

    _may_be_missing: frozenset[str] = frozenset()  # of a state, since PyTorch's has no such entry

    # Subclasses written for PyTorch ask for these in get_lr(): whether a step calls it, and whether
    # it is the first. They are set while it runs only, so that no state holds them.
    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise _C.DTypeError(
                f"{type(self).__name__}: needs an Optimizer, got {type(optimizer).__name__}"
            )
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise _C.ValueError(
                    f"{type(self).__name__}: needs 'initial_lr' in each group to go on from epoch "
                    f"{last_epoch}, got none in group {number}"
                )
        self.base_lrs: list[Any] = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch: int = last_epoch
        self._step_count = 0
        self._last_lr: list[float] = []
        self._begin()

    def _begin(self) -> None:
        self.step()

    def get_lr(self) -> list[float]:
        """Return the rates of this epoch, one per group; called by ``step`` only."""
        raise _C.NotImplementedError(f"{type(self).__name__}: needs a get_lr of its own, got none")

    def get_last_lr(self) -> list[float]:
        """Return the rates that were set last, one per group."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch; call it after the optimizer's step.

        Args:
            epoch: Go to this epoch instead, to the rate that the schedule has there by definition.
                Deprecated.
        """
        if epoch is not None:
            _STEP_TO.warn()
        if self._step_count == 1 and self.optimizer._steps_made == 0:
            warnings.warn(
                "scheduler.step() was called before optimizer.step(): the first rate of the "
                "schedule is skipped",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        rates = self.get_lr if epoch is None else self._get_closed_form_lr
        self._set(self._computed(rates, is_initial=self._step_count == 1))

    def _get_closed_form_lr(self) -> list[float]:
        """The rates of this epoch, whatever those before were; for schedules that can tell."""
        return self.get_lr()

    def _computed(self, rates: Callable[[], list[Any]], *, is_initial: bool) -> list[Any]:
        """Call ``rates``, which is told that a step calls it."""
        self._get_lr_called_within_step, self._is_initial = True, is_initial
        try:
            return rates()
        finally:
            del self._get_lr_called_within_step, self._is_initial

    def _start(self) -> None:
        """Begin at epoch 0 from the groups' present rates, as when made."""
        self.last_epoch = 0
        self._step_count = 1
        self._set(self._computed(self.get_lr, is_initial=True))

    def _restart(self) -> None:
        """Begin at epoch 0 with the rates defined there, whatever they are now (SequentialLR)."""
        self.last_epoch = 0
        self._step_count = 1
        self._set(self._computed(self._get_closed_form_lr, is_initial=False))

    def _set(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, rate)
        self._last_lr = self._present_lrs()

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned; load the optimizer's state as well."""
        if not isinstance(state_dict, Mapping):
            raise _C.DTypeError(f"load_state_dict: needs a dict, got {type(state_dict).__name__}")
        missing = self.state_dict().keys() - state_dict.keys() - self._may_be_missing
        if missing:
            raise _C.ValueError(
                f"load_state_dict: needs the state of a {type(self).__name__}, "
                f"got none of {', '.join(sorted(missing))}"
            )
        self.__dict__.update(
            (name, value)
            for name, value in state_dict.items()
            if name != "optimizer" and name not in _PYTORCHS
        )

    def _present_lrs(self) -> list[Any]:
        return [copied(group["lr"]) for group in self.optimizer.param_groups]

    def _starting_lrs(self) -> list[Any]:
        """The rates that the groups began with, for schedules that need them."""
        count = len(self.optimizer.param_groups)
        if len(self.base_lrs) != count:
            raise _C.ValueError(
                f"{type(self).__name__}: needs the {len(self.base_lrs)} groups that it began with, "
                f"got {count}\nhint: make a new schedule after add_param_group()"
            )
        return self.base_lrs


def copied(rate: Any) -> Any:
    """Return a rate that no later step changes: one that is a tensor is written in place."""
    return rate.detach().clone() if isinstance(rate, _C.Tensor) else rate


def set_rate(group: dict[str, Any], rate: Any) -> None:
    """Give a group its rate; a tensor keeps its identity."""
    if isinstance(group["lr"], _C.Tensor):
        with _C.no_grad():
            group["lr"].fill_(float(rate))
    else:
        group["lr"] = rate


def per_group(op: str, what: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """Return ``value`` as a list with one entry per group."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise _C.ValueError(f"{op}: needs {what} for {count} groups, got {len(value)}")
    return list(value)


def at_least(op: str, name: str, value: int, least: int) -> int:
    """Return ``value`` as an int, or say that it is none or too small."""
    is_whole = hasattr(value, "__index__")
    if not is_whole or operator.index(value) < least:
        raise _C.ValueError(f"{op}: needs a whole number {name} >= {least}, got {value!r}")
    return operator.index(value)


def state_of(function: Any) -> dict[str, Any] | None:
    """Return what an object that is called has to keep; functions, and None, keep nothing."""
    is_plain = function is None or isinstance(function, _FUNCTION_TYPES)
    return None if is_plain else dict(vars(function))


_FUNCTION_TYPES = (type(lambda: None), type(len))
