# python/ebb/nn/functional/norm.py -- the part of nn.functional that normalises.
"""Normalisation of layers, groups, batches and vectors, under PyTorch's names."""

from __future__ import annotations

from ebb import _C
from ebb._C import Tensor, _ops, group_norm, layer_norm, rms_norm, sqrt, where
from ebb._C import sum as _sum

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "normalize", "rms_norm"]

batch_norm = _ops.batch_norm
instance_norm = _ops.instance_norm


def widened(input: Tensor) -> Tensor:
    """Return half types in float32: they know neither squares of large numbers nor a small eps."""
    return input.to(_C.float32) if input.dtype in (_C.float16, _C.bfloat16) else input


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Return ``input`` divided by its p-norm along ``dim``, or by ``eps`` if that is larger.

    Example:
        >>> ebb.nn.functional.normalize(ebb.tensor([[3.0, 4.0]])).tolist()
        [[0.6000000238418579, 0.800000011920929]]
    """
    wide = widened(input)
    if p == 2.0:
        size = sqrt(_sum(wide * wide, dim, True))
    else:
        size = wide.norm(p, dim, True)
    return (wide / where(size > eps, size, eps)).to(input.dtype)
