# python/ebb/nn/state.py -- state_dict and load_state_dict of modules.
"""Loading checks every name, shape and kind of number before it copies anything.

Only modules that define ``_load_from_state_dict`` themselves, and programs that hook in behind the
copying, see values before all is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ebb import _C
from ebb._C import Tensor
from ebb.nn.module_base import ModuleBase
from ebb.nn.parameter import Parameter, is_uninitialized
from ebb.nn.state_hooks import StateHooked
from ebb.nn.traversal import check_is_tree, walk

_EXTRA = "_extra_state"


class LoadReport(NamedTuple):
    """Names that only one side has."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"LoadReport({self.missing_keys=}, {self.unexpected_keys=})".replace("self.", "")


class OwnState(StateHooked):
    """What a module itself saves and loads, without its parts. Base of ``Module``."""

    _version: int = 1  # of what a module saves; subclasses may raise it

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

    def _save_to_state_dict(
        self, destination: dict[Any, Any], prefix: str, keep_vars: bool
    ) -> None:
        for name, tensor in _own_tensors(self):
            destination[prefix + name] = tensor if keep_vars else _saved(self, tensor)
        if _has_extra(self):
            destination[prefix + _EXTRA] = self.get_extra_state()

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        # Called by subclasses' own: what it finds is loaded at once, since they may go on from it.
        collected = (missing_keys, unexpected_keys, error_msgs)
        for hook in tuple(self._load_state_dict_pre_hooks.values()):
            hook(self, state_dict, prefix, local_metadata, strict, *collected)
        places = _own_places(self, prefix)
        assigns = local_metadata.get("assign_to_params_buffers", False)
        fitting, problems = _compare(places, state_dict, missing_keys if strict else [], assigns)
        error_msgs += problems
        if strict:
            unexpected_keys += [
                name
                for name in state_dict
                if name.startswith(prefix) and name not in places
                and name[len(prefix) :].partition(".")[0] not in self._modules
            ]  # fmt: skip
        with _C.no_grad():
            for name in fitting:
                _put(places[name], state_dict[name], assigns)


def collect(root: ModuleBase, state: Any, prefix: str, keep_vars: bool, usual: object) -> Any:
    """Add all persistent tensors of ``root`` to ``state``, and what modules keep beside them.

    Args:
        usual: ``Module.state_dict``; a part whose own is another is asked for its state.
    """
    check_is_tree(root)
    versions = getattr(state, "_metadata", {})
    stack = [(prefix, root, False)]
    while stack:
        path, module, is_done = stack.pop()
        if is_done:
            for hook in tuple(module._state_dict_hooks.values()):
                changed = hook(module, state, path, versions[path[:-1]])
                state = changed if changed is not None and module is root else state
            continue
        if module is not root and type(module).state_dict is not usual:
            module.state_dict(destination=state, prefix=path, keep_vars=keep_vars)
            continue
        versions[path[:-1]] = {"version": module._version}
        for hook in tuple(module._state_dict_pre_hooks.values()):
            hook(module, path, keep_vars)
        module._save_to_state_dict(state, path, keep_vars)
        if module._state_dict_hooks:
            stack.append((path, module, True))  # below its parts
        stack += [
            (f"{path}{name}.", child, False)
            for name, child in reversed(module._modules.items())
            if child is not None
        ]
    return state


def _saved(module: ModuleBase, tensor: Tensor) -> Tensor:
    """A tensor as ``state_dict`` has it: amp.decorate() may have said in what dtype."""
    dtype = module._save_dtype
    is_cast = dtype is not None and tensor.is_floating_point()
    return tensor.detach().to(dtype) if is_cast else tensor.detach()


class Place(NamedTuple):
    """Where a name of a state dict leads: a tensor of a module, or its extra state."""

    module: ModuleBase
    name: str
    tensor: Tensor | None


def load(root: ModuleBase, given: Mapping[str, Any], strict: bool, assign: bool) -> LoadReport:
    """Copy ``given`` into the tensors of ``root``, or with ``assign`` put its tensors there."""
    if not isinstance(given, Mapping):
        raise _C.DTypeError(f"load_state_dict: needs a dict, got {type(given).__name__}")
    run = _Loading(dict(given), getattr(given, "_metadata", {}), assign)
    for path, module in walk(root, once=False):
        run.look_at(module, f"{path}." if path else "")
    report = LoadReport(run.missing, [*run.unknown(root), *run.unexpected])
    watchers = [module for module in root.modules() if module._load_state_dict_post_hooks]
    if watchers and not run.problems:
        run.copy_all()
        for module in reversed(watchers):
            for hook in tuple(module._load_state_dict_post_hooks.values()):
                hook(module, report)
    problems = [*(_name_problems(report) if strict else ()), *run.problems]
    if problems:
        kind = type(root).__name__
        hint = "\nhint: strict=False passes over missing and unexpected keys"
        raise _C.ValueError(
            f"load_state_dict: needs a state that fits {kind}, got\n\t"
            + "\n\t".join(problems)
            + ("" if run.problems else hint)
        )
    if not watchers:
        run.copy_all()
    return report


class _Loading:
    """One call of ``load_state_dict``: what is to be copied, and what does not fit."""

    def __init__(self, state: dict[str, Any], versions: Mapping[Any, Any], assign: bool):
        self.state = state
        self.versions = versions
        self.assign = assign
        self.places: dict[str, Place] = {}  # of all modules but those with loaders of their own
        self.fitting: list[str] = []
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.problems: list[str] = []

    def look_at(self, module: ModuleBase, prefix: str) -> None:
        """Compare one module with the state; one with a loader of its own loads itself."""
        metadata = dict(self.versions.get(prefix[:-1], {}))
        if self.assign:
            metadata["assign_to_params_buffers"] = True
        rest = (self.state, prefix, metadata, True, self.missing, self.unexpected, self.problems)
        if _loads_itself(module):
            module._load_from_state_dict(*rest)
            return
        for hook in tuple(module._load_state_dict_pre_hooks.values()):
            hook(module, *rest)
        places = _own_places(module, prefix)
        fitting, problems = _compare(places, self.state, self.missing, self.assign)
        self.places.update(places)
        self.fitting += fitting
        self.problems += problems

    def unknown(self, root: ModuleBase) -> list[str]:
        """Return names that no module expects, but those below one with a loader of its own."""
        return [
            name
            for name in self.state
            if name not in self.places and not _loads_itself(_owner(root, name))
        ]

    def copy_all(self) -> None:
        """Copy what fits."""
        with _C.no_grad():
            for name in self.fitting:
                _put(self.places[name], self.state[name], self.assign)


def _loads_itself(module: ModuleBase) -> bool:
    return type(module)._load_from_state_dict is not OwnState._load_from_state_dict


def _owner(root: ModuleBase, name: str) -> ModuleBase:
    """Return the module furthest down that a dotted name leads to."""
    module = root
    for part in name.split(".")[:-1]:
        child = module._modules.get(part)
        if child is None:
            break
        module = child
    return module


def _compare(
    places: dict[str, Place], state: Mapping[str, Any], missing: list[str], assign: bool
) -> tuple[list[str], list[str]]:
    """Return names whose values fit, and what is wrong with others; add those not there."""
    fitting, problems = [], []
    for name, place in places.items():
        if name not in state:
            missing.append(name)
            continue
        text = place.tensor is not None and _mismatch(name, place.tensor, state[name], assign)
        problems += [text] if text else []
        fitting += [] if text else [name]
    return fitting, problems


def _own_tensors(module: ModuleBase) -> list[tuple[str, Tensor]]:
    transient = module._non_persistent_buffers_set
    buffers = [one for one in module._buffers.items() if one[0] not in transient]
    registered = (*module._parameters.items(), *buffers)
    return [(name, tensor) for name, tensor in registered if tensor is not None]


def _has_extra(module: ModuleBase) -> bool:
    return type(module).get_extra_state is not OwnState.get_extra_state


def _own_places(module: ModuleBase, prefix: str) -> dict[str, Place]:
    found = {prefix + name: Place(module, name, tensor) for name, tensor in _own_tensors(module)}
    if _has_extra(module):
        found[prefix + _EXTRA] = Place(module, _EXTRA, None)
    return found


def _put(place: Place, given: Any, assign: bool) -> None:
    if place.tensor is None:
        place.module.set_extra_state(given)
    elif not assign:
        tensor = place.tensor
        if is_uninitialized(tensor):
            if is_uninitialized(given) or tuple(given.shape) == (0,):
                return  # nothing is known there either
            tensor = tensor.materialize(tuple(given.shape))
            setattr(place.module, place.name, tensor)
        tensor.copy_(given)
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
    if tuple(given.shape) != tuple(own.shape) and not is_uninitialized(own):
        return f"shape {list(given.shape)} instead of {list(own.shape)} for {name!r}"
    if given.dtype.is_complex and not own.dtype.is_complex:
        return f"{given.dtype} instead of {own.dtype} for {name!r}"
    is_trained = assign and isinstance(own, Parameter) and own.requires_grad
    if is_trained and not (given.dtype.is_floating_point or given.dtype.is_complex):
        return f"{given.dtype} instead of a floating dtype for {name!r}"
    return ""
