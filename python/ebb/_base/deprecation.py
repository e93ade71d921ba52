# python/ebb/_base/deprecation.py -- names that go: what replaces them, since when, until when.
"""A deprecated function is decorated; what else is deprecated (an argument) warns by hand.

docs/versions.md says how long such names stay. ``python -m tools.release`` reads the versions off
the source, so they are written as texts where a ``Deprecation`` is made: a release that reaches
``removed`` is refused while the name is still there.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Deprecation:
    """What programs should no longer write, and what they should write instead.

    Args:
        name: As programs write it, without ``ebb.``.
        instead: What replaces it.
        since: The version that deprecated it.
        removed: The version that removes it; None for an older name of PyTorch's, which stays as
            long as PyTorch has it.
        category: ``FutureWarning`` is shown to users, not only to those who run tests.
    """

    def __init__(
        self,
        name: str,
        *,
        instead: str,
        since: str,
        removed: str | None = None,
        category: type[Warning] = FutureWarning,
    ):
        self.name, self.instead = name, instead
        self.since, self.removed = since, removed
        self.category = category

    def __str__(self) -> str:
        end = f" and goes in {self.removed}" if self.removed else ""
        return f"{self.name} is deprecated since {self.since}{end}: use {self.instead}"

    def warn(self) -> None:
        """Warn, of the user's line; Python shows it once for each such line."""
        warnings.warn(str(self), self.category, stacklevel=_frames_of_the_package() + 1)


def deprecated(
    name: str,
    *,
    instead: str,
    since: str,
    removed: str | None = None,
    category: type[Warning] = FutureWarning,
) -> Callable[[Function], Function]:
    """Return a decorator for a function that warns when it is called: see ``Deprecation``."""
    deprecation = Deprecation(
        name, instead=instead, since=since, removed=removed, category=category
    )

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            deprecation.warn()
            return function(*args, **kwargs)

        wrapper.__deprecated__ = str(deprecation)  # type: ignore[attr-defined]  # as in PEP 702
        return cast(Function, wrapper)

    return decorate


def _frames_of_the_package() -> int:
    """How many of the innermost frames, that of the caller included, run code of the package."""
    frame, count = sys._getframe(1), 0
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, count = frame.f_back, count + 1
    return count
