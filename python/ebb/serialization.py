# python/ebb/serialization.py -- which classes PyTorch's files may name, beside plain values.
"""What ``ebb.load(..., weights_only=True)`` may make, under PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ebb import _C
from ebb._base import naming as _naming
from ebb.io.files import load, save
from ebb.io.torch_files import trusted

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]

Trusted = type | Callable | tuple[Any, str]

_NEVER = ("sys", "os", "posix", "nt", "subprocess", "builtins")
# Of those, what only holds what it is given.
_PLAIN = (dict, list, tuple, set, frozenset, int, float, bool, complex, str, bytes, bytearray,
          slice, range)  # fmt: skip


def add_safe_globals(safe_globals: Iterable[Trusted]) -> None:
    """Let files name classes: their objects may be made, and given what the file holds.

    Args:
        safe_globals: Classes or functions, or pairs of one and its full name in files.
    Example:
        >>> import argparse
        >>> ebb.serialization.add_safe_globals([argparse.Namespace])
        >>> ebb.serialization.get_safe_globals()
        [<class 'argparse.Namespace'>]
        >>> ebb.serialization.clear_safe_globals()
    """
    trusted.update(_named(safe_globals))


def clear_safe_globals() -> None:
    """Forget all that ``add_safe_globals`` was given.

    Example:
        >>> ebb.serialization.clear_safe_globals()
        >>> ebb.serialization.get_safe_globals()
        []
    """
    trusted.clear()


def get_safe_globals() -> list[Any]:
    """Return what ``add_safe_globals`` was given.

    Example:
        >>> ebb.serialization.get_safe_globals()
        []
    """
    return list(trusted.values())


@contextmanager
def safe_globals(safe_globals: Iterable[Trusted]) -> Iterator[None]:
    """Let files name classes within a block.

    Example:
        >>> import argparse
        >>> ebb.save(argparse.Namespace(rate=0.1), "options.pt")
        >>> with ebb.serialization.safe_globals([argparse.Namespace]):
        ...     ebb.load("options.pt")
        Namespace(rate=0.1)
    """
    before = dict(trusted)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        trusted.clear()
        trusted.update(before)


def _named(given: Iterable[Trusted]) -> dict[str, Any]:
    found = {}
    for one in given:
        value, name = one if isinstance(one, tuple) else (one, "")
        if not callable(value):
            raise _C.DTypeError(
                f"add_safe_globals: needs classes and functions, got {type(value).__name__}"
            )
        full = name or f"{value.__module__}.{value.__qualname__}"
        module, _, last = full.rpartition(".")
        is_plain = any(value is one for one in _PLAIN)
        if module.partition(".")[0] in _NEVER and not is_plain:
            raise _C.ValueError(
                f"add_safe_globals: needs names outside {', '.join(_NEVER)}, got {full}"
            )
        found[f"{module} {last}"] = value
    return found


_naming.name_module(__name__)
