# python/ebb/utils/__init__.py -- checkpointing, and other names of what is elsewhere.
"""``ebb.utils.checkpoint``; ``ebb.utils.data`` is ``ebb.data``."""

import sys as _sys

from ebb import data
from ebb.utils import checkpoint

# So that `from ebb.utils.data import DataLoader` works too.
_sys.modules["ebb.utils.data"] = data
__all__ = ["checkpoint", "data"]
