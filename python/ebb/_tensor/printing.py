# python/ebb/_tensor/printing.py -- how repr() and str() write tensors: set_printoptions().
"""Digits, summaries and lines of tensors as text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ebb import _C

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]

_NAMES = ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")
_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
_MOST = 2**63 - 1


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are written from now on, in all threads; what is None stays.

    Args:
        precision: Digits after the point, 4 at first, at most 100.
        threshold: Tensors of more elements are summarised, 1000 at first; ``math.inf`` for none.
        edgeitems: How many elements a summary shows at each end of a dim, 3 at first.
        linewidth: Characters of a line, 80 at first.
        profile: "default", "short" (2 digits, 2 items) or "full" (no summary), before the others.
        sci_mode: Whether numbers have exponents; None leaves it to their sizes.
    Raises:
        ValueError: For negative numbers and other profiles; nothing changes then.
    Example:
        >>> ebb.set_printoptions(precision=2)
        >>> ebb.tensor([1 / 3])
        tensor([0.33])
        >>> ebb.set_printoptions(profile="default")
    """
    options = get_printoptions()
    if profile is not None:
        if profile not in _PROFILES:
            raise _C.ValueError(
                f"set_printoptions: profile must be one of {', '.join(_PROFILES)}, got {profile!r}"
            )
        options.update(_PROFILES[profile])
    given = (precision, threshold, edgeitems, linewidth)
    options.update({n: v for n, v in zip(_NAMES, given, strict=False) if v is not None})
    options["sci_mode"] = sci_mode
    _apply(options)


def get_printoptions() -> dict[str, Any]:
    """Return the options that ``set_printoptions`` takes.

    >>> ebb.get_printoptions()["precision"]
    4
    """
    *numbers, scientific = _C._print_options()
    options: dict[str, Any] = dict(zip(_NAMES, numbers, strict=False))
    if options["threshold"] == _MOST:
        options["threshold"] = math.inf
    return options | {"sci_mode": None if scientific < 0 else bool(scientific)}


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Set options within a block.

    >>> with ebb.printoptions(precision=1):
    ...     print(ebb.tensor([0.25]))
    tensor([0.2])
    """
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        _apply(before)


def _apply(options: dict[str, Any]) -> None:
    threshold = options["threshold"]
    _C._set_print_options(
        options["precision"],
        _MOST if threshold == math.inf else threshold,
        options["edgeitems"],
        options["linewidth"],
        -1 if options["sci_mode"] is None else int(options["sci_mode"]),
    )
