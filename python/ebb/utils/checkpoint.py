# python/ebb/utils/checkpoint.py -- trades memory for time: parts of a graph are computed twice.
#
# The rules are compiled (ebb/autograd/checkpoint/checkpoint_frame.h,
# python/src/autograd/checkpoint.cpp). Here are the options that only Python has.
"""``checkpoint``: what a function saves for backward is computed again instead of kept."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ebb import _C
from ebb._base.transforms import is_in_transform, without_levels
from ebb.errors import AutogradError as CheckpointError
from ebb.utils.selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

_early_stop: bool | None = None
_debug: bool | None = None
_has_told_of_reentrant = False


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Context manager: whether checkpoints made inside note their ops, for error messages.

    Wins over the argument ``debug`` of ``checkpoint``, unless it is None.

    Example:
        >>> x = ebb.ones(2, requires_grad=True)
        >>> with ebb.utils.checkpoint.set_checkpoint_debug_enabled(True):
        ...     y = ebb.utils.checkpoint.checkpoint(lambda t: t.exp().sum(), x)
        >>> y.backward()
    """
    global _debug
    outer, _debug = _debug, None if enabled is None else bool(enabled)
    try:
        yield
    finally:
        _debug = outer


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Context manager: whether checkpoints made inside stop recomputing once they have all.

    Wins over the argument ``early_stop`` of ``checkpoint``.

    Example:
        >>> x = ebb.ones(2, requires_grad=True)
        >>> with ebb.utils.checkpoint.set_checkpoint_early_stop(False):
        ...     y = ebb.utils.checkpoint.checkpoint(lambda t: t.exp().sum(), x)
        >>> y.backward()
    """
    global _early_stop
    outer, _early_stop = _early_stop, bool(enable)
    try:
        yield
    finally:
        _early_stop = outer


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Return ``function(*args, **kwargs)`` without keeping what it saves for backward.

    In backward, ``function`` is called again when the first of its saved tensors is needed, and
    the values live until that run is over. It must do the same on every call. It gets the same
    random numbers again, and the sequence in use is not disturbed; grad mode and default dtype are
    those of the first call. Checkpoints may be nested.

    Tensors among the arguments are saved like operands: they must not be written to. Within
    ``vmap`` and forward mode, whose samples and tangents are gone by then, it is an ordinary call.

    Args:
        use_reentrant: Nothing: there is one implementation, called non-reentrant in PyTorch,
            which does all that the other does; True is told once.
        context_fn: Returns two context managers, for the first call and for later ones, such as
            those of ``create_selective_checkpoint_contexts``. Not called under ``no_grad``.
        determinism_check: "default" compares shapes, dtypes and devices; "none" does not.
        debug: Note the ops of both calls, with their lines: if they differ, the error shows them
            side by side.
        early_stop: Stop a recomputation once all that was saved is there.
        preserve_rng_state: Draw the same random numbers again.
    Returns:
        What ``function`` returns.
    Raises:
        RuntimeError: In backward, if the function saved other tensors than before, or if an
            argument was written to.
    Example:
        >>> x = ebb.tensor([1.0], requires_grad=True)
        >>> ebb.utils.checkpoint.checkpoint(lambda t: t.exp().sin(), x).backward()
    """
    if use_reentrant and not _has_told_of_reentrant:
        _tell_of_reentrant()
    if determinism_check not in ("default", "none"):
        raise _C.ValueError(
            f"checkpoint: determinism_check must be 'default' or 'none', got {determinism_check!r}"
        )
    if is_in_transform():
        return function(*args, **kwargs)
    if context_fn is not None and _C.is_grad_enabled():
        function = _in_contexts(function, context_fn())
    stops = early_stop if _early_stop is None else _early_stop
    checks = determinism_check == "default"
    notes = debug if _debug is None else _debug
    options = bool(stops), checks, bool(preserve_rng_state), bool(notes)
    return _C._checkpoint(without_levels(function), args, kwargs, *options)


def _tell_of_reentrant() -> None:
    global _has_told_of_reentrant
    _has_told_of_reentrant = True
    warnings.warn(
        "checkpoint: use_reentrant=True runs as False does: there is no other way, and it may do "
        "all that the other may",
        stacklevel=3,
    )


def _in_contexts(function: Callable[..., Any], contexts: tuple[Any, Any]) -> Callable[..., Any]:
    """``function`` in the first context when it is called first, later in the second."""
    is_again = False

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal is_again
        context, is_again = contexts[is_again], True
        with context:
            return function(*args, **kwargs)

    return call


def checkpoint_sequential(
    functions: Sequence[Callable[[Any], Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Run functions one after another, checkpointed in segments of equal length.

    The last segment is not checkpointed: backward needs it first.

    Args:
        functions: A list of functions or modules, or an ``nn.Sequential``.
        segments: Into how many to cut it.
        input: What the first function gets.
        kwargs: Options of ``checkpoint``.
    Raises:
        ValueError: If there are more segments than functions, or none.
    Example:
        >>> layers = [ebb.nn.Linear(2, 2), ebb.nn.ReLU(), ebb.nn.Linear(2, 1)]
        >>> x = ebb.ones(3, 2, requires_grad=True)
        >>> ebb.utils.checkpoint.checkpoint_sequential(layers, 2, x).shape
        ebb.Size([3, 1])
    """
    steps = list(functions)
    if not 1 <= segments <= len(steps):
        raise _C.ValueError(
            f"checkpoint_sequential: segments must be from 1 to the number of functions, "
            f"{len(steps)}, got {segments}"
        )
    length = len(steps) // segments

    def run(first: int, last: int) -> Callable[[Any], Any]:
        def segment(value: Any) -> Any:
            for step in steps[first:last]:
                value = step(value)
            return value

        return segment

    for start in range(0, length * (segments - 1), length):
        segment = run(start, start + length)
        input = checkpoint(segment, input, use_reentrant=use_reentrant, **kwargs)
    return run(length * (segments - 1), len(steps))(input)
