# python/ebb/nn/state.py -- state_dict and load_state_dict of modules.
"""Loading checks every name, shape and kind of number before it copies anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ebb import _C
from ebb.nn.parameter import Parameter
from ebb.nn.traversal import join, walk

if TYPE_CHECKING:
    from ebb._C import Tensor
    from ebb.nn.module import Module

_EXTRA = "_extra_state"


class LoadReport(NamedTuple):
    """Names that only one side has."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"LoadReport({self.missing_keys=}, {self.unexpected_keys=})".replace("self.", "")


class ExtraState:
    """What a module may keep in its state beside tensors. Base of ``Module``."""

    __slots__ = ()

    def get_extra_state(self) -> Any:
        """Return what ``state_dict`` holds beside tensors; subclasses may define it."""
        raise _C.NotImplementedError(
            f"get_extra_state: needs a definition in {type(self).__name__}, got none"
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what ``get_extra_state`` returned."""
        raise _C.NotImplementedError(
            f"set_extra_state: needs a definition in {type(self).__name__}, got none"
        )


def collect(root: Module, state: dict, prefix: str = "", keep_vars: bool = False) -> dict:
    """Add all persistent tensors of ``root`` to ``state``, and what modules keep beside them."""
    for path, module in walk(root, once=False):
        for name, tensor in _own_tensors(module):
            state[prefix + join(path, name)] = tensor if keep_vars else tensor.detach()
        if _has_extra(module):
            state[prefix + join(path, _EXTRA)] = module.get_extra_state()
    return state


class Place(NamedTuple):
    """Where a name of a state dict leads: a tensor of a module, or its extra state."""

    module: Module
    name: str
    tensor: Tensor | None


def load(root: Module, state: Mapping[str, Any], strict: bool, assign: bool) -> LoadReport:
    """Copy ``state`` into the tensors of ``root``, or with ``assign`` put its tensors there."""
    if not isinstance(state, Mapping):
        raise _C.DTypeError(f"load_state_dict: needs a dict, got {type(state).__name__}")
    own = _places(root)
    report = LoadReport(
        [name for name in own if name not in state], [name for name in state if name not in own]
    )
    problems = _name_problems(report) if strict else []
    shared = {name: place for name, place in own.items() if name in state}
    problems += [
        text
        for name, place in shared.items()
        if place.tensor is not None and (text := _mismatch(name, place.tensor, state[name], assign))
    ]
    if problems:
        kind = type(root).__name__
        raise _C.ValueError("load_state_dict: needs a state that fits "
                            f"{kind}, got\n\t" + "\n\t".join(problems))  # fmt: skip
    with _C.no_grad():
        for name, place in shared.items():
            _put(place, state[name], assign)
    return report


def _own_tensors(module: Module) -> list[tuple[str, Tensor]]:
    registered = (*module._parameters.items(), *module._persistent_buffers())
    return [(name, tensor) for name, tensor in registered if tensor is not None]


def _has_extra(module: Module) -> bool:
    return type(module).get_extra_state is not ExtraState.get_extra_state


def _places(root: Module) -> dict[str, Place]:
    found = {}
    for path, module in walk(root, once=False):
        for name, tensor in _own_tensors(module):
            found[join(path, name)] = Place(module, name, tensor)
        if _has_extra(module):
            found[join(path, _EXTRA)] = Place(module, _EXTRA, None)
    return found


def _put(place: Place, given: Any, assign: bool) -> None:
    if place.tensor is None:
        place.module.set_extra_state(given)
    elif not assign:
        place.tensor.copy_(given)
    elif isinstance(place.tensor, Parameter):
        setattr(place.module, place.name, Parameter(given.detach(), place.tensor.requires_grad))
    else:
        setattr(place.module, place.name, given.detach())


def _name_problems(report: LoadReport) -> list[str]:
    problems = []
    if report.missing_keys:
        problems.append("missing keys: " + ", ".join(map(repr, report.missing_keys)))
    if report.unexpected_keys:
        problems.append("unexpected keys: " + ", ".join(map(repr, report.unexpected_keys)))
    return problems


def _mismatch(name: str, own: Tensor, given: object, assign: bool) -> str:
    if not isinstance(given, _C.Tensor):
        return f"{type(given).__name__} instead of a Tensor for {name!r}"
    if tuple(given.shape) != tuple(own.shape):
        return f"shape {list(given.shape)} instead of {list(own.shape)} for {name!r}"
    if given.dtype.is_complex and not own.dtype.is_complex:
        return f"{given.dtype} instead of {own.dtype} for {name!r}"
    is_trained = assign and isinstance(own, Parameter) and own.requires_grad
    if is_trained and not (given.dtype.is_floating_point or given.dtype.is_complex):
        return f"{given.dtype} instead of a floating dtype for {name!r}"
    return ""
