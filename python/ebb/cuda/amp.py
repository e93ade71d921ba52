# python/ebb/cuda/amp.py -- ebb.amp for NVIDIA's GPUs, under the names of torch.cuda.amp.
"""Mixed precision on NVIDIA's GPUs: ``ebb.amp`` with ``device_type="cuda"``."""

from __future__ import annotations

import functools
from typing import Any

from ebb import _C, amp

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):  # noqa: N801 -- used like a function
    """``ebb.autocast("cuda")``, which see."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: _C.dtype | None = None,
        cache_enabled: bool | None = None,
        **lists: Any,
    ) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled, **lists)


class GradScaler(amp.GradScaler):
    """``ebb.amp.GradScaler("cuda")``, which see."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__("cuda", *args, **options)


custom_fwd = functools.partial(amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(amp.custom_bwd, device_type="cuda")
