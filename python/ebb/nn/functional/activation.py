# python/ebb/nn/functional/activation.py -- the activation functions of ebb.nn.functional.
"""Ops of the table, some of them with PyTorch's ``inplace``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebb import _C
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
    "celu",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]

_relu = _C.relu
relu_ = Tensor.relu_


def _apply(function: Callable, input: Tensor, inplace: bool, *args: Any) -> Tensor:
    """Return ``function(input, *args)``, or ``input`` overwritten by it."""
    if not inplace:
        return function(input, *args)
    # What is recorded may save its input, which is about to be overwritten.
    is_recorded = input.requires_grad and _C.is_grad_enabled()
    return input.copy_(function(input.clone() if is_recorded else input, *args))


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return max(x, 0), element by element.

    Args:
        input: Any tensor.
        inplace: Overwrite the input.
    """
    return relu_(input) if inplace else _relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return min(max(x, 0), 6), element by element.

    Args:
        input: Any tensor.
        inplace: Overwrite the input.
    """
    return _apply(_C.relu6, input, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return x where it is positive, else ``negative_slope * x``.

    Args:
        input: Any tensor.
        negative_slope: The slope below zero.
        inplace: Overwrite the input.
    """
    return _apply(_C.leaky_relu, input, inplace, negative_slope)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """Overwrite the input by its ``leaky_relu``."""
    return leaky_relu(input, negative_slope, inplace=True)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return x where it is positive, else ``alpha * (exp(x) - 1)``.

    Args:
        input: Any tensor.
        alpha: Where it tends to for large negative x, negated.
        inplace: Overwrite the input.
    """
    return _apply(_C.elu, input, inplace, alpha)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Overwrite the input by its ``elu``."""
    return elu(input, alpha, inplace=True)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return the scaled ELU whose constants keep mean 0 and variance 1.

    Args:
        input: Any tensor.
        inplace: Overwrite the input.
    """
    return _apply(_C.selu, input, inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return x where it is positive, else ``alpha * (exp(x / alpha) - 1)``.

    Args:
        input: Any tensor.
        alpha: Not 0.
        inplace: Overwrite the input.
    """
    return _apply(_C.celu, input, inplace, alpha)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Return x, bounded by ``min_val`` and ``max_val``.

    Args:
        input: Any tensor.
        min_val: The least result.
        max_val: The largest result.
        inplace: Overwrite the input.
    """
    return _apply(_C.hardtanh, input, inplace, min_val, max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Overwrite the input by its ``hardtanh``."""
    return hardtanh(input, min_val, max_val, inplace=True)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``x * sigmoid(x)``, element by element.

    Args:
        input: Any tensor.
        inplace: Overwrite the input.
    """
    return _apply(_C.silu, input, inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``x * tanh(softplus(x))``, element by element.

    Args:
        input: Any tensor.
        inplace: Overwrite the input.
    """
    return _apply(_C.mish, input, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``relu6(x + 3) / 6``, element by element.

    Args:
        input: Any tensor.
        inplace: Overwrite the input.
    """
    return _apply(_C.hardsigmoid, input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``x * relu6(x + 3) / 6``, element by element.

    Args:
        input: Any tensor.
        inplace: Overwrite the input.
    """
    return _apply(_C.hardswish, input, inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return x where it is above ``threshold``, else ``value``. NaN stays NaN.

    Args:
        input: Any tensor.
        threshold: The bound.
        value: What stands for x at and below it.
        inplace: Overwrite the input.
    """
    return _apply(_C.threshold, input, inplace, threshold, value)
