# python/ebb/nn/functional/norm.py -- the part of nn.functional that normalises.
"""Normalisation of layers, groups, batches and vectors, under PyTorch's names."""

from ebb._C import Tensor, _ops, group_norm, layer_norm, rms_norm

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


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Return the input divided by its p-norm along ``dim``, or by ``eps`` if that is larger.

    Args:
        out: A tensor of the result's shape and dtype to write to.

    Example:
        >>> ebb.nn.functional.normalize(ebb.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    if out is None:
        return _ops.normalize(input, p, dim, eps)
    return _ops.normalize(input, p, dim, eps, out=out)
