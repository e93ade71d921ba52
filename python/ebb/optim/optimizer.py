# python/ebb/optim/optimizer.py -- Optimizer: groups of parameters, their options and their state.
#
# What does not depend on how a step is made is here; optimizers whose step is C++ derive from
# FusedOptimizer (fused.py). Users may derive their own from Optimizer and define step().
"""The base class of all optimizers."""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ebb import _C
from ebb.optim.hooks import (
    OptimizerHooks,
    register_optimizer_step_post_hook as register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook as register_optimizer_step_pre_hook,
)
from ebb.profiler import record_function

Group = dict[str, Any]
Params = Iterable[_C.Tensor] | Iterable[Group]

# Options of some optimizer: given to one that does not have them, they are a mistake.
_KNOWN_OPTIONS = {
    *("lr", "weight_decay", "maximize", "eps", "master_weights"),
    *("momentum", "dampening", "nesterov"),
    *("betas", "amsgrad"),
    *("alpha", "centered"),
    *("lr_decay", "initial_accumulator_value"),
}


# Arguments that are no options of a group.
_NO_OPTIONS = ("self", "params", "__class__")


def options_of(arguments: dict[str, Any]) -> Group:
    """The options of a group, from all that an optimizer was called with (its ``locals()``)."""
    return {name: value for name, value in arguments.items() if name not in _NO_OPTIONS}


class Optimizer(OptimizerHooks):
    """Base of all optimizers.

    A subclass of yours defines ``step``, which goes over ``param_groups`` and keeps what it needs
    in ``state[parameter]``, a dict per parameter.

    Args:
        params: Parameters, pairs of a name and a parameter as of ``named_parameters()``, or dicts
            that each have ``params`` and options of their own.
        defaults: Options of groups that do not set them.

    Example:
        >>> class SignDescent(ebb.optim.Optimizer):
        ...     def __init__(self, params, lr):
        ...         super().__init__(params, {"lr": lr})
        ...     @ebb.no_grad()
        ...     def step(self):
        ...         for group in self.param_groups:
        ...             for parameter in group["params"]:
        ...                 parameter -= group["lr"] * parameter.grad.sign()
        >>> x = ebb.tensor([1.0, -2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> SignDescent([x], lr=0.5).step()
        >>> x.tolist()
        [0.5, -1.5]
    """

    defaults: Group
    param_groups: list[Group]
    state: Any
    _runs_hooks = False  # whether step() itself runs them

    def __init__(self, params: Params, defaults: Group):
        self.defaults = dict(defaults)
        self.param_groups = []
        self._prepare()
        if isinstance(params, _C.Tensor):
            raise _C.DTypeError(f"{self._name}: needs a list of parameters, got one Tensor")
        given = list(params)
        if not given:
            raise _C.ValueError(
                f"{self._name}: needs at least one parameter, got an empty list\n"
                "hint: a generator is empty once it was read: pass model.parameters() itself"
            )
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        for group in groups:
            self.add_param_group(group)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__ and not cls._runs_hooks:
            cls.step = _with_hooks(cls.__dict__["step"])

    def _prepare(self) -> None:
        self.state = defaultdict(dict)
        self._prepare_hooks()
        self._steps_made = 0

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters with options of their own.

        Keys that are no options are yours: they are kept, unless they look like a misspelt one.
        """
        self.param_groups.append(self._checked_group(param_group))

    def _checked_group(self, param_group: Group) -> Group:
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise _C.DTypeError(
                f"{self._name}: needs groups as dicts with 'params', "
                f"got {type(param_group).__name__}"
            )
        params = param_group["params"]
        params = [params] if isinstance(params, _C.Tensor) else list(params)
        names, params = self._without_names(params)
        for number, tensor in enumerate(params):
            if not isinstance(tensor, _C.Tensor):
                raise _C.DTypeError(
                    f"{self._name}: needs Tensors, got {type(tensor).__name__} "
                    f"as parameter {number}"
                )
        self._check_keys(self._name, param_group)
        known = {id(tensor) for group in self.param_groups for tensor in group["params"]}
        if any(id(tensor) in known for tensor in params):
            raise _C.ValueError(f"{self._name}: needs each parameter in one group, got one in two")
        if len(distinct(params)) < len(params):
            warnings.warn(
                f"{self._name}: needs each parameter once, got one several times: each step will "
                "move it as often",
                stacklevel=6,  # from an optimizer's constructor, where it usually happens
            )
        return {**self.defaults, **param_group, "params": params, **names}

    def _without_names(self, params: list[Any]) -> tuple[Group, list[Any]]:
        """Return the names that parameters came with, if any, as an entry of a group."""
        named = [isinstance(one, tuple) and len(one) == 2 for one in params]
        before = ["param_names" in group for group in self.param_groups]
        if not any(named) and not any(before):
            return {}, params
        if not all(named + before):
            raise _C.ValueError(
                f"{self._name}: needs a name for every parameter or for none, got both"
            )
        return {"param_names": [name for name, _ in params]}, [one for _, one in params]

    def _check_keys(self, op: str, group: Group) -> None:
        if not type(self).__module__.startswith("ebb.optim."):
            return  # a class of the user's knows what its step reads
        others = group.keys() - self.defaults.keys() - {"params", "param_names"}
        if not others:
            return
        import difflib

        wrong = [
            str(key)
            for key in others
            if key in _KNOWN_OPTIONS
            or difflib.get_close_matches(str(key), self.defaults, 1, cutoff=0.85)
        ]
        if wrong:
            raise _C.ValueError(
                f"{op}: needs options among {', '.join(self.defaults)}, "
                f"got {', '.join(sorted(wrong))}"
            )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        Args:
            closure: Computes the loss and its gradients first; its result is returned.
        """
        raise _C.NotImplementedError(f"{self._name}: needs a step of its own, got none")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for tensor in group["params"]:
                if tensor.grad is not None:
                    drops = set_to_none or not tensor.grad.is_dense
                    tensor.grad = None if drops else _C.zeros_like(tensor.grad)

    # State.

    def state_dict(self) -> dict[str, Any]:
        """Return state and options, parameters as numbers in order of the groups.

        State under keys that are no parameters is passed on as it is.
        """
        self._call_state_hooks("before_saving")
        numbers: dict[int, int] = {}
        groups, before = [], 0
        for group in self.param_groups:
            # One that is there several times has its last number in its first group.
            places = {id(one): before + place for place, one in enumerate(group["params"])}
            numbers = places | numbers
            before += len(group["params"])
            groups.append({**group, "params": [numbers[id(one)] for one in group["params"]]})
        numbered = {
            numbers[id(key)] if isinstance(key, _C.Tensor) else key: (
                dict(kept) if isinstance(kept, dict) else kept
            )
            for key, kept in self.state.items()
            if not isinstance(key, _C.Tensor) or id(key) in numbers  # not of one taken out
        }
        return self._passed_on("after_saving", {"state": numbered, "param_groups": groups})

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned, for the same number and shapes of parameters.

        If something does not fit, nothing is changed. Whether there are master weights stays as
        it is: without them they are left out, and where none are given they begin as the weights.
        Tensors come to the device of their parameter, in the dtype that they have.
        """
        if isinstance(state_dict, Mapping) and self._state_hooks["before_loading"]:
            state_dict = self._passed_on("before_loading", dict(state_dict))
        groups, states = self._checked_parts(state_dict)
        own_groups, own_states = [], dict(states)
        for own, given in zip(self.param_groups, groups, strict=True):
            own_keys = ("params", "master_weights")
            options = {key: value for key, value in given.items() if key not in own_keys}
            own_groups.append({**own, **options})
            for number in given["params"]:
                own_states.pop(number, None)
        for own, given in zip(self.param_groups, groups, strict=True):
            for number, tensor in zip(given["params"], own["params"], strict=True):
                if number in states:
                    own_states[tensor] = states[number]
        self._take_over(own_groups, own_states)
        for own, changed in zip(self.param_groups, own_groups, strict=True):
            own.update(changed)
        self._call_state_hooks("after_loading")

    def _take_over(self, groups: list[Group], states: Mapping[Any, Any]) -> None:
        self.state = defaultdict(dict)
        for key, kept in states.items():
            self.state[key] = moved(kept, key) if isinstance(key, _C.Tensor) else kept

    def _checked_parts(
        self, state_dict: Mapping[str, Any]
    ) -> tuple[list[Group], Mapping[Any, Any]]:
        is_state = isinstance(state_dict, Mapping) and {"state", "param_groups"} <= set(state_dict)
        if not is_state:
            raise _C.DTypeError("load_state_dict: needs what state_dict() returned, "
                                f"got {type(state_dict).__name__}")  # fmt: skip
        groups, states = state_dict["param_groups"], state_dict["state"]
        own = [len(group["params"]) for group in self.param_groups]
        given = [len(group["params"]) for group in groups]
        if own != given:
            raise _C.ValueError(
                f"load_state_dict: needs groups of {own} parameters, got groups of {given}"
            )
        for group in groups:
            self._check_keys(f"load_state_dict of {self._name}", group)
        numbers = {number for group in groups for number in group["params"]}
        if not isinstance(states, Mapping) or not all(
            isinstance(kept, Mapping) for number, kept in states.items() if number in numbers
        ):
            raise _C.DTypeError("load_state_dict: needs a dict of state per parameter, "
                                "got something else")  # fmt: skip
        return groups, states

    # Copies carry state by parameter, so that a deep copy of both finds the copied parameters.

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "param_groups": self.param_groups,
            "state": dict(self.state),
        }

    def __setstate__(self, copied: dict[str, Any]) -> None:
        import inspect  # seldom needed, and 10 ms

        # PyTorch's know nothing of options that are ebb's alone.
        made = inspect.signature(type(self).__init__).parameters
        own = {name: made[name].default for name in ("master_weights",) if name in made}
        self.defaults = {**own, **copied["defaults"]}
        self.param_groups = []
        self._prepare()
        for group in copied["param_groups"]:
            self.add_param_group(group)
        self._take_over(self.param_groups, copied["state"])

    @property
    def _name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        lines = [f"{self._name} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {key}: {value}" for key, value in sorted(group.items())
                      if key not in ("params", "param_names")]  # fmt: skip
        return "\n".join([*lines, ")"])


def moved(value: Any, parameter: _C.Tensor, name: Any = None) -> Any:
    """Return state with copies of its tensors, on the device of a parameter, in their dtypes.

    Counts of steps stay where they are, as in PyTorch: they are read each time.
    """
    if isinstance(value, _C.Tensor):
        device = value.device if name == "step" else parameter.device
        return value.detach().to(device, copy=True)
    if isinstance(value, Mapping):
        return {key: moved(one, parameter, key) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(moved(one, parameter) for one in value)
    return value


def distinct(params: Iterable[_C.Tensor]) -> tuple[_C.Tensor, ...]:
    """Return parameters, each once, in the order in which they come first."""
    return tuple({id(tensor): tensor for tensor in params}.values())


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return the user's ``step`` with the hooks around it."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if "_hooks_before" not in self.__dict__:  # wraps another, and never called __init__
            return step(self, *args, **kwargs)
        args, kwargs = self._run_hooks_before(args, kwargs)
        with record_function(f"{self._name}.step"):
            result = step(self, *args, **kwargs)
        self._steps_made += 1
        self._run_hooks_after(args, kwargs)
        return result

    return hooked


class UpdatesEach(Optimizer):
    """Base of optimizers of ebb that go over parameters one by one, with ops.

    They define ``_update(parameter, state, group)``.
    """

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        Args:
            closure: Computes the loss and its gradients first; its result is returned.
        """
        loss = None
        if closure is not None:
            with _C.enable_grad():
                loss = closure()
        with _C.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._update(parameter, self.state[parameter], group)
        return loss

    def _update(self, parameter: _C.Tensor, state: dict[str, Any], group: Group) -> None:
        raise NotImplementedError
