# python/ebb/amp/autocast.py -- the block in which ops choose their precision.
#
# Which op computes in what is a key of its row in the op table; the C++ side of a block is
# ebb/autograd/history/casts/autocast.h.
"""Blocks of mixed precision."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ebb import _C
from ebb.amp.state import is_autocast_available

_LEVELS = {"O0": 0, "O1": 1, "O2": 2, "O3": 3}


class autocast:  # noqa: N801 -- used like a function
    """Let ops compute in a narrower dtype where that is safe; a context manager and a decorator.

    Inside, ops of the list *lower* (matrix products, convolutions, attention) cast their operands
    to ``dtype``; those of *float32* (exponentials, sums, norms, losses) cast narrow ones back;
    all others compute in the dtype of their operands, the widest of several. Casts are recorded,
    so gradients arrive in each leaf's own dtype. Only float16, bfloat16 and float32 are ever cast;
    ops in place and with ``out=`` are not. ``backward()`` computes in the dtypes of forward, and
    belongs outside.

    Args:
        device_type: Where operands must be: ``"cpu"``, ``"cuda"`` or a plug-in's name.
        dtype: bfloat16 or float16; float32 switches it off, with a warning. Default:
            ``get_autocast_dtype(device_type)``.
        enabled: With False, a block that switches off one around it.
        cache_enabled: Keep casts of leaves that require a gradient for the length of the outermost
            block, until they are written to.
        level: ``"O1"`` by lists, ``"O2"`` all ops but those that need float32, ``"O3"`` all ops,
            ``"O0"`` none.
        custom_white_list: Names of ops that are to compute in ``dtype`` too.
        custom_black_list: Names of ops that are to compute in float32.

    Raises:
        ValueError: For an unknown level or op.
        DTypeError: For another dtype.

    Example:
        >>> with ebb.autocast("cpu", dtype=ebb.float16):
        ...     (ebb.ones(2, 2) @ ebb.ones(2, 2)).dtype
        ebb.float16
    """

    def __init__(
        self,
        device_type: str | _C.device,
        dtype: _C.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
        *,
        level: str = "O1",
        custom_white_list: Iterable[str] | None = None,
        custom_black_list: Iterable[str] | None = None,
    ) -> None:
        if level not in _LEVELS:
            raise _C.ValueError(f"autocast: 'level' needs O0, O1, O2 or O3, got {level!r}")
        if not isinstance(enabled, bool):
            raise _C.DTypeError(f"autocast: 'enabled' needs a bool, got {type(enabled).__name__}")
        self.device: _C.device = _C.device(device_type)
        if self.device.type != "cpu" and not is_autocast_available(self.device):
            if enabled:
                warnings.warn(
                    f"autocast: no device {self.device.type!r} here, so nothing is cast",
                    stacklevel=2 if type(self) is autocast else 3,
                )
            enabled = False
        if dtype is not None and not isinstance(dtype, _C.dtype):
            raise _C.DTypeError(f"autocast: 'dtype' needs a dtype, got {type(dtype).__name__}")
        if enabled and dtype is _C.float32 and level != "O0":
            warnings.warn(
                "autocast: float32 is what ops compute in without it, so nothing is cast",
                stacklevel=2 if type(self) is autocast else 3,
            )
            enabled = False
        self.fast_dtype: _C.dtype = _C._autocast_dtype(self.device) if dtype is None else dtype
        self.enabled: bool = enabled
        self.level: str = level
        self.cache_enabled = cache_enabled
        self.lists: tuple[tuple[str, ...], tuple[str, ...]] = (
            _names("custom_white_list", custom_white_list),
            _names("custom_black_list", custom_black_list),
        )

    def __enter__(self) -> autocast:
        # A block that is switched off may name any dtype, such as that of a configuration.
        dtype = self.fast_dtype if self.enabled else _C._autocast_dtype(self.device)
        level = _LEVELS[self.level]
        _C._enter_autocast(
            self, self.device, dtype, self.enabled, self.cache_enabled, level, *self.lists
        )
        return self

    def __exit__(self, *_: object) -> None:
        _C._leave_autocast(self)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``func`` so that it runs in such a block."""
        from ebb.autograd import _decorate  # loaded when a function is first decorated

        return _decorate.run_in_mode(lambda _: self, None, func, type(self))


def _names(argument: str, names: Iterable[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    is_list = isinstance(names, Iterable) and not isinstance(names, str)
    found = tuple(names) if is_list else (None,)
    if not all(isinstance(name, str) for name in found):
        raise _C.DTypeError(f"autocast: {argument!r} needs names of ops, got {names!r}")
    return found


def lists() -> dict[str, list[str]]:
    """Return the ops of each list, by name: ``lower``, ``float32`` and ``widest``.

    Example:
        >>> ebb.amp.lists()["lower"]
        ['attention', 'convolution', 'linear', 'matmul']
    """
    found: dict[str, list[str]] = {}
    for op, name in _C._autocast_rows():
        found.setdefault(name, []).append(op)
    return found
