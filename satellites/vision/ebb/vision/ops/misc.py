# satellites/vision/ebb/vision/ops/misc.py -- layers that networks for images share.
#
# Parts have torchvision's names, so that its files of parameters fit.
"""``FrozenBatchNorm2d``, ``Conv2dNormActivation``, ``SqueezeExcitation``, ``StochasticDepth``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ebb import _C, nn
from ebb._C import Tensor

__all__ = [
    "MLP",
    "Conv2dNormActivation",
    "FrozenBatchNorm2d",
    "Permute",
    "SqueezeExcitation",
    "StochasticDepth",
    "stochastic_depth",
]


class FrozenBatchNorm2d(nn.Module):
    """Batch norm whose mean, variance, weight and bias are buffers that stay as they are.

    Args:
        num_features: Channels.
        eps: Added to the variance.

    Example:
        >>> from ebb.vision import ops
        >>> layer = ops.FrozenBatchNorm2d(3)
        >>> layer(ebb.ones(1, 3, 2, 2)).shape, list(layer.parameters())
        (ebb.Size([1, 3, 2, 2]), [])
    """

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, num_features: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        for name, value in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)):
            self.register_buffer(name, _C.full([num_features], float(value)))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        state_dict.pop(f"{prefix}num_batches_tracked", None)  # of a BatchNorm2d that was trained
        super()._load_from_state_dict(state_dict, prefix, *args)

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalized input [N, C, H, W]."""
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        shift = self.bias - self.running_mean * scale
        return x * scale.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)

    def extra_repr(self) -> str:
        """Return its options."""
        return f"{self.weight.shape[0]}, eps={self.eps}"


class Conv2dNormActivation(nn.Sequential):
    """A convolution, a norm and an activation.

    Args:
        in_channels, out_channels, kernel_size, stride: Of the convolution.
        padding: What keeps the size at stride 1 if None.
        groups: Of the convolution.
        norm_layer: Made from the channels; None for none.
        activation_layer: Made without arguments; None for none.
        dilation: Of the convolution.
        inplace: Given to the activation unless None.
        bias: Of the convolution; if None, there is one where there is no norm.

    Example:
        >>> from ebb.vision import ops
        >>> [type(part).__name__ for part in ops.Conv2dNormActivation(3, 8)]
        ['Conv2d', 'BatchNorm2d', 'ReLU']
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int] = 3,
        stride: int | tuple[int, int] = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Callable[..., nn.Module] | None = nn.BatchNorm2d,
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        dilation: int | tuple[int, int] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ):
        if padding is None:
            sizes = kernel_size if isinstance(kernel_size, Sequence) else (kernel_size,) * 2
            steps = dilation if isinstance(dilation, Sequence) else (dilation,) * 2
            padding = tuple((k - 1) // 2 * d for k, d in zip(sizes, steps, strict=True))
        has_bias = norm_layer is None if bias is None else bias
        layers: list[nn.Module] = [
            nn.Conv2d(
                in_channels, out_channels, kernel_size, stride, padding, dilation, groups, has_bias
            )
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels: int = out_channels


class SqueezeExcitation(nn.Module):
    """Scales each channel by a number that two layers make of the means of all.

    Args:
        input_channels: Of the input.
        squeeze_channels: Between the two layers.
        activation, scale_activation: Made without arguments, after the first and the second.

    Example:
        >>> from ebb.vision import ops
        >>> ops.SqueezeExcitation(8, 2)(ebb.ones(1, 8, 4, 4)).shape
        ebb.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Callable[..., nn.Module] = nn.ReLU,
        scale_activation: Callable[..., nn.Module] = nn.Sigmoid,
    ):
        super().__init__()
        self.avgpool: nn.Module = nn.AdaptiveAvgPool2d(1)
        self.fc1: nn.Conv2d = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2: nn.Conv2d = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation: nn.Module = activation()
        self.scale_activation: nn.Module = scale_activation()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input [N, C, H, W], scaled."""
        scale = self.fc2(self.activation(self.fc1(self.avgpool(input))))
        return self.scale_activation(scale) * input


class MLP(nn.Sequential):
    """Linear layers with a norm, an activation and dropout after each.

    Args:
        in_channels: Size of the input.
        hidden_channels: Size of each layer; after the last there is dropout alone.
        norm_layer: Made from a size; None for none.
        activation_layer: Made without arguments; None for none.
        inplace: Given to activations and dropout unless None.
        bias: Whether layers have one.
        dropout: Probability of zeros.

    Example:
        >>> from ebb.vision import ops
        >>> [type(part).__name__ for part in ops.MLP(4, [8, 2])]
        ['Linear', 'ReLU', 'Dropout', 'Linear', 'Dropout']
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: Sequence[int],
        norm_layer: Callable[..., nn.Module] | None = None,
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ):
        options: dict[str, Any] = {} if inplace is None else {"inplace": inplace}
        layers: list[nn.Module] = []
        last = len(hidden_channels) - 1
        for place, size in enumerate(hidden_channels):
            layers.append(nn.Linear(in_channels, size, bias=bias))
            if place < last and norm_layer is not None:
                layers.append(norm_layer(size))
            if place < last and activation_layer is not None:
                layers.append(activation_layer(**options))
            layers.append(nn.Dropout(dropout, **options))
            in_channels = size
        super().__init__(*layers)


class Permute(nn.Module):
    """Puts dims into another order.

    Example:
        >>> from ebb.vision import ops
        >>> ops.Permute([0, 2, 1])(ebb.ones(1, 2, 3)).shape
        ebb.Size([1, 3, 2])
    """

    def __init__(self, dims: Sequence[int]):
        super().__init__()
        self.dims: list[int] = list(dims)

    def forward(self, x: Tensor) -> Tensor:
        """Return a view of the input."""
        return x.permute(self.dims)


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    """Return the input with samples set to zero at random, and the others over ``1 - p``.

    Args:
        input: [N, ...].
        p: The probability of a zero.
        mode: "row" draws for each sample, "batch" for all at once.
        training: Whether anything is drawn.
    Raises:
        ValueError: If p is not from 0 to 1, or there is no such mode.
    Example:
        >>> from ebb.vision import ops
        >>> ops.stochastic_depth(ebb.ones(2, 3), 1.0, "row").sum()
        tensor(0.)
    """
    if not 0.0 <= p <= 1.0:
        raise _C.ValueError(f"stochastic_depth: needs p from 0 to 1, got {p}")
    if mode not in ("row", "batch"):
        raise _C.ValueError(f"stochastic_depth: needs mode 'row' or 'batch', got {mode!r}")
    if not training or p == 0.0:
        return input
    rows = input.shape[0] if mode == "row" else 1
    kept = _C.full([rows, *[1] * (input.ndim - 1)], 1 - p, dtype=input.dtype, device=input.device)
    kept = _C.bernoulli(kept)
    return input * (kept / (1 - p) if p < 1.0 else kept)


class StochasticDepth(nn.Module):
    """``stochastic_depth`` in training.

    Example:
        >>> from ebb.vision import ops
        >>> ops.StochasticDepth(0.5, "row").eval()(ebb.ones(2)).sum()
        tensor(2.)
    """

    def __init__(self, p: float, mode: str):
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, input: Tensor) -> Tensor:
        """Return the input, of which samples may be zero."""
        return stochastic_depth(input, self.p, self.mode, self.training)

    def extra_repr(self) -> str:
        """Return its options."""
        return f"p={self.p}, mode={self.mode}"
