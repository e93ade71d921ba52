# python/ebb/amp/devices.py -- mixed precision on the devices of one type.
"""What ``ebb.cpu.amp`` and ``ebb.cuda.amp`` name after their type of device."""

from __future__ import annotations

from typing import Any, ClassVar

from ebb import _C, amp
from ebb._base import naming as _naming


class autocast(amp.autocast):  # noqa: N801 -- used like a function
    """``ebb.autocast`` without its first argument."""

    of_type: ClassVar[str]

    def __init__(
        self,
        enabled: bool = True,
        dtype: _C.dtype | None = None,
        cache_enabled: bool | None = None,
        **lists: Any,
    ) -> None:
        super().__init__(self.of_type, dtype, enabled, cache_enabled, **lists)


class GradScaler(amp.GradScaler):
    """``ebb.amp.GradScaler`` without its first argument."""

    of_type: ClassVar[str]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(self.of_type, *args, **options)


_naming.name_module(__name__)
