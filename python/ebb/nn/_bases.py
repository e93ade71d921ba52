# python/ebb/nn/_bases.py -- base classes of kinds of layers, which programs test for.
#
# The rows of ops/modules name them as `base`; programs find them in ebb.nn.modules.
"""PyTorch's classes of losses, pools and dropout: ``isinstance(layer, _Loss)``."""

from __future__ import annotations

from typing import Any

from ebb._C import Tensor
from ebb.nn._options import Options, averaged


class _Loss(Options):
    """Base of losses: keeps ``reduction``."""

    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ):
        super().__init__()
        self.reduction = averaged(self, reduction, size_average, reduce)


class _WeightedLoss(_Loss):
    """Base of losses with a buffer ``weight``."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class _DropoutNd(Options):
    """Base of layers that drop something with probability ``p``."""

    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        self.p = p
        self.inplace = inplace


class _MaxPoolNd(Options):
    """Base of layers that keep greatest values of windows."""

    def __init__(
        self,
        kernel_size: Any = None,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode


class _AvgPoolNd(Options):
    """Base of layers that keep means of windows."""


class _LPPoolNd(Options):
    """Base of layers that keep norms of windows."""

    def __init__(
        self,
        norm_type: float = 2.0,
        kernel_size: Any = None,
        stride: Any = None,
        ceil_mode: bool = False,
    ):
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode


class _AdaptiveAvgPoolNd(Options):
    """Base of layers that keep means of windows whose number is given."""

    def __init__(self, output_size: Any = None):
        super().__init__()
        self.output_size = output_size


class _AdaptiveMaxPoolNd(Options):
    """Base of layers that keep greatest values of windows whose number is given."""

    def __init__(self, output_size: Any = None, return_indices: bool = False):
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices


class Norm(Options):
    """Base of layers that normalise."""


class _CircularPadNd(Options):
    """Base of layers that put elements of the other end around the last dims."""


class _ConstantPadNd(Options):
    """Base of layers that put a value around the last dims."""


class _ReflectionPadNd(Options):
    """Base of layers that mirror the last dims at their ends."""


class _ReplicationPadNd(Options):
    """Base of layers that repeat elements at the ends of the last dims."""
