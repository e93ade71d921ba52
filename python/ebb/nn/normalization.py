# python/ebb/nn/normalization.py -- layers that normalise and keep running statistics.
"""Each holds its weight, bias and statistics; norms without these are in ops/modules/norms.yaml."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional, init
from ebb.nn._bases import Norm
from ebb.nn._options import hold
from ebb.nn.module import Module
from ebb.nn.norms import GroupNorm, LayerNorm, RMSNorm
from ebb.nn.parameter import Parameter

# Pickles of ebb before 0.2 name some of them here.
__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "CrossMapLRN2d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "RMSNorm",
]


class _NormBase(Norm):
    """What batch and instance normalisation share: running statistics per channel."""

    _ndims: tuple[int, ...]  # how many dims an input may have
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_features < 0:
            raise _C.ValueError(
                f"{type(self).__name__}: needs num_features >= 0, got {num_features}"
            )
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        hold(self, "weight", (num_features,), device, dtype, affine)
        hold(self, "bias", (num_features,), device, dtype, affine and bias)
        statistics = [None] * 3
        if track_running_stats:
            statistics[0] = _C.zeros((num_features,), device=device, dtype=dtype)
            statistics[1] = _C.ones((num_features,), device=device, dtype=dtype)
            statistics[2] = _C.zeros((), device=device, dtype=_C.int64)
        names = ("running_mean", "running_var", "num_batches_tracked")
        for name, buffer in zip(names, statistics, strict=True):
            self.register_buffer(name, buffer)
        self._reset_affine()

    def reset_running_stats(self) -> None:
        """Set the running statistics to mean 0, variance 1 and no batches."""
        if self.running_mean is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set the weight to ones, the bias to zeros, and the statistics as at the start."""
        self.reset_running_stats()
        self._reset_affine()

    def _reset_affine(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def extra_repr(self) -> str:
        """Return the sizes and options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    def _check_input(self, input: Tensor) -> None:
        if input.ndim not in self._ndims or input.shape[1] != self.num_features:
            wanted = " or ".join(map(str, self._ndims))
            raise _C.ValueError(
                f"{type(self).__name__}: needs an input of {wanted} dims with "
                f"{self.num_features} channels, got {list(input.shape)}"
            )

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output; in training, update the running statistics."""
        self._check_input(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        tracks = self.training and self.track_running_stats
        if tracks and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / self.num_batches_tracked.item()
        given = tracks or not self.training
        return functional.batch_norm(
            input,
            self.running_mean if given else None,
            self.running_var if given else None,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Brings each channel of ``[N, C]`` or ``[N, C, L]`` to mean 0 and variance 1 over the batch.

    In evaluation the running statistics take the place of the batch's.

    Args:
        num_features: The number of channels C.
        momentum: How far each batch moves the running statistics; None averages all batches.
        affine: Whether there are a weight and a bias per channel.
        track_running_stats: Whether there are running statistics.
        device: Where they are; the default one if None.
        dtype: Of parameters and statistics; float32 if None.
        bias: Whether there is a bias beside the weight.

    Example:
        >>> layer = ebb.nn.BatchNorm1d(3)
        >>> layer(ebb.ones(4, 3)).shape
        ebb.Size([4, 3])
    """

    _ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """BatchNorm1d for ``[N, C, H, W]``.

    Example:
        >>> layer = ebb.nn.BatchNorm2d(3)
        >>> layer(ebb.ones(4, 3, 2, 2)).shape
        ebb.Size([4, 3, 2, 2])
    """

    _ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """BatchNorm1d for ``[N, C, D, H, W]``.

    Example:
        >>> layer = ebb.nn.BatchNorm3d(3)
        >>> layer(ebb.ones(4, 3, 2, 2, 2)).shape
        ebb.Size([4, 3, 2, 2, 2])
    """

    _ndims = (5,)


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _check_input(self, input: Tensor) -> None:
        unbatched, batched = self._ndims
        has_channels = input.ndim in self._ndims
        if has_channels and self.affine:
            has_channels = input.shape[input.ndim - batched + 1] == self.num_features
        if not has_channels:
            raise _C.ValueError(
                f"{type(self).__name__}: needs an input of {unbatched} or {batched} dims with "
                f"{self.num_features} channels, got {list(input.shape)}"
            )

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output; in training, update running statistics if there are any."""
        self._check_input(input)
        is_single = input.ndim == self._ndims[0]
        out = functional.instance_norm(
            input.unsqueeze(0) if is_single else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return out.squeeze(0) if is_single else out


class InstanceNorm1d(_InstanceNorm):
    """Brings each channel of each sample of ``[N, C, L]`` or ``[C, L]`` to mean 0, variance 1.

    Example:
        >>> layer = ebb.nn.InstanceNorm1d(3)
        >>> layer(ebb.ones(2, 3, 5)).shape
        ebb.Size([2, 3, 5])
    """

    _ndims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """InstanceNorm1d for ``[N, C, H, W]`` or ``[C, H, W]``.

    Example:
        >>> layer = ebb.nn.InstanceNorm2d(3)
        >>> layer(ebb.ones(2, 3, 4, 4)).shape
        ebb.Size([2, 3, 4, 4])
    """

    _ndims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """InstanceNorm1d for ``[N, C, D, H, W]`` or ``[C, D, H, W]``.

    Example:
        >>> layer = ebb.nn.InstanceNorm3d(3)
        >>> layer(ebb.ones(2, 3, 2, 2, 2)).shape
        ebb.Size([2, 3, 2, 2, 2])
    """

    _ndims = (4, 5)


class CrossMapLRN2d(Module):
    """Each element over ``(k + alpha / size * sum)^beta``, of the squares of channels around it.

    An even ``size`` takes the channels of the odd one below it.

    Args:
        size: How many channels.
        alpha: The factor of their mean square.
        beta: The power of the divisor.
        k: What is added to it.

    Example:
        >>> layer = ebb.nn.CrossMapLRN2d(3)
        >>> layer(ebb.ones(1, 4, 2, 2)).shape
        ebb.Size([1, 4, 2, 2])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1):
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """Return the input divided, of [batch, channels, height, width]."""
        around = self.size - 1 + self.size % 2
        return functional.local_response_norm(
            input, around, self.alpha * around / self.size, self.beta, self.k
        )

    def extra_repr(self) -> str:
        """Return the options."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
