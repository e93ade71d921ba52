# python/ebb/nn/init.py -- fills tensors with starting values, under PyTorch's names.
"""All write in place, unrecorded, and return their argument.

Random ones draw from the default generator, in the same way as their C++ twins (ebb/nn/init.h), so
one seed gives one network in both languages.
"""

from __future__ import annotations

import math

from ebb import _C
from ebb._C import Tensor

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_GAINS = {
    "linear": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 0.75,
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), 1.0),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), 1.0),
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return what a nonlinearity multiplies the deviation with to keep the variance.

    Args:
        nonlinearity: "linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu" or "selu".
        param: The slope of the leaky ReLU, 0.01 if None.
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1.0 + slope * slope))
    if nonlinearity not in _GAINS:
        raise _C.ValueError(
            "calculate_gain: needs nonlinearity linear, conv1d to conv3d, conv_transpose1d to "
            f"conv_transpose3d, sigmoid, tanh, relu, leaky_relu or selu, got {nonlinearity!r}"
        )
    return _GAINS[nonlinearity]


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


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> Tensor:
    """Fill with numbers drawn from a normal distribution, but only such in [a, b]."""
    return _C._init_trunc_normal(tensor, mean, std, a, b)


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


def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix, cut or filled up with zeros."""
    if tensor.ndim != 2:
        raise _C.ShapeError(f"eye_: needs a tensor of 2 dims, got shape {list(tensor.shape)}")
    with _C.no_grad():
        tensor.zero_()
        for i in range(min(tensor.shape)):
            tensor[i, i] = 1
        return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that as many channels as possible pass unchanged.

    Args:
        tensor: A weight of 3 to 5 dims.
        groups: Groups of the convolution; each passes its own channels.
    """
    if tensor.ndim not in (3, 4, 5):
        raise _C.ShapeError(
            f"dirac_: needs a tensor of 3 to 5 dims, got shape {list(tensor.shape)}"
        )
    if groups < 1 or tensor.shape[0] % groups != 0:
        raise _C.ValueError(
            f"dirac_: needs groups that divide the first size {tensor.shape[0]}, got {groups}"
        )
    per_group = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    with _C.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.shape[1])):
                tensor[(group * per_group + channel, channel, *centre)] = 1
        return tensor


def _fans(op: str, tensor: Tensor) -> tuple[int, int]:
    """Return how many inputs feed one output, and how many outputs one input feeds."""
    if tensor.ndim < 2:
        raise _C.ShapeError(
            f"{op}: needs a tensor of at least 2 dims, got shape {list(tensor.shape)}"
        )
    positions = math.prod(tensor.shape[2:])
    return tensor.shape[1] * positions, tensor.shape[0] * positions


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill with numbers drawn uniformly from +-gain * sqrt(6 / (fan_in + fan_out))."""
    fans = sum(_fans("xavier_uniform_", tensor))
    if tensor.numel() == 0:
        return tensor
    bound = gain * math.sqrt(6.0 / fans)
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill with normal numbers of deviation gain * sqrt(2 / (fan_in + fan_out))."""
    fans = sum(_fans("xavier_normal_", tensor))
    if tensor.numel() == 0:
        return tensor
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / fans))


def _kaiming(op: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """Return gain / sqrt(fan), or 0 for an empty tensor."""
    known = nonlinearity == "leaky_relu" or nonlinearity in _GAINS
    if not known or mode not in ("fan_in", "fan_out"):
        raise _C.ValueError(
            f"{op}: needs nonlinearity leaky_relu, relu, selu, tanh, sigmoid or linear and mode "
            f"fan_in or fan_out, got {nonlinearity!r} and {mode!r}"
        )
    fan_in, fan_out = _fans(op, tensor)
    if tensor.numel() == 0:
        return 0.0
    fan = fan_in if mode == "fan_in" else fan_out
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Fill with numbers drawn uniformly from +-b, where b = gain * sqrt(3 / fan).

    Args:
        tensor: A weight.
        a: Slope of the leaky ReLU that follows.
        mode: "fan_in" keeps the variance in the forward pass, "fan_out" in the backward pass.
        nonlinearity: What follows; see ``calculate_gain``.
    """
    deviation = _kaiming("kaiming_uniform_", tensor, a, mode, nonlinearity)
    if tensor.numel() == 0:
        return tensor
    bound = math.sqrt(3.0) * deviation
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Fill with normal numbers of deviation gain / sqrt(fan).

    Args:
        tensor: A weight.
        a: Slope of the leaky ReLU that follows.
        mode: "fan_in" keeps the variance in the forward pass, "fan_out" in the backward pass.
        nonlinearity: What follows; see ``calculate_gain``.
    """
    deviation = _kaiming("kaiming_normal_", tensor, a, mode, nonlinearity)
    if tensor.numel() == 0:
        return tensor
    return normal_(tensor, 0.0, deviation)


def orthogonal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill with rows that are orthogonal and of length ``gain``, or columns if rows are more.

    Dims after the first are taken together.
    """
    return _C._init_orthogonal(tensor, gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01) -> Tensor:
    """Fill with normal numbers, and set a share of each column to zero.

    Args:
        tensor: A matrix.
        sparsity: The share, from 0 to 1.
        std: Deviation of the numbers.
    """
    if tensor.ndim != 2:
        raise _C.ShapeError(f"sparse_: needs a tensor of 2 dims, got shape {list(tensor.shape)}")
    if not 0 <= sparsity <= 1:
        raise _C.ValueError(f"sparse_: needs 0 <= sparsity <= 1, got {sparsity}")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    normal_(tensor, 0.0, std)
    order = _C.rand((rows, columns), dtype=_C.float64).numpy().argsort(axis=0)
    with _C.no_grad():
        for column in range(columns):
            for row in order[:zeros, column].tolist():
                tensor[row, column] = 0
        return tensor
