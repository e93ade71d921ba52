# python/ebb/utils/hooks.py -- the handle of hooks, where PyTorch has it.
"""``RemovableHandle``: what registering a hook of modules or of optimizers returns."""

from ebb._base.handles import RemovableHandle

__all__ = ["RemovableHandle"]
