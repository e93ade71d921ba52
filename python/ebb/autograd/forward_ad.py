# python/ebb/autograd/forward_ad.py -- forward mode: levels and dual tensors.
#
# The work is done in C++ (ebb/autograd/forward/forward_mode.h); here are names and the context
# manager.
"""Derivatives along a direction, computed as the program runs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from ebb import _C
from ebb._base.transforms import refuse_samples

if TYPE_CHECKING:
    from ebb import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


_entered = threading.local()  # its `levels`: those of this thread, the innermost last


def __getattr__(name: str) -> Any:
    if name != "_current_level":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    levels = getattr(_entered, "levels", None)
    return levels[-1] if levels else -1  # as programs written for PyTorch ask


class UnpackedDualTensor(NamedTuple):
    """What ``unpack_dual`` returns; ``tangent`` is None where there is none.

    Example:
        >>> import ebb.autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(ebb.tensor(3.0), ebb.tensor(1.0))
        ...     primal, tangent = fwAD.unpack_dual(x * x)
        >>> primal, tangent
        (tensor(9.), tensor(6.))
    """

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Enter a level of forward mode on this thread, inside those entered before; return it.

    ``dual_level()`` is the safe way: it leaves the level whatever happens.

    Example:
        >>> import ebb.autograd.forward_ad as fwAD
        >>> level = fwAD.enter_dual_level()
        >>> x = fwAD.make_dual(ebb.tensor(3.0), ebb.tensor(1.0))
        >>> fwAD.unpack_dual(x * x).tangent
        tensor(6.)
        >>> fwAD.exit_dual_level(level=level)
    """
    level = _C._enter_dual_level()
    _entered.levels = [*getattr(_entered, "levels", ()), level]
    return level


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the innermost level; every tangent on it is dropped.

    Args:
        level: What ``enter_dual_level`` returned, to make sure that it is the innermost.

    Raises:
        RuntimeError: If no level is entered, or ``level`` is not the innermost.

    Example:
        >>> import ebb.autograd.forward_ad as fwAD
        >>> level = fwAD.enter_dual_level()
        >>> fwAD.exit_dual_level(level=level)
    """
    _C._exit_dual_level(level)
    _entered.levels = _entered.levels[:-1]


class dual_level:  # noqa: N801
    """Context manager that enters a level of forward mode and leaves it. Levels nest.

    Example:
        >>> import ebb.autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(ebb.tensor(3.0), ebb.tensor(1.0))
        ...     fwAD.unpack_dual(x * x).tangent.item()
        6.0
    """

    def __init__(self) -> None:
        self._levels: list[int] = []

    def __enter__(self) -> int:
        self._levels.append(enter_dual_level())
        return self._levels[-1]

    def __exit__(self, *exception: object) -> None:
        exit_dual_level(level=self._levels.pop())


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a view of ``tensor`` that carries ``tangent``: a direction to differentiate along.

    The tangent is used as it is, not copied; it may require a gradient, and may itself carry
    tangents on outer levels.

    Args:
        tensor: Floating or complex. Its own history is kept.
        tangent: Of the same shape.
        level: The level; the innermost if not given.

    Raises:
        RuntimeError: Without a level, or if one of the tensors carries a tangent on it already.
        NotImplementedError: Within ``vmap``, of a sample.
        TypeError: If one of them is neither floating nor complex.
        ValueError: If the shapes differ.

    Example:
        >>> import ebb.autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(ebb.tensor([3.0, 1.0]), ebb.tensor([1.0, 0.0]))
        ...     fwAD.unpack_dual(x.exp().sum()).tangent
        tensor(20.0855)
    """
    refuse_samples("make_dual", "jvp", tensor, tangent)
    return _C._make_dual(tensor, tangent, level)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the value of ``tensor`` without its tangent on a level, and the tangent.

    The value is a view that keeps its history and its tangents on outer levels. The tangent is
    None where it is zero because nothing that carries one was used.

    Args:
        tensor: Any tensor.
        level: The level; the innermost if not given.

    Example:
        >>> import ebb.autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     fwAD.unpack_dual(ebb.tensor(3.0))
        UnpackedDualTensor(primal=tensor(3.), tangent=None)
    """
    refuse_samples("unpack_dual", "jvp", tensor)
    return UnpackedDualTensor(*_C._unpack_dual(tensor, level))
