# python/ebb/nn/functional/norm.py -- the part of nn.functional that normalises.
"""Normalisation of layers, groups, batches and vectors, under PyTorch's names."""

from ebb._C import _ops, group_norm, layer_norm, rms_norm

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]

batch_norm = _ops.batch_norm
instance_norm = _ops.instance_norm
local_response_norm = _ops.local_response_norm
normalize = _ops.normalize
