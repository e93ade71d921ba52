# python/ebb/nn/dropout.py -- dropout of elements and of whole channels, as modules.
"""All leave their input as it is in evaluation."""

from __future__ import annotations

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional as F
from ebb.nn.module import Module


class _Dropout(Module):
    """Base: the probability and whether the input is overwritten."""

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        if not 0 <= p <= 1:
            raise _C.ValueError(f"{type(self).__name__}: needs 0 <= p <= 1, got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return the probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Sets elements to 0 and scales the others, in training.

    Args:
        p: With this probability.
        inplace: Overwrite the input.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """Sets whole channels of ``[N, C, L]`` to 0 and scales the others, in training.

    Args:
        p: With this probability.
        inplace: Overwrite the input.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """Sets whole channels of ``[N, C, H, W]`` to 0 and scales the others, in training.

    Args:
        p: With this probability.
        inplace: Overwrite the input.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """Sets whole channels of ``[N, C, D, H, W]`` to 0 and scales the others, in training.

    Args:
        p: With this probability.
        inplace: Overwrite the input.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output."""
        return F.dropout3d(input, self.p, self.training, self.inplace)
