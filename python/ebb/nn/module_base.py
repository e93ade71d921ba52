# python/ebb/nn/module_base.py -- ModuleBase: where a module keeps its parts, hooks and attributes.
#
# All of it is in the instance's dict, under the names that programs written for PyTorch look for:
# parts in three dicts, hooks in a table for each kind, a hook under its number. Programs may change
# or replace each of these, so nothing else remembers what is in them. `module.weight` finds a part
# in python/src/parts/module_parts.cpp. What lists, saves or converts modules stands on this class.
"""``ModuleBase``, and the names of what it keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ebb import _C
from ebb.nn import older_state

if TYPE_CHECKING:
    from typing_extensions import Self  # noqa: UP035 -- checkers bring it, for 3.10 too

PARAMETERS, BUFFERS, MODULES = KINDS = ("_parameters", "_buffers", "_modules")
TRANSIENT = "_non_persistent_buffers_set"  # names of buffers that state_dict() leaves out
CALL_HOOKS = (
    *("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks"),
    # Numbers of those that get keyword arguments, and of those that a failed forward runs too.
    *("_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs"),
    "_forward_hooks_always_called",
)
STATE_HOOKS = (
    *("_state_dict_pre_hooks", "_state_dict_hooks"),
    *("_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"),
)
_HELD = (*KINDS, *CALL_HOOKS, *STATE_HOOKS)


class ModuleBase(_C._ModuleCall):
    """What has parts, hooks and attributes. Base of ``Module``."""

    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _state_dict_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: dict[int, Callable[..., Any]]
    _version: int
    _save_dtype: _C.dtype | None = None  # of state_dict(), if amp.decorate() was told one
    _is_full_backward_hook: bool | None = None  # read by programs written for PyTorch

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _C._read_parts_directly(cls)

    def __init__(self) -> None:
        own = vars(self)
        own["training"] = True
        own[TRANSIENT] = set()
        for name in _HELD:
            own[name] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what a pickle or a copy holds, whoever wrote it; what it lacks is empty."""
        own = vars(self)
        own.update(older_state.renamed(state))
        own.setdefault(TRANSIENT, set())
        for name in _HELD:
            own.setdefault(name, {})

    def __copy__(self) -> Self:
        """Return a module of the same parts, to which others may be added alone."""
        twin = type(self).__new__(type(self))
        own = vars(self)
        vars(twin).update(own)
        vars(twin).update((name, own[name].copy()) for name in (*_HELD, TRANSIENT) if name in own)
        return twin

    def __dir__(self) -> list[str]:
        parts = [name for kind in KINDS for name in vars(self).get(kind, ())]
        return sorted({*super().__dir__(), *parts})

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; subclasses define it."""
        raise _C.NotImplementedError(
            f"forward: needs a definition in {type(self).__name__}, got none"
        )

    def extra_repr(self) -> str:
        """Return what ``repr`` shows between the parentheses; subclasses may define it."""
        return ""


def kind_held(own: dict[str, Any], name: str) -> str | None:
    """Return which of its dicts a module, whose attributes are ``own``, holds a name in."""
    for kind in KINDS:
        if name in own.get(kind, ()):
            return kind
    return None


def table_of(module: ModuleBase, name: str) -> dict[int, Any]:
    """Return a table of a module's hooks, to add to it."""
    table = vars(module).get(name)
    if table is None:
        raise AttributeError(
            f"{type(module).__name__}: needs super().__init__() before a hook is registered"
        )
    return table
