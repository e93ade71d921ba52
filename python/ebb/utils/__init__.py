# python/ebb/utils/__init__.py -- ebb.utils: checkpoints, gradient flow, and names found elsewhere.
"""``ebb.utils.checkpoint``; ``ebb.utils.GradientFlow``; ``ebb.utils.data`` is ``ebb.data``.

``cpp_extension``, ``dlpack``, ``einops``, ``scipy`` and ``tensorboard`` are imported when they are
first used.
"""

import importlib as _importlib
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING

from ebb import data
from ebb.utils import checkpoint, hooks
from ebb.utils.gradient_flow import GradientFlow

if _TYPE_CHECKING:
    from ebb.utils import benchmark, cpp_extension, dlpack, einops, scipy, tensorboard

# So that `from ebb.utils.data import DataLoader` works too; its files: _imports.py.
_sys.modules["ebb.utils.data"] = data
__all__ = [
    "GradientFlow",
    "benchmark",
    "checkpoint",
    "cpp_extension",
    "data",
    "dlpack",
    "einops",
    "hooks",
    "scipy",
    "tensorboard",
]


def __getattr__(name: str) -> object:
    if name in ("benchmark", "cpp_extension", "dlpack", "einops", "scipy", "tensorboard"):
        return _importlib.import_module(f"ebb.utils.{name}")
    raise AttributeError(f"module 'ebb.utils' has no attribute {name!r}")
