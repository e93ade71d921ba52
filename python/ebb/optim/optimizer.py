# python/ebb/optim/optimizer.py -- Optimizer: groups of parameters, their options and their state.
#
# Each group has a C++ optimizer of its own, held in _handles; options travel with every step, since
# users change them in param_groups. Start reading at step().
"""The base class of all optimizers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ebb import _C

Group = dict[str, Any]


class Optimizer:
    """Base of all optimizers.

    Args:
        params: Parameters, or dicts that each have ``params`` and options of their own.
        defaults: Options of groups that do not set them.
    """

    param_groups: list[Group]

    def __init__(self, params: Iterable[_C.Tensor] | Iterable[Group], defaults: Group):
        self.defaults = defaults
        self.param_groups = []
        self._handles: list[Any] = []
        given = [params] if isinstance(params, _C.Tensor) else list(params)
        if isinstance(params, _C.Tensor):
            raise _C.DTypeError(f"{self._name}: needs a list of parameters, got one Tensor")
        if not given:
            raise _C.ValueError(f"{self._name}: needs at least one parameter, got an empty list")
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters with options of their own."""
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise _C.DTypeError(
                f"{self._name}: needs groups as dicts with 'params', "
                f"got {type(param_group).__name__}"
            )
        params = param_group["params"]
        params = (params,) if isinstance(params, _C.Tensor) else tuple(params)
        for number, tensor in enumerate(params):
            if not isinstance(tensor, _C.Tensor):
                raise _C.DTypeError(
                    f"{self._name}: needs Tensors, got {type(tensor).__name__} "
                    f"as parameter {number}"
                )
        unknown = param_group.keys() - self.defaults.keys() - {"params"}
        if unknown:
            raise _C.ValueError(
                f"{self._name}: needs options among {', '.join(self.defaults)}, "
                f"got {', '.join(sorted(map(str, unknown)))}"
            )
        known = {id(tensor) for group in self.param_groups for tensor in group["params"]}
        if any(id(tensor) in known for tensor in params):
            raise _C.ValueError(f"{self._name}: needs each parameter in one group, got one in two")
        group = {**self.defaults, **param_group, "params": params}
        handle = self._make(params)
        self._configure(handle, group)
        self.param_groups.append(group)
        self._handles.append(handle)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        Args:
            closure: Computes the loss and its gradients first; its result is returned.
        """
        loss = None
        if closure is not None:
            with _C.enable_grad():
                loss = closure()
        run = self._run
        for handle, group in zip(self._handles, self.param_groups, strict=True):
            run(handle, group)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for handle in self._handles:
            _C._optimizer_zero_grad(handle, set_to_none)

    @property
    def state(self) -> dict[_C.Tensor, dict[str, Any]]:
        """What is kept per parameter, by parameter; the tensors are the optimizer's own."""
        return {
            tensor: state
            for handle, group in zip(self._handles, self.param_groups, strict=True)
            for index, tensor in enumerate(group["params"])
            if (state := self._read_state(handle, index))
        }

    def state_dict(self) -> dict[str, Any]:
        """Return state and options, parameters as numbers in order of the groups."""
        numbered, groups, start = {}, [], 0
        for handle, group in zip(self._handles, self.param_groups, strict=True):
            count = len(group["params"])
            groups.append({**group, "params": list(range(start, start + count))})
            for index in range(count):
                state = self._read_state(handle, index)
                if state:
                    numbered[start + index] = state
            start += count
        return {"state": numbered, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned, for the same number and shapes of parameters."""
        groups, states = self._checked_parts(state_dict)
        start = 0
        for own, given, handle in zip(self.param_groups, groups, self._handles, strict=True):
            options = {name: value for name, value in given.items() if name != "params"}
            own.update(options)
            self._configure(handle, own)
            for index in range(len(own["params"])):
                self._write_state(handle, index, states.get(start + index, {}))
            start += len(own["params"])

    def _checked_parts(self, state_dict: Mapping[str, Any]) -> tuple[list[Group], Mapping]:
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
            unknown = group.keys() - self.defaults.keys() - {"params"}
            if unknown:
                raise _C.ValueError(
                    f"load_state_dict: needs options of {self._name}, "
                    f"got {', '.join(sorted(map(str, unknown)))}"
                )
        return groups, states

    @property
    def _name(self) -> str:
        return type(self).__name__

    # What subclasses define.

    def _make(self, params: tuple) -> Any:
        """Return a C++ optimizer of these parameters."""
        raise _C.NotImplementedError(f"{self._name}: needs a step in C++, got none")

    def _configure(self, handle: Any, group: Group) -> None:
        """Check and set the options of a group."""

    def _run(self, handle: Any, group: Group) -> None:
        """Make one step with the options of a group."""

    def _read_state(self, handle: Any, index: int) -> dict[str, Any]:
        """Return what is kept for one parameter, empty before its first step."""
        return {}

    def _write_state(self, handle: Any, index: int, state: Mapping[str, Any]) -> None:
        """Replace what is kept for one parameter."""

    def __repr__(self) -> str:
        lines = [f"{self._name} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {key}: {value}" for key, value in sorted(group.items())
                      if key != "params"]  # fmt: skip
        return "\n".join([*lines, ")"])
