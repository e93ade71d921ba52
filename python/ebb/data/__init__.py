# python/ebb/data/__init__.py -- data sets and batches.
"""``digits`` loads the handwritten digits; ``batches`` iterates over tensors in shuffled pieces."""

from ebb.data import digits
from ebb.data.batches import batches

__all__ = ["batches", "digits"]
