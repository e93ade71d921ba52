# python/ebb/nn/init.py -- fills tensors with starting values, under PyTorch's names.
"""All write in place, unrecorded, and return their argument.

Random ones draw from the default generator, in the same way as their C++ twins, so one seed gives
one network in both languages.
"""

from __future__ import annotations

import math

from ebb import _C
from ebb._C import Tensor

__all__ = ["constant_", "kaiming_uniform_", "normal_", "ones_", "uniform_", "zeros_"]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fill with numbers drawn uniformly from [a, b)."""
    with _C.no_grad():
        drawn = _C.rand(tuple(tensor.shape), dtype=tensor.dtype)
        return tensor.copy_(drawn * (b - a) + a)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Fill with numbers drawn from a normal distribution."""
    with _C.no_grad():
        drawn = _C.randn(tuple(tensor.shape), dtype=tensor.dtype)
        return tensor.copy_(drawn * std + mean)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number."""
    with _C.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return constant_(tensor, 0)


def fan_in_of(tensor: Tensor) -> int:
    """Return how many inputs feed one output: all sizes but the first, multiplied."""
    if tensor.ndim < 2:
        raise _C.ShapeError(
            f"kaiming_uniform_: needs a tensor of at least 2 dims, got shape {list(tensor.shape)}"
        )
    return math.prod(tensor.shape[1:])


def kaiming_uniform_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Fill with numbers drawn uniformly from +-b, where b = gain * sqrt(3 / fan).

    Args:
        a: Slope of the leaky ReLU that follows.
        mode: "fan_in" keeps the variance in the forward pass, "fan_out" in the backward pass.
        nonlinearity: "leaky_relu", "relu" or "linear".
    """
    squared_gains = {"leaky_relu": 2.0 / (1.0 + a * a), "relu": 2.0, "linear": 1.0}
    if nonlinearity not in squared_gains or mode not in ("fan_in", "fan_out"):
        raise _C.ValueError(
            "kaiming_uniform_: needs nonlinearity leaky_relu, relu or linear and mode fan_in or "
            f"fan_out, got {nonlinearity!r} and {mode!r}"
        )
    fan = fan_in_of(tensor)
    if mode == "fan_out":
        fan = fan // max(tensor.shape[1], 1) * tensor.shape[0]
    if tensor.numel() == 0:
        return tensor
    bound = math.sqrt(3.0 * squared_gains[nonlinearity] / fan)
    return uniform_(tensor, -bound, bound)
