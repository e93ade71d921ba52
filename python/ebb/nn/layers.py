# python/ebb/nn/layers.py -- Flatten and other layers that compute nothing new.
"""Each holds its options; those with weights are rows of ops/modules/linear.yaml."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional
from ebb.nn.linear import Bilinear, Linear, PReLU
from ebb.nn.module import Module

# Pickles of ebb before 0.2 name some of them here.
__all__ = [
    "Bilinear",
    "Flatten",
    "Identity",
    "Linear",
    "PReLU",
    "Softmax2d",
    "Unflatten",
]


class Identity(Module):
    """Returns its input; takes any arguments, so that it can stand in for another layer.

    Example:
        >>> layer = ebb.nn.Identity()
        >>> layer(ebb.ones(2, 3)).shape
        ebb.Size([2, 3])
    """

    def __init__(self, *args: object, **kwargs: object):
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input."""
        return input


class Flatten(Module):
    """Joins the dims from ``start_dim`` to ``end_dim`` into one.

    Example:
        >>> layer = ebb.nn.Flatten()
        >>> layer(ebb.ones(2, 3, 4)).shape
        ebb.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Return the input in its new shape."""
        shape = list(input.shape)
        count = max(len(shape), 1)
        start, end = (dim + count if dim < 0 else dim for dim in (self.start_dim, self.end_dim))
        if not 0 <= start <= end < count:
            raise _C.IndexError(
                f"Flatten: needs 0 <= start_dim <= end_dim < {count}, "
                f"got {self.start_dim} and {self.end_dim}"
            )
        joined = math.prod(shape[start : end + 1])
        return input.reshape((*shape[:start], joined, *shape[end + 1 :]))

    def extra_repr(self) -> str:
        """Return the dims."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dim as several: the opposite of Flatten.

    Args:
        dim: The dim to cut up.
        unflattened_size: The sizes to cut it into, one of which may be -1.

    Example:
        >>> layer = ebb.nn.Unflatten(1, (2, 3))
        >>> layer(ebb.ones(4, 6)).shape
        ebb.Size([4, 2, 3])
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]):
        super().__init__()
        self.dim = dim
        self.unflattened_size: tuple[int, ...] = tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        """Return the input in its new shape."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Return the dim and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Softmax2d(Module):
    """The softmax over the channels of each place of ``[N, C, H, W]`` or ``[C, H, W]``.

    Example:
        >>> layer = ebb.nn.Softmax2d()
        >>> layer(ebb.ones(1, 3, 2, 2)).shape
        ebb.Size([1, 3, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        if input.ndim not in (3, 4):
            raise _C.ShapeError(
                f"Softmax2d: input needs 3 or 4 dims, got shape {list(input.shape)}"
            )
        return functional.softmax(input, -3)
