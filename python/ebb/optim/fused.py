# python/ebb/optim/fused.py -- FusedOptimizer: optimizers whose step is one call into C++ per group.
#
# Each group has a C++ optimizer of its own (ebb/optim), held in _parts, which keeps the state;
# options travel with every step as the group's dict, since users change them there. Programs may
# also change the state, the lists of parameters and the groups themselves: before a step C++ takes
# that over, which costs nothing where nobody has asked for `state`. The classes themselves are
# generated from ops/optim/fused.yaml.
"""The base class of the optimizers whose step is written in C++."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

from ebb import _C
from ebb.optim.hooks import ALL_AFTER, ALL_BEFORE
from ebb.optim.optimizer import Group, Optimizer, Params, moved
from ebb.optim.part import Part, Rest, Shown, State, state_names

_step = _C._optimizer_step


def _step_without(rest: Rest, handle: Any, group: Group) -> None:
    """Makes a step of the parameters that are not in ``rest``."""
    kept = [(tensor, tensor.grad) for tensor in rest]
    try:
        for tensor in rest:
            tensor.grad = None
        _step(handle, group)
    finally:
        for tensor, grad in kept:
            tensor.grad = grad


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
        self._parts: list[Part] = []  # of the groups, in order
        self._again: list[tuple[int, Rest]] = []  # further steps: of which group, without whom
        self._shown = Shown()
        self._is_shown = False  # whether the dicts are as new as C++'s state, or newer
        self._prepare_hooks()
        self._steps_made = 0

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters with options of their own.

        Keys that are no options are yours: they are kept, unless they look like a misspelt one.
        """
        group = self._checked_group(param_group)
        part = self._part_of(group)
        self.param_groups.append(group)
        self._parts.append(part)
        self._again += [(len(self._parts) - 1, rest) for rest in part.rests]

    def _part_of(self, group: Group) -> Part:
        return Part(self._kind, group)

    def _fitting_parts(self) -> list[Part]:
        """Return the parts of the groups, made anew where the program has changed those."""
        parts, groups = self._parts, self.param_groups
        fit = len(parts) == len(groups) and all(map(Part.fits, parts, groups))
        return parts if fit else self._refit()

    def _refit(self) -> list[Part]:
        """Make parts of the groups as they are now; state follows its parameter."""
        state = self.state
        known = {id(part.group): part for part in self._parts if part.fits(part.group)}
        parts = []
        for group in self.param_groups:
            group["params"] = list(group["params"])
            part = known.get(id(group)) or self._part_of(group)
            known[id(group)] = part  # a group may be there twice
            parts.append(part)
        _check_apart(self._name, parts)
        for part in parts:
            part.take_back(state)
        self._parts = parts
        self._again = [(place, rest) for place, part in enumerate(parts) for rest in part.rests]
        return parts

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        Args:
            closure: Computes the loss and its gradients first; its result is returned.
        """
        args = (closure,) if closure is not None else ()
        if self._hooks_before or ALL_BEFORE:
            args, kwargs = self._run_hooks_before(args, {})
            closure = kwargs.get("closure", args[0] if args else None)
        loss = None
        if closure is not None:
            with _C.enable_grad():
                loss = closure()
        self._step_all(self._fitting_parts())
        self._steps_made += 1
        if self._hooks_after or ALL_AFTER:
            self._run_hooks_after(args, {})
        return loss

    def _step_all(self, parts: list[Part]) -> None:
        is_shown = self._is_shown
        if is_shown:
            for part in parts:
                part.take_back(self._shown.dicts)
        fresh = self._fresh() if self._again else set()
        try:
            for part in parts:
                _step(part.handle, part.group)
            for place, rest in self._again:
                self._forget(fresh, place, rest)
                _step_without(rest, parts[place].handle, parts[place].group)
        finally:
            if is_shown:
                self._follow_step(parts)

    def _follow_step(self, parts: list[Part]) -> None:
        """Bring the dicts of the state to a step, if anybody has them; else forget them."""
        if self._shown.is_held(tensor for part in parts for tensor in part.params):
            self._show()
            return
        self._is_shown = False
        for part in parts:
            part.hide(self._shown.dicts, self._following(part.group, 0))

    def _show(self) -> None:
        for part in self._parts:
            steps = (int(part.kept(index).get("step", 0)) for index in range(len(part.params)))
            following = {
                index: self._following(part.group, made) for index, made in enumerate(steps)
            }
            part.show(self._shown.dicts, following)

    def _fresh(self) -> set[tuple[int, int]]:
        """Return which group and place have parameters that start anew when they come again."""
        return set()

    def _forget(self, fresh: set[tuple[int, int]], place: int, rest: Rest) -> None:
        """Drop the state of those that start anew, unless they sit the step out."""
        if not fresh:
            return
        resting = {id(tensor) for tensor in rest}
        for index, tensor in enumerate(self._parts[place].params):
            if (place, index) in fresh and id(tensor) not in resting:
                self._parts[place].keep(index, {})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for part in self._fitting_parts():
            _C._optimizer_zero_grad(part.handle, set_to_none)

    @property
    def state(self) -> State:
        """What is kept per parameter, a dict each; the tensors are the optimizer's own.

        Programs may add to it and change it: the next step takes over what it then says, and what
        no step knows, also under keys that are no parameters, is kept, saved and loaded.
        """
        if not self._is_shown:
            self._show()
            self._is_shown = True
        return self._shown.dicts

    @state.setter
    def state(self, state: Mapping[Any, Any]) -> None:
        shown = Shown()
        shown.dicts.update(state)
        self._shown, self._is_shown = shown, True

    def _following(self, group: Group, steps: int) -> dict[str, Any]:
        """What PyTorch keeps as well, and follows from a group's options and the steps made."""
        return {}

    def _take_over(self, groups: list[Group], states: Mapping[Any, Any]) -> None:
        parts = [self._part_of(group) for group in groups]
        params = {tensor for part in parts for tensor in part.params}
        others = {key: kept for key, kept in states.items() if key not in params}
        refused: dict[_C.Tensor, Any] = {}  # by C++, of a subclass with a step of its own
        for part in parts:
            for index, tensor in enumerate(part.params):
                given = dict(states.get(tensor, {}))
                own, added = self._sorted_state(part, given)
                try:
                    part.keep(index, own)
                except _C.ValueError:
                    if type(self).step is FusedOptimizer.step:
                        raise
                    refused[tensor] = given
                if added:
                    others[tensor] = moved(added, tensor)
        for part, group in zip(parts, self.param_groups, strict=True):
            part.group = group
        self._parts, self._shown, self._is_shown = parts, Shown(), False
        self._shown.dicts.update(others)
        if refused:
            self.state.update(refused)

    def _sorted_state(self, part: Part, given: State) -> tuple[State, State]:
        """Return what C++ is to keep of a parameter's state, and what the program has added.

        What other optimizers keep is for C++ too, to be refused: it is no state of this one.
        """
        following = self._following(part.group, 0)
        known = {*state_names(part.kind), *_names_of_all()}
        own = {name: one for name, one in given.items() if name in known and name not in following}
        added = {name: one for name, one in given.items() if name not in {*known, *following}}
        return own, added


def _check_apart(name: str, parts: list[Part]) -> None:
    """Raise unless each parameter is in one group, which may be there several times."""
    owners: dict[int, Part] = {}
    for part in parts:
        for tensor in part.params:
            if owners.setdefault(id(tensor), part) is not part:
                raise _C.ValueError(f"{name}: needs each parameter in one group, got one in two")


@functools.cache
def _names_of_all() -> frozenset[str]:
    """What any of the optimizers keeps, but for counts, which programs keep as well."""
    found, classes = set(), [FusedOptimizer]
    while classes:
        one = classes.pop()
        classes += one.__subclasses__()
        if one.__module__.startswith("ebb.optim.") and one.__module__ != __name__:
            found.update(state_names(one._kind))
    return frozenset(found - {"step"})


class AdamOrAdamW(FusedOptimizer):
    """Base of Adam: one that decouples weight decay is AdamW in C++."""

    def _part_of(self, group: Group) -> Part:
        return Part("AdamW" if group["decoupled_weight_decay"] else "Adam", group)


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
            for place, part in enumerate(self._parts)
            for index in range(len(part.params))
            if not part.kept(index)
        }


class KeepsStepSize(FusedOptimizer):
    """Base of ASGD, whose state shows the size of the next step and its share in the average."""

    def _following(self, group: Group, steps: int) -> dict[str, Any]:
        lr = float(group["lr"])
        eta = lr / (1 + group["lambd"] * lr * steps) ** group["alpha"]
        return {"eta": _C.tensor(eta), "mu": _C.tensor(1 / max(1.0, steps - group["t0"]))}
