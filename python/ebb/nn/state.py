# python/ebb/nn/state.py -- state_dict and load_state_dict of modules.
"""Loading checks every name, shape and kind of number before it copies anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ebb import _C
from ebb.nn.traversal import join, walk

if TYPE_CHECKING:
    from ebb._C import Tensor
    from ebb.nn.module import Module


class LoadReport(NamedTuple):
    """Names that only one side has."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"LoadReport({self.missing_keys=}, {self.unexpected_keys=})".replace("self.", "")


def collect(root: Module, prefix: str = "", keep_vars: bool = False) -> dict[str, Tensor]:
    """Return all persistent tensors of ``root`` under their dotted names."""
    state = {}
    for path, module in walk(root, once=False):
        for name, tensor in (*module._parameters.items(), *module._persistent_buffers()):
            if tensor is not None:
                state[prefix + join(path, name)] = tensor if keep_vars else tensor.detach()
    return state


def load(root: Module, state: Mapping[str, Tensor], strict: bool) -> LoadReport:
    """Copy ``state`` into the tensors of ``root``."""
    if not isinstance(state, Mapping):
        raise _C.DTypeError(f"load_state_dict: needs a dict, got {type(state).__name__}")
    own = collect(root)
    report = LoadReport(
        [name for name in own if name not in state], [name for name in state if name not in own]
    )
    problems = _name_problems(report) if strict else []
    shared = [name for name in own if name in state]
    problems += [text for name in shared if (text := _mismatch(name, own[name], state[name]))]
    if problems:
        kind = type(root).__name__
        raise _C.ValueError("load_state_dict: needs a state that fits "
                            f"{kind}, got\n\t" + "\n\t".join(problems))  # fmt: skip
    with _C.no_grad():
        for name in shared:
            own[name].copy_(state[name])
    return report


def _name_problems(report: LoadReport) -> list[str]:
    problems = []
    if report.missing_keys:
        problems.append("missing keys: " + ", ".join(map(repr, report.missing_keys)))
    if report.unexpected_keys:
        problems.append("unexpected keys: " + ", ".join(map(repr, report.unexpected_keys)))
    return problems


def _mismatch(name: str, own: Tensor, given: object) -> str:
    if not isinstance(given, _C.Tensor):
        return f"{type(given).__name__} instead of a Tensor for {name!r}"
    if tuple(given.shape) != tuple(own.shape):
        return f"shape {list(given.shape)} instead of {list(own.shape)} for {name!r}"
    if given.dtype.is_complex and not own.dtype.is_complex:
        return f"{given.dtype} instead of {own.dtype} for {name!r}"
    return ""
