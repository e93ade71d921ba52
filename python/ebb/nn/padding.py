# python/ebb/nn/padding.py -- padding layers: zeros, constants, reflection, replication, circular.
"""One class for each kind of border and number of dims; the arithmetic is that of F.pad()."""

from __future__ import annotations

from collections.abc import Sequence

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional as F
from ebb.nn.module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """Puts something around the last dims: counts before and after the last one, and so on."""

    _dims = 1
    _mode = "constant"
    padding: tuple[int, ...]

    def __init__(self, padding: int | Sequence[int]):
        super().__init__()
        counts = [padding] * (2 * self._dims) if hasattr(padding, "__index__") else padding
        try:
            self.padding = tuple(one.__index__() for one in counts)
        except (AttributeError, TypeError):
            raise _C.DTypeError(
                f"{type(self).__name__}: argument 'padding' must be int or sequence of ints, got "
                f"{type(padding).__name__}"
            ) from None
        if len(self.padding) != 2 * self._dims:
            raise _C.ValueError(
                f"{type(self).__name__}: padding needs one number or {2 * self._dims}, got "
                f"{list(self.padding)}"
            )

    def _check(self, input: Tensor) -> None:
        if self._dims + 1 <= input.ndim <= self._dims + 2:
            return
        raise _C.ShapeError(
            f"{type(self).__name__}: input needs {self._dims + 1} to {self._dims + 2} dims, got "
            f"shape {list(input.shape)}"
        )

    def forward(self, input: Tensor) -> Tensor:
        """Return the input with more around it."""
        self._check(input)
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """Return the counts."""
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    value: float

    def __init__(self, padding: int | Sequence[int], value: float):
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Return the input with the value around it."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Return the counts and the value."""
        return f"padding={self.padding}, value={self.value}"


class _CircularPadNd(_Pad):
    _mode = "circular"


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class _Zeros:
    """Makes of a layer that pads with a value one that pads with 0."""

    def __init__(self, padding: int | Sequence[int]):
        super().__init__(padding, 0.0)  # type: ignore[call-arg]

    def extra_repr(self) -> str:
        """Return the counts."""
        return f"{self.padding}"  # type: ignore[attr-defined]


class CircularPad1d(_CircularPadNd):
    """Puts elements of the other end around the last dim; a negative count cuts off.

    Example:
        >>> ebb.nn.CircularPad1d(1)(ebb.tensor([[[1.0, 2.0, 3.0]]]))
        tensor([[[3., 1., 2., 3., 1.]]])
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Puts elements of the other end around the last two dims; a negative count cuts off.

    Example:
        >>> ebb.nn.CircularPad2d(1)(ebb.ones(1, 1, 3, 3)).shape
        ebb.Size([1, 1, 5, 5])
    """

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Puts elements of the other end around the last three dims; a negative count cuts off.

    Example:
        >>> ebb.nn.CircularPad3d(1)(ebb.ones(1, 1, 3, 3, 3)).shape
        ebb.Size([1, 1, 5, 5, 5])
    """

    _dims = 3


class ConstantPad1d(_ConstantPadNd):
    """Puts a constant around the last dim; a negative count cuts off.

    Example:
        >>> ebb.nn.ConstantPad1d(1, 7.0)(ebb.tensor([[[1.0, 2.0]]]))
        tensor([[[7., 1., 2., 7.]]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Puts a constant around the last two dims; a negative count cuts off.

    Example:
        >>> ebb.nn.ConstantPad2d(1, 7.0)(ebb.ones(1, 1, 2, 2)).shape
        ebb.Size([1, 1, 4, 4])
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Puts a constant around the last three dims; a negative count cuts off.

    Example:
        >>> ebb.nn.ConstantPad3d(1, 7.0)(ebb.ones(1, 1, 2, 2, 2)).shape
        ebb.Size([1, 1, 4, 4, 4])
    """

    _dims = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Puts its reflection at the border around the last dim; a negative count cuts off.

    Example:
        >>> ebb.nn.ReflectionPad1d(1)(ebb.tensor([[[1.0, 2.0, 3.0]]]))
        tensor([[[2., 1., 2., 3., 2.]]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Puts its reflection at the border around the last two dims; a negative count cuts off.

    Example:
        >>> ebb.nn.ReflectionPad2d(1)(ebb.ones(1, 1, 3, 3)).shape
        ebb.Size([1, 1, 5, 5])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Puts its reflection at the border around the last three dims; a negative count cuts off.

    Example:
        >>> ebb.nn.ReflectionPad3d(1)(ebb.ones(1, 1, 3, 3, 3)).shape
        ebb.Size([1, 1, 5, 5, 5])
    """

    _dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Puts its border, repeated around the last dim; a negative count cuts off.

    Example:
        >>> ebb.nn.ReplicationPad1d(1)(ebb.tensor([[[1.0, 2.0, 3.0]]]))
        tensor([[[1., 1., 2., 3., 3.]]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Puts its border, repeated around the last two dims; a negative count cuts off.

    Example:
        >>> ebb.nn.ReplicationPad2d(1)(ebb.ones(1, 1, 3, 3)).shape
        ebb.Size([1, 1, 5, 5])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Puts its border, repeated around the last three dims; a negative count cuts off.

    Example:
        >>> ebb.nn.ReplicationPad3d(1)(ebb.ones(1, 1, 3, 3, 3)).shape
        ebb.Size([1, 1, 5, 5, 5])
    """

    _dims = 3


class ZeroPad1d(_Zeros, ConstantPad1d):
    """Puts zeros around the last dim; a negative count cuts off.

    Example:
        >>> ebb.nn.ZeroPad1d(1)(ebb.tensor([[[1.0, 2.0]]]))
        tensor([[[0., 1., 2., 0.]]])
    """

    _dims = 1


class ZeroPad2d(_Zeros, ConstantPad2d):
    """Puts zeros around the last two dims; a negative count cuts off.

    Example:
        >>> ebb.nn.ZeroPad2d(1)(ebb.ones(1, 1, 2, 2)).shape
        ebb.Size([1, 1, 4, 4])
    """

    _dims = 2


class ZeroPad3d(_Zeros, ConstantPad3d):
    """Puts zeros around the last three dims; a negative count cuts off.

    Example:
        >>> ebb.nn.ZeroPad3d(1)(ebb.ones(1, 1, 2, 2, 2)).shape
        ebb.Size([1, 1, 4, 4, 4])
    """

    _dims = 3
