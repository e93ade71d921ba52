# python/ebb/amp/__init__.py -- mixed precision: autocast and what goes with it.
"""Compute where it is safe in bfloat16 or float16, and keep weights and gradients in float32.

>>> weight = ebb.ones(4, 4, requires_grad=True)
>>> with ebb.autocast("cpu"):
...     out = ebb.ones(2, 4) @ weight
>>> out.dtype
ebb.bfloat16
>>> out.sum().backward()
>>> weight.grad.dtype
ebb.float32
"""

from ebb._C import is_autocast_cache_enabled
from ebb.amp.autocast import (
    autocast,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
    lists,
)
from ebb.amp.functions import custom_bwd, custom_fwd
from ebb.amp.grad_scaler import GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_enabled",
    "lists",
]
