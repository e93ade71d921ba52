# python/ebb/nn/functional/basic.py -- linear maps of ebb.nn.functional.
"""Ops of the table."""

from ebb._C import _ops, linear

__all__ = ["bilinear", "linear"]

bilinear = _ops.bilinear
