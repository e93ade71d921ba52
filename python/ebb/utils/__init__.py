# python/ebb/utils/__init__.py -- checkpointing, gradient flow, other names of what is elsewhere.
"""``ebb.utils.checkpoint``; ``ebb.utils.GradientFlow``; ``ebb.utils.data`` is ``ebb.data``."""

import sys as _sys

from ebb import data
from ebb.utils import checkpoint
from ebb.utils.gradient_flow import GradientFlow

# So that `from ebb.utils.data import DataLoader` works too.
_sys.modules["ebb.utils.data"] = data
__all__ = ["GradientFlow", "checkpoint", "data"]
