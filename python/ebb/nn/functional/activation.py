# python/ebb/nn/functional/activation.py -- the activation functions of ebb.nn.functional.
"""Ops of the table; those with PyTorch's ``inplace`` are generated: added_options.py."""

from ebb._C import (
    Tensor,
    gelu,
    glu,
    hardshrink,
    log_softmax,
    logsigmoid,
    prelu,
    sigmoid,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
)

__all__ = [
    "elu_",
    "gelu",
    "glu",
    "hardshrink",
    "hardtanh_",
    "leaky_relu_",
    "log_softmax",
    "logsigmoid",
    "prelu",
    "relu_",
    "sigmoid",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
]

elu_ = Tensor.elu_
hardtanh_ = Tensor.hardtanh_
leaky_relu_ = Tensor.leaky_relu_
relu_ = Tensor.relu_
