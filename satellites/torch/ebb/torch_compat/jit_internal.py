# satellites/torch/ebb/torch_compat/jit_internal.py -- torch._jit_internal: marks for TorchScript.
#
# Layers and functions that programs copied from PyTorch are decorated with them. Nothing is
# compiled, so a mark is the function itself, and a choice between two functions is made as it runs.
"""``boolean_dispatch``, ``_overload``, ``BroadcastingList2`` and their like."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final as Final, TypeVar

from ebb.jit import (
    export as export,
    ignore as ignore,
    is_scripting as is_scripting,
    unused as unused,
)
from ebb.torch_compat.common_types import (
    BroadcastingList1 as BroadcastingList1,
    BroadcastingList2 as BroadcastingList2,
    BroadcastingList3 as BroadcastingList3,
    BroadcastingList4 as BroadcastingList4,
    BroadcastingList5 as BroadcastingList5,
    BroadcastingList6 as BroadcastingList6,
)
from ebb.torch_compat.futures import Future as Future

F = TypeVar("F", bound=Callable[..., Any])
List, Dict, Tuple = list, dict, tuple
boolean_dispatched: dict[Any, Any] = {}


class FunctionModifiers:
    """What marks say of a function.

    >>> from ebb.torch_compat import jit_internal
    >>> jit_internal.get_torchscript_modifier(len) == jit_internal.FunctionModifiers.DEFAULT
    True
    """

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (if called from a exported method / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto it"


def get_torchscript_modifier(fn: Any) -> str:
    """Return that a function has no mark.

    >>> from ebb.torch_compat import jit_internal
    >>> jit_internal.get_torchscript_modifier(len).partition(" ")[0]
    'default'
    """
    del fn
    return FunctionModifiers.DEFAULT


def same(fn: F) -> F:
    """Return a function as it is.

    >>> from ebb.torch_compat import jit_internal
    >>> jit_internal.same(len) is len
    True
    """
    return fn


_overload = _overload_method = _copy_to_script_wrapper = _drop = same
_disable_emit_hooks_decorator = same


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Callable[..., Any],
    if_false: Callable[..., Any], module_name: str, func_name: str,
) -> Callable[..., Any]:  # fmt: skip
    """Return a function that calls one of two, by the value of one of its arguments.

    >>> from ebb.torch_compat import jit_internal
    >>> pick = jit_internal.boolean_dispatch("up", 1, False, max, min, "m", "pick")
    >>> pick([1, 2]), jit_internal.boolean_dispatch("up", 1, True, max, min, "m", "pick")([1, 2])
    (1, 2)
    """

    def chosen(*args: Any, **kwargs: Any) -> Any:
        value = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if value else if_false)(*args, **kwargs)

    functools.update_wrapper(chosen, if_false)
    chosen.__name__, chosen.__module__ = func_name, module_name
    boolean_dispatched[chosen] = {"if_true": if_true, "if_false": if_false, "index": arg_index,
                                  "default": default, "arg_name": arg_name}  # fmt: skip
    return chosen


def is_list(ann: Any) -> bool:
    """Return whether an annotation is that of a list.

    >>> from ebb.torch_compat import jit_internal
    >>> jit_internal.is_list(list[int]), jit_internal.is_tuple(list[int])
    (True, False)
    """
    return getattr(ann, "__origin__", ann) is list


def is_tuple(ann: Any) -> bool:
    """Return whether an annotation is that of a tuple.

    >>> from ebb.torch_compat import jit_internal
    >>> jit_internal.is_tuple(tuple[int, int])
    True
    """
    return getattr(ann, "__origin__", ann) is tuple


def is_dict(ann: Any) -> bool:
    """Return whether an annotation is that of a dict.

    >>> from ebb.torch_compat import jit_internal
    >>> jit_internal.is_dict(dict[str, int])
    True
    """
    return getattr(ann, "__origin__", ann) is dict


def _isinstance(obj: Any, target_type: Any) -> bool:
    kinds: Sequence[Any] = getattr(target_type, "__args__", None) or (target_type,)
    return isinstance(obj, getattr(target_type, "__origin__", None) or tuple(kinds))
