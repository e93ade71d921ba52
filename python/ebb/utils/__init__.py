# python/ebb/utils/__init__.py -- other names of what is elsewhere, where PyTorch has it.
"""``ebb.utils.data`` is ``ebb.data``."""

import sys as _sys

from ebb import data

# So that `from ebb.utils.data import DataLoader` works too.
_sys.modules["ebb.utils.data"] = data
__all__ = ["data"]
