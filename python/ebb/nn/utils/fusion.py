# python/ebb/nn/utils/fusion.py -- a batch norm in evaluation folded into the layer before it.
"""Fusion of layers, under PyTorch's names."""

from __future__ import annotations

import copy
from typing import Any

from ebb import _C
from ebb._base import naming as _naming
from ebb._C import Tensor
from ebb.nn.parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a convolution that normalises its output as it is.

    Args:
        conv_w, conv_b: Of the convolution.
        bn_rm, bn_rv, bn_eps, bn_w, bn_b: Mean, variance, epsilon, weight and bias of the norm.
        transpose: The convolution is a transposed one: its outputs are dim 1 of the weight.

    Example:
        >>> zeros, ones = ebb.zeros(2), ebb.ones(2)
        >>> norm = (zeros, ones, 0.0, ones, zeros)
        >>> weight, _ = ebb.nn.utils.fuse_conv_bn_weights(ebb.ones(2, 1, 3), None, *norm)
        >>> weight.shape
        ebb.Size([2, 1, 3])
    """
    with _C.no_grad():
        scale = _C.rsqrt(bn_rv + bn_eps)
        if bn_w is not None:
            scale = scale * bn_w
        shape = [1] * conv_w.ndim
        shape[1 if transpose else 0] = -1
        weight = conv_w * scale.reshape(shape).to(conv_w.dtype)
        shift = -bn_rm if conv_b is None else conv_b - bn_rm
        bias = shift * scale if bn_b is None else shift * scale + bn_b
    return (
        Parameter(weight, conv_w.requires_grad),
        Parameter(bias.to(conv_w.dtype), conv_w.requires_grad),
    )


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a linear layer that normalises its output as it is.

    Example:
        >>> zeros, ones = ebb.zeros(2), ebb.ones(2)
        >>> norm = (zeros, ones, 0.0, ones, zeros)
        >>> weight, _ = ebb.nn.utils.fuse_linear_bn_weights(ebb.ones(2, 3), None, *norm)
        >>> weight.shape
        ebb.Size([2, 3])
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def _fused(name: str, layer: Any, bn: Any, transpose: bool) -> Any:
    if layer.training or bn.training:
        raise _C.ValueError(f"{name}: needs both modules in evaluation, got one in training\n"
                            "hint: call eval()")  # fmt: skip
    if bn.running_mean is None or bn.running_var is None:
        raise _C.ValueError(f"{name}: needs a batch norm with running statistics, got one without")
    twin = copy.deepcopy(layer)
    twin.weight, twin.bias = fuse_conv_bn_weights(
        twin.weight, twin.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
        transpose,
    )  # fmt: skip
    return twin


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a copy of a convolution that does what ``bn`` after it does; both in evaluation.

    Example:
        >>> conv, norm = ebb.nn.Conv2d(1, 2, 3).eval(), ebb.nn.BatchNorm2d(2).eval()
        >>> ebb.nn.utils.fuse_conv_bn_eval(conv, norm)
        Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))
    """
    return _fused("fuse_conv_bn_eval", conv, bn, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a copy of a linear layer that does what ``bn`` after it does; both in evaluation.

    Example:
        >>> linear, norm = ebb.nn.Linear(3, 2).eval(), ebb.nn.BatchNorm1d(2).eval()
        >>> ebb.nn.utils.fuse_linear_bn_eval(linear, norm)
        Linear(in_features=3, out_features=2, bias=True)
    """
    return _fused("fuse_linear_bn_eval", linear, bn, False)


_naming.name_module(__name__)
