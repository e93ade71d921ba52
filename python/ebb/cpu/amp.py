# python/ebb/cpu/amp.py -- ebb.amp for the processor, under the names of torch.cpu.amp.
"""Mixed precision on the processor: ``ebb.amp`` with ``device_type="cpu"``."""

from __future__ import annotations

from ebb.amp import devices

__all__ = ["GradScaler", "autocast"]


class autocast(devices.autocast):  # noqa: N801 -- used like a function
    """``ebb.autocast("cpu")``, which see.

    Example:
        >>> x = ebb.ones(2, 2)
        >>> with ebb.cpu.amp.autocast():
        ...     (x @ x).dtype
        ebb.bfloat16
    """

    of_type = "cpu"


class GradScaler(devices.GradScaler):
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

    of_type = "cpu"
