# python/ebb/nn/older_state.py -- attributes of modules as pickles of ebb before 0.2 hold them.
#
# There parts were attributes, listed by kind in `_registered`, and hooks were in objects of the two
# classes below, which the pickles name in hooks.py and state_hooks.py.
"""``renamed``: such attributes under the names of today."""

from __future__ import annotations

from typing import Any

_KINDS = {"parameter": "_parameters", "buffer": "_buffers", "module": "_modules"}
_CALL_HOOKS = {
    "before": "_forward_pre_hooks",
    "after": "_forward_hooks",
    "backward_before": "_backward_pre_hooks",
    "backward_after": "_backward_hooks",
}
_STATE_HOOKS = {
    "before_saving": "_state_dict_pre_hooks",
    "after_saving": "_state_dict_hooks",
    "before_loading": "_load_state_dict_pre_hooks",
    "after_loading": "_load_state_dict_post_hooks",
}


class ModuleHooks:
    """For each kind number -> a hook and whether it gets the keyword arguments."""


class StateHooks:
    """For each kind number -> hook."""


def forget(owner: Any) -> None:
    """Do nothing: handles of hooks in such pickles name a function of this effect today."""


def renamed(state: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a module under the names of today; those of today as they are."""
    if "_registered" not in state:
        return state
    parts = state["_registered"]
    named = {name for values in parts.values() for name in values}
    old = {"_registered", "_transient", "_hooks", "_state_hooks"}
    made = {name: value for name, value in state.items() if name not in named | old}
    made |= {_KINDS[kind]: dict(values) for kind, values in parts.items()}
    made["_non_persistent_buffers_set"] = set(state["_transient"])
    made |= _call_hooks(vars(state.get("_hooks") or ModuleHooks()))
    held = vars(state.get("_state_hooks") or StateHooks())
    return made | {_STATE_HOOKS[kind]: dict(table) for kind, table in held.items()}


def _call_hooks(held: dict[str, Any]) -> dict[str, dict[int, Any]]:
    made: dict[str, dict[int, Any]] = {}
    for kind, name in _CALL_HOOKS.items():
        table = held.get(kind, {})
        made[name] = {number: _hook(one) for number, (one, _) in table.items()}
        if kind in ("before", "after"):
            made[f"{name}_with_kwargs"] = {number: True for number, (_, it) in table.items() if it}
    made["_forward_hooks_always_called"] = dict.fromkeys(held.get("always_after", ()), True)
    return made


def _hook(one: Any) -> Any:
    """Return what is a hook today: what stood for it, without the handle that computed ones had."""
    own = getattr(one, "__dict__", {})
    if "handle" in own:
        del own["handle"]
    return getattr(one, "shown_as", one)
