# python/ebb/cpu/amp.py -- ebb.amp for the processor, under the names of torch.cpu.amp.
"""Mixed precision on the processor: ``ebb.amp`` with ``device_type="cpu"``."""

from __future__ import annotations

from typing import Any

from ebb import _C, amp

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):  # noqa: N801 -- used like a function
    """``ebb.autocast("cpu")``, which see.

    Example:
        >>> x = ebb.ones(2, 2)
        >>> with ebb.cpu.amp.autocast():
        ...     (x @ x).dtype
        ebb.bfloat16
    """

    def __init__(
        self,
        enabled: bool = True,
        dtype: _C.dtype | None = None,
        cache_enabled: bool | None = None,
        **lists: Any,
    ) -> None:
        super().__init__("cpu", dtype, enabled, cache_enabled, **lists)


class GradScaler(amp.GradScaler):
    """``ebb.amp.GradScaler("cpu")``, which see.

    Example:
        >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = ebb.optim.SGD([x], lr=0.5)
        >>> scaler = ebb.cpu.amp.GradScaler()
        >>> scaler.scale(x.sum()).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> x.detach()
        tensor([0.5000, 1.5000])
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__("cpu", *args, **options)
