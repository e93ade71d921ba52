# python/ebb/io/__init__.py -- tensors in files.
"""``save`` and ``load``, which are also ``ebb.save`` and ``ebb.load``, and what is behind them."""

from ebb.io.files import load, load_metadata, save
from ebb.io.npz import load_npz, save_npz
from ebb.io.safetensors import safe_open

__all__ = ["load", "load_metadata", "load_npz", "safe_open", "save", "save_npz"]
