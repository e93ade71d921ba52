# python/ebb/utils/selective_checkpoint.py -- which results a checkpoint keeps: policies.
#
# The rules are compiled (ebb/autograd/checkpoint/selective_cache.h). ebb.utils.checkpoint has all
# names.
"""Policies for ``checkpoint(context_fn=...)``: results of chosen ops are kept, not recomputed."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from ebb import _C

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(enum.Enum):
    """What a policy function says of an op. PREFER differs from MUST only for compilers.

    Example:
        >>> policy = ebb.utils.checkpoint.CheckpointPolicy
        >>> def saves_products(ctx, op, *args):
        ...     return policy.MUST_SAVE if op is ebb.matmul else policy.PREFER_RECOMPUTE
        >>> def contexts():
        ...     return ebb.utils.checkpoint.create_selective_checkpoint_contexts(saves_products)
        >>> x = ebb.ones(2, 2, requires_grad=True)
        >>> y = ebb.utils.checkpoint.checkpoint(lambda t: (t @ t).exp(), x, context_fn=contexts)
        >>> y.sum().backward()
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class SelectiveCheckpointContext:
    """What a policy function learns besides the op: ``is_recompute``, whether backward calls.

    Example:
        >>> def saves_all(ctx, op, *args):
        ...     print(op.__name__, ctx.is_recompute)
        ...     return True
        >>> def contexts():
        ...     return ebb.utils.checkpoint.create_selective_checkpoint_contexts(saves_all)
        >>> x = ebb.ones(2, requires_grad=True)
        >>> y = ebb.utils.checkpoint.checkpoint(lambda t: t.exp(), x, context_fn=contexts)
        exp False
    """

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


Policy = Callable[..., "CheckpointPolicy | bool"]


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | Sequence[Callable[..., Any]],
    allow_cache_entry_mutation: bool = False,
) -> tuple[Any, Any]:
    """Return two context managers for ``checkpoint(context_fn=...)`` that keep chosen results.

    What the policy wants saved is computed once; the rest of the function runs again in backward.
    The policy is asked before each differentiable op that does not write in place, in both calls,
    and must give the same answers. ``ebb.nn.functional`` and other compositions are seen as the
    ops that they call: ``mm`` as ``matmul``. Views are never kept: making one costs nothing.

    Args:
        policy_fn_or_list: A function ``(ctx, op, *args, **kwargs)`` that returns a
            ``CheckpointPolicy``, or True for MUST_SAVE and False for PREFER_RECOMPUTE; ``op`` is
            the function in ``ebb.ops``, and ``args`` are all of its arguments. Or a list of such
            functions, whose results are saved.
        allow_cache_entry_mutation: Use a kept result although it was written to since.
    Returns:
        The context for the first call, and the one for later calls.
    Raises:
        TypeError: If it is neither, or if the policy returns something else.
        ValueError: If the list has something for which no policy is asked.
    Example:
        >>> def contexts():
        ...     return ebb.utils.checkpoint.create_selective_checkpoint_contexts([ebb.matmul])
        >>> x = ebb.ones(2, 2, requires_grad=True)
        >>> y = ebb.utils.checkpoint.checkpoint(lambda t: (t @ t).exp(), x, context_fn=contexts)
        >>> y.sum().backward()
    """
    policy = policy_fn_or_list
    if isinstance(policy, (list, tuple, set, frozenset)):
        policy = _saves_only({_name_of(op) for op in policy})
    elif not callable(policy):
        raise _C.DTypeError(
            "create_selective_checkpoint_contexts: policy_fn_or_list must be a function or a list "
            f"of ops, got {type(policy).__name__}"
        )
    cache = _C._selective_cache(_numbered(policy), bool(allow_cache_entry_mutation))
    return _Observing(_C._push_keeper, cache), _Observing(_C._push_giver, cache)


def _saves_only(names: set[str]) -> Policy:
    def policy(ctx: SelectiveCheckpointContext, op: Any, *args: Any) -> bool:
        return _names[op] in names

    return policy


def _name_of(op: Any) -> str:
    name = getattr(op, "__name__", None)
    if name is None or not _C._is_observed_op(name):
        raise _C.ValueError(
            "create_selective_checkpoint_contexts: needs differentiable ops such as ebb.matmul, "
            f"got {name or op!r}\nhint: name the ops that a composition calls; a policy function "
            "is shown them"
        )
    return name


_functions: dict[str, Any] = {}  # by name of the op
_names: dict[Any, str] = {}


def _function_of(name: str) -> Any:
    """The function in ``ebb.ops``, the method, or the name of an op that has neither."""
    if name not in _functions:
        owners = (_C, _C._ops, _C.Tensor)  # ebb.ops has what _C has
        found = next((getattr(owner, name) for owner in owners if hasattr(owner, name)), name)
        _functions[name], _names[found] = found, name
    return _functions[name]


def _numbered(policy: Policy) -> Callable[..., int]:
    """``policy`` as C++ calls it."""
    contexts = [SelectiveCheckpointContext(is_recompute=again) for again in (False, True)]

    def ask(is_recompute: bool, name: str, *args: Any) -> int:
        answer = policy(contexts[is_recompute], _function_of(name), *args)
        if isinstance(answer, bool):
            answer = CheckpointPolicy.MUST_SAVE if answer else CheckpointPolicy.PREFER_RECOMPUTE
        if not isinstance(answer, CheckpointPolicy):
            raise _C.DTypeError(
                "selective checkpoint: a policy must return a CheckpointPolicy or a bool, got "
                f"{type(answer).__name__} for {name}"
            )
        return answer.value

    return ask


class _Observing:
    """Installs an observer of ops while it is entered."""

    def __init__(self, push: Callable[[Any], None], cache: Any) -> None:
        self._push, self._cache = push, cache

    def __enter__(self) -> None:
        self._push(self._cache)

    def __exit__(self, *exc: object) -> None:
        _C._pop_op_observer()
