# python/ebb/multiprocessing.py -- Python's multiprocessing under PyTorch's name.
"""``ebb.multiprocessing``: Python's module.

Tensors that go to another process are copied, but for those of ``Tensor.share_memory_()``.
"""

from __future__ import annotations

import multiprocessing as _python
from multiprocessing import *  # noqa: F403
from typing import Any

from ebb import errors
from ebb._base import naming as _naming

__all__ = [
    *_python.__all__,  # type: ignore[attr-defined]
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
]

_STRATEGIES = ("file_system", "file_descriptor")
_MOST_PROCESSES = 4096  # each takes some 30 MB: more is a mistake


def get_all_sharing_strategies() -> set[str]:
    """Return the names that ``set_sharing_strategy`` takes.

    Example:
        >>> sorted(ebb.multiprocessing.get_all_sharing_strategies())
        ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """Return "file_system".

    Example:
        >>> ebb.multiprocessing.get_sharing_strategy()
        'file_system'
    """
    return _STRATEGIES[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Do nothing: tensors are shared one by one, by ``share_memory_()``.

    Example:
        >>> ebb.multiprocessing.set_sharing_strategy("file_descriptor")
        >>> ebb.multiprocessing.get_sharing_strategy()
        'file_system'
    """
    del new_strategy


def spawn(
    fn: Any,
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> list[Any] | None:
    """Run ``fn(number, *args)`` in processes of their own.

    Args:
        fn: What they run; it must be importable.
        args: What it gets after the number of its process.
        nprocs: How many there are.
        join: Whether to wait for them; else they are returned.
        daemon: Whether they end with this process.
        start_method: As in ``multiprocessing.get_context``.
    Raises:
        ValueError: For less than one process, or more than 4,096.
        RuntimeError: If one ended with an error, when ``join`` is set.
    Example:
        >>> import operator
        >>> ebb.multiprocessing.spawn(operator.add, (10,))  # 0 + 10, in a process of its own
        >>> ebb.multiprocessing.spawn(operator.add, (10,), nprocs=0)
        Traceback (most recent call last):
            ...
        ebb.errors.ValueError: spawn: nprocs needs 1 to 4096, got 0
    """
    if not 1 <= nprocs <= _MOST_PROCESSES:
        raise errors.ValueError(f"spawn: nprocs needs 1 to {_MOST_PROCESSES}, got {nprocs}")
    context: Any = _python.get_context(start_method)
    started = [
        context.Process(target=fn, args=(number, *args), daemon=daemon) for number in range(nprocs)
    ]
    for one in started:
        one.start()
    if not join:
        return started
    for one in started:
        one.join()
    failed = [number for number, one in enumerate(started) if one.exitcode != 0]
    if failed:
        raise RuntimeError(f"spawn: processes {failed} ended with an error, see above")
    return None


_naming.name_module(__name__)
