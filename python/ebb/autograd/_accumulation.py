# python/ebb/autograd/_accumulation.py -- adding to all leaves or to none.
"""Context manager that stages the gradients of all leaves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ebb import _C


@contextmanager
def atomic_accumulation(enabled: bool = True) -> Iterator[None]:
    """Let ``backward()`` add to leaves only after its last node.

    A run that fails has then added to none of them, and can be repeated. Costs one more buffer per
    leaf. A leaf with a post-accumulate hook, or a hook on its AccumulateGrad, is still added to
    before that hook.
    """
    before = _C._set_accumulation_atomic(bool(enabled))
    try:
        yield
    finally:
        _C._set_accumulation_atomic(before)
