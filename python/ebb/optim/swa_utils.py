# python/ebb/optim/swa_utils.py -- averages of a model's parameters over its training.
#
# AveragedModel owns a copy of the model; a function says how what it has so far and the present
# parameters are averaged. Start reading at AveragedModel.update_parameters().
"""Stochastic weight averaging and moving averages, under PyTorch's names."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ebb import _C
from ebb._base import naming as _naming
from ebb.nn.module import Module
from ebb.nn.normalization import _BatchNorm
from ebb.optim.lr_scheduler.base import LRScheduler, per_group
from ebb.optim.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

AverageOne = Callable[[_C.Tensor, _C.Tensor, Any], _C.Tensor]
AverageAll = Callable[[Sequence[_C.Tensor], Sequence[_C.Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> AverageOne:
    """Return a function of average, parameter and count that gives the next moving average.

    Args:
        decay: The share of the old average, from 0 to 1.
    Example:
        >>> average = ebb.optim.swa_utils.get_ema_avg_fn(0.75)
        >>> average(ebb.tensor(4.0), ebb.tensor(8.0), 1).item()
        5.0
    """
    _check_decay("get_ema_avg_fn", decay)

    def average(averaged: _C.Tensor, current: _C.Tensor, num_averaged: Any) -> _C.Tensor:
        with _C.no_grad():
            return decay * averaged + (1 - decay) * current

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageAll:
    """Return a function of averages, parameters and count that moves all averages, in place.

    Args:
        decay: The share of the old average, from 0 to 1.
    Example:
        >>> averages = [ebb.tensor(4.0)]
        >>> ebb.optim.swa_utils.get_ema_multi_avg_fn(0.75)(averages, [ebb.tensor(8.0)], 1)
        >>> averages[0].item()
        5.0
    """
    _check_decay("get_ema_multi_avg_fn", decay)
    return lambda averaged, current, num_averaged: _move(averaged, current, 1 - decay)


def get_swa_avg_fn() -> AverageOne:
    """Return a function of average, parameter and count that gives the mean of all so far.

    Example:
        >>> average = ebb.optim.swa_utils.get_swa_avg_fn()
        >>> average(ebb.tensor(4.0), ebb.tensor(8.0), 3).item()
        5.0
    """

    def average(averaged: _C.Tensor, current: _C.Tensor, num_averaged: Any) -> _C.Tensor:
        with _C.no_grad():
            return averaged + (current - averaged) / (num_averaged + 1)

    return average


def get_swa_multi_avg_fn() -> AverageAll:
    """Return a function of averages, parameters and count that makes means of all, in place.

    Example:
        >>> averages = [ebb.tensor(4.0)]
        >>> ebb.optim.swa_utils.get_swa_multi_avg_fn()(averages, [ebb.tensor(8.0)], 3)
        >>> averages[0].item()
        5.0
    """
    return lambda averaged, current, count: _move(averaged, current, 1 / (int(count) + 1))


def _check_decay(op: str, decay: float) -> None:
    if not 0 <= decay <= 1:
        raise _C.ValueError(f"{op}: needs 0 <= decay <= 1, got {decay}")


def _move(averaged: Sequence[_C.Tensor], current: Sequence[_C.Tensor], share: float) -> None:
    """Move each average by ``share`` of its way to the parameter."""
    with _C.no_grad():
        for average, parameter in zip(averaged, current, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(parameter, share)
            else:  # counters, among the buffers
                average.copy_(average * (1 - share) + parameter * share)


class AveragedModel(Module):
    """A copy of a model whose parameters are averages; ``update_parameters`` takes one more in.

    Buffers are those of the model at the last update, unless they are averaged too; after plain
    averaging ``update_bn`` measures those of batch norms anew.

    Args:
        model: What is copied.
        device: Where the averages are kept; with the model if None.
        avg_fn: Gives the next average, from the average, the parameter and how many are in it;
            the mean of all if None.
        multi_avg_fn: The same for lists of tensors, in place.
        use_buffers: Average the buffers too.
    Example:
        >>> model = ebb.nn.Linear(2, 1)
        >>> averaged = ebb.optim.swa_utils.AveragedModel(model)
        >>> averaged.update_parameters(model)  # after each epoch
        >>> averaged.n_averaged.item(), averaged(ebb.ones(3, 2)).shape
        (1, ebb.Size([3, 1]))
    """

    n_averaged: _C.Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: AverageOne | None = None,
        multi_avg_fn: AverageAll | None = None,
        use_buffers: bool = False,
    ):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise _C.ValueError("AveragedModel: needs either avg_fn or multi_avg_fn, got both")
        self.module: Module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer("n_averaged", _C.tensor(0, dtype=_C.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the averaged copy."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the present parameters of ``model`` into the averages; the first are copied."""
        averaged = self._averaged(self.module)
        current = self._averaged(model)
        with _C.no_grad():
            if self.n_averaged.item() == 0:
                _copy_all(averaged, current)
            else:
                self._average(averaged, current)
            if not self.use_buffers:
                _copy_all(list(self.module.buffers()), list(model.buffers()))
            self.n_averaged += 1

    def _averaged(self, model: Module) -> list[_C.Tensor]:
        """Return what is averaged, unrecorded."""
        buffers = model.buffers() if self.use_buffers else ()
        return [one.detach() for one in itertools.chain(model.parameters(), buffers)]

    def _average(self, averaged: list[_C.Tensor], current: list[_C.Tensor]) -> None:
        current = [one.to(own.device) for own, one in zip(averaged, current, strict=True)]
        if self.avg_fn is None:
            function = self.multi_avg_fn or get_swa_multi_avg_fn()
            for own, others in _alike(averaged, current):
                function(own, others, self.n_averaged)
            return
        for own, other in zip(averaged, current, strict=True):
            own.copy_(self.avg_fn(own, other, self.n_averaged.to(own.device)))


def _alike(
    averaged: list[_C.Tensor], current: list[_C.Tensor]
) -> Iterable[tuple[list[Any], list[Any]]]:
    """Yield both lists in parts of one dtype and device each."""
    parts: dict[Any, tuple[list[Any], list[Any]]] = {}
    for own, other in zip(averaged, current, strict=True):
        owns, others = parts.setdefault((own.dtype, str(own.device)), ([], []))
        owns.append(own)
        others.append(other)
    return parts.values()


def _copy_all(targets: list[_C.Tensor], sources: list[_C.Tensor]) -> None:
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Measure means and variances of all batch norms anew, in one pass over the data.

    Args:
        loader: Gives batches: tensors, or lists and tuples that begin with one.
        model: Called with each batch, in training mode; its mode is restored.
        device: Where batches are sent first.
    Example:
        >>> model = ebb.nn.BatchNorm1d(1)
        >>> ebb.optim.swa_utils.update_bn([ebb.tensor([[1.0], [3.0]])], model)
        >>> model.running_mean
        tensor([2.])
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    kept = [norm.momentum for norm in norms]
    was_training = model.training
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the mean over all batches
    model.train()
    try:
        with _C.no_grad():
            for batch in loader:
                first = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(first if device is None else first.to(device))
    finally:
        for norm, momentum in zip(norms, kept, strict=True):
            norm.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Leads the rate to a fixed one, with which the parameters are averaged.

    Args:
        optimizer: Its groups are changed.
        swa_lr: The last rate, or one per group.
        anneal_epochs: How many epochs the way takes.
        anneal_strategy: "cos" or "linear".
        last_epoch: The epoch to go on from; -1 starts anew.
    Example:
        >>> weight = ebb.zeros(2, requires_grad=True)
        >>> optimizer = ebb.optim.SGD([weight], lr=0.5)
        >>> schedule = ebb.optim.swa_utils.SWALR(optimizer, swa_lr=0.25, anneal_epochs=1)
        >>> optimizer.step(); schedule.step()
        >>> schedule.get_last_lr()
        [0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ):
        if not isinstance(optimizer, Optimizer):
            raise _C.DTypeError(f"SWALR: needs an Optimizer, got {type(optimizer).__name__}")
        if anneal_strategy not in ("cos", "linear"):
            raise _C.ValueError(
                f"SWALR: needs anneal_strategy cos or linear, got {anneal_strategy!r}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise _C.ValueError(f"SWALR: needs anneal_epochs as an int >= 0, got {anneal_epochs!r}")
        rates = per_group("SWALR", "swa_lr", swa_lr, optimizer)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs = anneal_epochs
        self._anneal_strategy = anneal_strategy
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates of this epoch."""
        # A rate changed by hand is taken from there: what it would have begun as follows from it.
        step = max(self._step_count - 1, int(self.anneal_epochs == 0))
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            last, end = group["lr"], group["swa_lr"]
            start = end if before == 1 else (last - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates

    def _share(self, step: int) -> float:
        """Return how much of the way is done."""
        part = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return part if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * part)) / 2


_naming.name_module(__name__)
