# python/ebb/_tensor/formats.py -- names of the orders in which dims may lie in memory.
"""channels_last and others, for the argument memory_format of clone(), contiguous() and to()."""

from __future__ import annotations

import functools

from ebb import _C


class memory_format(str):  # noqa: N801
    """The name of an order of dims in memory: a string, shown as the attribute of ebb that it is.

    Example:
        >>> ebb.zeros(1, 2, 3, 4).contiguous(memory_format=ebb.channels_last).stride()
        (24, 1, 8, 2)
    """

    __slots__ = ()

    def __new__(cls, name: str) -> memory_format:
        """Return the format of a name: of those below, no others."""
        if name not in _NAMES:
            raise _C.ValueError(f"memory_format: needs one of {', '.join(_NAMES)}, got {name!r}")
        return super().__new__(cls, name)

    def __repr__(self) -> str:
        return f"ebb.{self!s}"


_NAMES = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
contiguous_format: memory_format = memory_format("contiguous_format")
preserve_format: memory_format = memory_format("preserve_format")
channels_last: memory_format = memory_format("channels_last")
channels_last_3d: memory_format = memory_format("channels_last_3d")


def check_leaf_options(function, layout, pin_memory):
    """Refuse a layout that is not strided, and what is no bool; see pins_if_asked()."""
    if layout is not None and layout != "strided":
        raise _C.ValueError(
            f"{function}(): layout must be ebb.strided, got {layout!r}\n"
            "hint: to_sparse() makes sparse tensors"
        )
    if pin_memory is not None and not isinstance(pin_memory, bool):
        raise _C.DTypeError(
            f"{function}(): argument 'pin_memory' must be bool, got {type(pin_memory).__name__}"
        )


def sizes_given(function, sizes, size):
    """What a function gets that takes sizes one by one, in a sequence, or as ``size``."""
    if size is None:
        return sizes
    if sizes:
        raise _C.DTypeError(f"{function}(): got argument 'size' by place and by name")
    return (size,)


def pins_if_asked(function):
    """Let a function that makes a leaf and knows ``pin_memory`` put it into pinned memory."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        made = function(*args, **kwargs)
        is_asked = kwargs.get("pin_memory") and kwargs.get("out") is None
        return _C._pinned_leaf(made) if is_asked else made

    return call
