# python/ebb/nn/init.py -- fills tensors with starting values, under PyTorch's names.
"""All write in place, unrecorded, and return their argument; they are those of ebb/nn/init.h.

Random ones draw from the default generator, so one seed gives one network in C++ and in Python.
"""

from __future__ import annotations

import operator

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


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return what a nonlinearity multiplies the deviation with to keep the variance.

    Args:
        nonlinearity: "linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu" or "selu".
        param: The slope of the leaky ReLU, 0.01 if None.
    """
    return _C._init_gain(nonlinearity, 0.01 if param is None else param)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fill with numbers drawn uniformly from [a, b)."""
    return _C._init("uniform_", tensor, a, b)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Fill with numbers drawn from a normal distribution."""
    return _C._init("normal_", tensor, mean, std)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> Tensor:
    """Fill with numbers drawn from a normal distribution, but only such in [a, b]."""
    return _C._init("trunc_normal_", tensor, mean, std, a, b)


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
    return _C._init("eye_", tensor)


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that as many channels as possible pass unchanged.

    Args:
        tensor: A weight of 3 to 5 dims.
        groups: Groups of the convolution; each passes its own channels.
    """
    return _C._init("dirac_", tensor, operator.index(groups))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill with numbers drawn uniformly from +-gain * sqrt(6 / (fan_in + fan_out))."""
    return _C._init("xavier_uniform_", tensor, gain)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill with normal numbers of deviation gain * sqrt(2 / (fan_in + fan_out))."""
    return _C._init("xavier_normal_", tensor, gain)


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
    return _C._init_kaiming("kaiming_uniform_", tensor, a, mode, nonlinearity)


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
    return _C._init_kaiming("kaiming_normal_", tensor, a, mode, nonlinearity)


def orthogonal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill with rows that are orthogonal and of length ``gain``, or columns if rows are more.

    Dims after the first are taken together.
    """
    return _C._init("orthogonal_", tensor, gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01) -> Tensor:
    """Fill with normal numbers, and set a share of each column to zero.

    Args:
        tensor: A matrix.
        sparsity: The share, from 0 to 1.
        std: Deviation of the numbers.
    """
    return _C._init("sparse_", tensor, sparsity, std)
