# python/ebb/ops.py -- every op as a function, in one flat namespace.
"""The same functions as in ``ebb``: ``ebb.ops.matmul is ebb.matmul``."""

from ebb import _C

__all__ = [name for name in vars(_C._ops) if not name.startswith("_") and name in vars(_C)]
globals().update((name, getattr(_C, name)) for name in __all__)
