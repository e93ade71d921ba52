# python/ebb/optim/fused.py -- FusedOptimizer: optimizers whose step is one call into C++ per group.
#
# Each group has a C++ optimizer of its own (ebb/optim), held in _handles, which keeps the state;
# options travel with every step as the group's dict, since users change them there. The classes
# themselves are generated from ops/optim/fused.yaml.
"""The base class of the optimizers whose step is written in C++."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ebb import _C
from ebb.optim.optimizer import Group, Optimizer, Params, distinct

_step = _C._optimizer_step
_Rest = tuple[_C.Tensor, ...]  # parameters that sit a step out


def _rests(params: Iterable[_C.Tensor]) -> list[_Rest]:
    """Who sits out each further step of a group in which a parameter is given several times.

    A step in C++ goes over each parameter once, from several threads.
    """
    times = Counter(id(tensor) for tensor in params)
    most = max(times.values(), default=1)
    return [
        tuple(tensor for tensor in distinct(params) if times[id(tensor)] <= steps)
        for steps in range(1, most)
    ]


def _step_without(rest: _Rest, handle: Any, group: Group) -> None:
    """Makes a step of the parameters that are not in ``rest``."""
    kept = [(tensor, tensor.grad) for tensor in rest]
    try:
        for tensor in rest:
            tensor.grad = None
        _step(handle, group)
    finally:
        for tensor, grad in kept:
            tensor.grad = grad


class _State(dict[_C.Tensor, dict[str, Any]]):
    """State by parameter, with what subclasses keep."""

    def __init__(self, own: dict[_C.Tensor, dict[str, Any]]):
        super().__init__(own)
        self._own = own

    def __missing__(self, tensor: _C.Tensor) -> dict[str, Any]:
        return self._own.setdefault(tensor, {})


class FusedOptimizer(Optimizer):
    """Base of the optimizers whose step goes over all parameters of a group in one call.

    Args:
        params: Parameters, or dicts that each have ``params`` and options of their own.
        defaults: Options of groups that do not set them.
    """

    def __init__(self, params: Params, defaults: Group, *, differentiable: bool = False):
        if differentiable:
            raise _C.NotImplementedError(
                f"{type(self).__name__}: needs differentiable=False, got True: a step is not "
                "recorded\nhint: write the step with ops: new = weight - lr * grad(loss, weight, "
                "create_graph=True)[0]"
            )
        super().__init__(params, defaults)

    _runs_hooks = True
    _kind: str  # the class in ebb/optim

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_kind" not in cls.__dict__ and cls.__module__.startswith("ebb.optim."):
            cls._kind = cls.__name__

    def _prepare(self) -> None:
        self._handles: list[Any] = []
        self._own_state: dict[_C.Tensor, dict[str, Any]] = {}
        self._again: list[tuple[int, _Rest]] = []  # further steps: of which group, without whom
        self._prepare_hooks()
        self._steps_made = 0

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters with options of their own.

        Keys that are no options are yours: they are kept, unless they look like a misspelt one.
        """
        group = self._checked_group(param_group)
        handle = self._make(group)
        self.param_groups.append(group)
        self._handles.append(handle)
        place = len(self._handles) - 1
        self._again += [(place, rest) for rest in _rests(group["params"])]

    def _make(self, group: Group) -> Any:
        return _C._optimizer(self._kind, distinct(group["params"]), group)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        Args:
            closure: Computes the loss and its gradients first; its result is returned.
        """
        args = (closure,) if closure is not None else ()
        if self._hooks_before:
            args, kwargs = self._run_hooks_before(args, {})
            closure = kwargs.get("closure", args[0] if args else None)
        loss = None
        if closure is not None:
            with _C.enable_grad():
                loss = closure()
        fresh = self._fresh() if self._again else set()
        for handle, group in zip(self._handles, self.param_groups, strict=True):
            _step(handle, group)
        for place, rest in self._again:
            self._forget(fresh, place, rest)
            _step_without(rest, self._handles[place], self.param_groups[place])
        self._steps_made += 1
        if self._hooks_after:
            self._run_hooks_after(args, {})
        return loss

    def _fresh(self) -> set[tuple[int, int]]:
        """Return which group and place have parameters that start anew when they come again."""
        return set()

    def _forget(self, fresh: set[tuple[int, int]], place: int, rest: _Rest) -> None:
        """Drop the state of those that start anew, unless they sit the step out."""
        if not fresh:
            return
        resting = {id(tensor) for tensor in rest}
        for index, tensor in enumerate(distinct(self.param_groups[place]["params"])):
            if (place, index) in fresh and id(tensor) not in resting:
                _C._set_optimizer_state(self._handles[place], index, {})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for handle in self._handles:
            _C._optimizer_zero_grad(handle, set_to_none)

    @property
    def state(self) -> dict[_C.Tensor, dict[str, Any]]:
        """What is kept per parameter, by parameter; the tensors are the optimizer's own.

        A subclass with a step of its own finds an empty dict for each other parameter, and keeps
        there what it likes.
        """
        found = _State(self._own_state)
        found |= {
            tensor: {**kept, **self._following(group, int(kept.get("step", 0)))}
            for handle, group in zip(self._handles, self.param_groups, strict=True)
            for index, tensor in enumerate(distinct(group["params"]))
            if (kept := _C._optimizer_state(handle, index))
        }
        return found

    def _following(self, group: Group, steps: int) -> dict[str, Any]:
        """What PyTorch keeps as well, and follows from a group's options and the steps made."""
        return {}

    def _take_over(self, groups: list[Group], states: Mapping[_C.Tensor, Any]) -> None:
        made = []
        kept_by_subclass: dict[_C.Tensor, dict[str, Any]] = {}
        for group in groups:
            handle = self._make(group)
            for index, tensor in enumerate(distinct(group["params"])):
                given = states.get(tensor, {})
                known = self._following(group, 0)
                own = {name: value for name, value in given.items() if name not in known}
                try:
                    _C._set_optimizer_state(handle, index, own)
                except _C.ValueError:
                    if type(self).step is FusedOptimizer.step:
                        raise
                    kept_by_subclass[tensor] = dict(given)
            made.append(handle)
        self._handles, self._own_state = made, kept_by_subclass


class AdamOrAdamW(FusedOptimizer):
    """Base of Adam: one that decouples weight decay is AdamW in C++."""

    def _make(self, group: Group) -> Any:
        kind = "AdamW" if group["decoupled_weight_decay"] else "Adam"
        return _C._optimizer(kind, distinct(group["params"]), group)


class KeepsMomentumProduct(FusedOptimizer):
    """Base of NAdam, whose state shows the product of all momenta so far."""

    def _following(self, group: Group, steps: int) -> dict[str, Any]:
        first, decay = group["betas"][0], group["momentum_decay"]
        momenta = (first * (1 - 0.5 * 0.96 ** (step * decay)) for step in range(1, steps + 1))
        return {"mu_product": _C.tensor(math.prod(momenta))}


class StartsWithoutMomentum(FusedOptimizer):
    """Base of SGD: a parameter given several times makes all steps of the first time without it.

    PyTorch looks for momenta before it steps, and then for the first time finds none.
    """

    def _fresh(self) -> set[tuple[int, int]]:
        return {
            (place, index)
            for place, group in enumerate(self.param_groups)
            for index in range(len(distinct(group["params"])))
            if not _C._optimizer_state(self._handles[place], index)
        }


class KeepsStepSize(FusedOptimizer):
    """Base of ASGD, whose state shows the size of the next step and its share in the average."""

    def _following(self, group: Group, steps: int) -> dict[str, Any]:
        lr = float(group["lr"])
        eta = lr / (1 + group["lambd"] * lr * steps) ** group["alpha"]
        return {"eta": _C.tensor(eta), "mu": _C.tensor(1 / max(1.0, steps - group["t0"]))}
