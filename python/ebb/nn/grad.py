# python/ebb/nn/grad.py -- gradients of convolutions, as functions of their own.
"""``conv1d_input``, ``conv1d_weight``, and those of two and three dims; differentiable again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ebb import _C, autograd
from ebb._C import Tensor
from ebb.nn import functional

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]


def _gradient(dims: int, of: str) -> Callable[..., Tensor]:
    convolution = getattr(functional, f"conv{dims}d")
    name = f"conv{dims}d_{of}"

    def gradient(first: Any, second: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1) -> Tensor:  # fmt: skip
        size, other = (first, second) if of == "input" else (second, first)
        options = (None, stride, padding, dilation, groups)
        with _C.enable_grad():
            # Its values do not matter: a convolution is linear in both.
            wanted = _C.zeros(size, dtype=other.dtype, device=other.device, requires_grad=True)
            pair = (wanted, other) if of == "input" else (other, wanted)
            out = convolution(*pair, *options)
        if out.shape != grad_output.shape:
            raise _C.ShapeError(
                f"{name}: needs grad_output of {list(out.shape)}, got {list(grad_output.shape)}"
            )
        is_recorded = _C.is_grad_enabled() and (other.requires_grad or grad_output.requires_grad)
        (made,) = autograd.grad(out, wanted, grad_output, create_graph=is_recorded)
        return made

    return gradient


_input = tuple(_gradient(dims, "input") for dims in (1, 2, 3))
_weight = tuple(_gradient(dims, "weight") for dims in (1, 2, 3))
Ints = int | Sequence[int]


def conv1d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Ints = 1,
    padding: Ints = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Return the gradient of ``conv1d`` in its input, of ``input_size``.

    Example:
        >>> ebb.nn.grad.conv1d_input([1, 1, 3], ebb.ones(1, 1, 2), ebb.ones(1, 1, 2))
        tensor([[[1., 2., 1.]]])
    """
    return _input[0](input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Ints = 1,
    padding: Ints = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Return the gradient of ``conv2d`` in its input, of ``input_size``.

    Example:
        >>> ebb.nn.grad.conv2d_input([1, 1, 1, 3], ebb.ones(1, 1, 1, 2), ebb.ones(1, 1, 1, 2))
        tensor([[[[1., 2., 1.]]]])
    """
    return _input[1](input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Ints = 1,
    padding: Ints = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Return the gradient of ``conv3d`` in its input, of ``input_size``.

    Example:
        >>> grad = ebb.ones(1, 1, 1, 1, 2)
        >>> ebb.nn.grad.conv3d_input([1, 1, 1, 1, 3], ebb.ones(1, 1, 1, 1, 2), grad)
        tensor([[[[[1., 2., 1.]]]]])
    """
    return _input[2](input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Ints = 1,
    padding: Ints = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Return the gradient of ``conv1d`` in its weight, of ``weight_size``.

    Example:
        >>> x = ebb.tensor([[[1.0, 2.0, 3.0]]])
        >>> ebb.nn.grad.conv1d_weight(x, [1, 1, 2], ebb.ones(1, 1, 2))
        tensor([[[3., 5.]]])
    """
    return _weight[0](input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Ints = 1,
    padding: Ints = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Return the gradient of ``conv2d`` in its weight, of ``weight_size``.

    Example:
        >>> x = ebb.tensor([[[[1.0, 2.0, 3.0]]]])
        >>> ebb.nn.grad.conv2d_weight(x, [1, 1, 1, 2], ebb.ones(1, 1, 1, 2))
        tensor([[[[3., 5.]]]])
    """
    return _weight[1](input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Ints = 1,
    padding: Ints = 0, dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Return the gradient of ``conv3d`` in its weight, of ``weight_size``.

    Example:
        >>> x = ebb.tensor([[[[[1.0, 2.0, 3.0]]]]])
        >>> ebb.nn.grad.conv3d_weight(x, [1, 1, 1, 1, 2], ebb.ones(1, 1, 1, 1, 2))
        tensor([[[[[3., 5.]]]]])
    """
    return _weight[2](input, weight_size, grad_output, stride, padding, dilation, groups)
