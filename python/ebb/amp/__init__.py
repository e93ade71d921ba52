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

from ebb._C import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    is_autocast_cache_enabled,
    set_autocast_cache_enabled,
)
from ebb.amp.autocast import autocast, lists
from ebb.amp.decorate import convert, decorate
from ebb.amp.functions import custom_bwd, custom_fwd
from ebb.amp.grad_scaler import GradScaler
from ebb.amp.state import (
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_available,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
    set_autocast_cpu_dtype,
    set_autocast_cpu_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
    set_autocast_gpu_dtype,
)

__all__ = [
    "GradScaler",
    "autocast",
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "convert",
    "custom_bwd",
    "custom_fwd",
    "decorate",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "lists",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
]
