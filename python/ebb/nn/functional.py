# python/ebb/nn/functional.py -- functions on tensors: layers without state, and losses.
"""The ops that networks use, under PyTorch's names; most are the very functions of ``ebb``."""

from __future__ import annotations

from ebb._C import (
    Tensor,
    add,
    cross_entropy,
    linear,
    log_softmax,
    mean,
    nll_loss,
    softmax,
    sub,
    tanh,
)
from ebb._C import ValueError as _ValueError
from ebb._C import relu as _relu
from ebb._C import sum as _sum
from ebb.nn._indexed import embedding, one_hot, pad
from ebb.nn.functional_conv import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    avg_pool1d,
    avg_pool2d,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "add",
    "avg_pool1d",
    "avg_pool2d",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy",
    "embedding",
    "linear",
    "log_softmax",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pad",
    "relu",
    "relu_",
    "softmax",
    "tanh",
]

relu_ = Tensor.relu_


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return max(x, 0), element by element.

    Args:
        inplace: Overwrite the input.
    """
    return relu_(input) if inplace else _relu(input)


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the squared difference: its mean, its sum, or with "none" each one."""
    difference = sub(input, target)
    squares = difference * difference
    if reduction == "none":
        return squares
    if reduction == "sum":
        return _sum(squares)
    if reduction != "mean":
        raise _ValueError(f"mse_loss: needs reduction none, mean or sum, got {reduction!r}")
    return mean(squares)
