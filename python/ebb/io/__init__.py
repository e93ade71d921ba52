# python/ebb/io/__init__.py -- tensors in files.
"""``save`` and ``load`` named tensors; they are also ``ebb.save`` and ``ebb.load``."""

from ebb.io.safetensors import load, load_metadata, save

__all__ = ["load", "load_metadata", "save"]
