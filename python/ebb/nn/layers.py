# python/ebb/nn/layers.py -- Linear, PReLU and other plain layers.
"""Each holds its parameters and options; the arithmetic is in the ops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ebb import _C
from ebb._C import Tensor, linear
from ebb.nn import functional, init
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter


class Linear(Module):
    """``y = x @ weight.T + bias``.

    Weight and bias are drawn uniformly from ``+-1/sqrt(in_features)``.

    Args:
        in_features: Size of the input's last dim.
        out_features: Size of the output's last dim.
        bias: Whether a bias is added.
        device: Where they are; the default one if None.
        dtype: Of the parameters; float32 if None.

    Example:
        >>> layer = ebb.nn.Linear(4, 3)
        >>> layer(ebb.ones(2, 4)).shape
        ebb.Size([2, 3])
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in_features < 0 or out_features < 0:
            raise _C.ValueError(f"Linear: needs sizes >= 0, got {in_features} and {out_features}")
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(_C.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(_C.empty((out_features,), device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    """``y = x1 @ weight @ x2 + bias``, with one matrix per output.

    Weight and bias are drawn uniformly from ``+-1/sqrt(in1_features)``.

    Args:
        in1_features: Size of the first input's last dim.
        in2_features: Size of the second input's last dim.
        out_features: Size of the output's last dim.
        bias: Whether a bias is added.
        device: Where they are; the default one if None.
        dtype: Of the parameters; float32 if None.

    Example:
        >>> layer = ebb.nn.Bilinear(2, 3, 4)
        >>> layer(ebb.ones(5, 2), ebb.ones(5, 3)).shape
        ebb.Size([5, 4])
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features < 1 or in2_features < 0 or out_features < 0:
            raise _C.ValueError(
                "Bilinear: needs in1_features >= 1 and other sizes >= 0, "
                f"got {in1_features}, {in2_features} and {out_features}"
            )
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(_C.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(_C.empty((out_features,), device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Return the layer's output."""
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


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


class PReLU(Module):
    """x where it is positive, else ``weight * x`` with a weight that is trained.

    Args:
        num_parameters: 1, or the number of channels (dim 1 of the input).
        init: Where the weight begins.
        device: Where they are; the default one if None.
        dtype: Of the weight; float32 if None.

    Example:
        >>> layer = ebb.nn.PReLU()
        >>> layer(ebb.ones(2, 3)).shape
        ebb.Size([2, 3])
    """

    weight: Parameter

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        if num_parameters < 1:
            raise _C.ValueError(f"PReLU: needs num_parameters >= 1, got {num_parameters}")
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(_C.empty((num_parameters,), device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to its beginning."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return the number of weights."""
        return f"num_parameters={self.num_parameters}"


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
