# python/ebb/nn/parameter.py -- Parameter and Buffer: tensors that modules register.
"""A leaf tensor that is part of a module's state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ebb import _C
from ebb._base import seam
from ebb._C import Tensor, empty


class _ParameterType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        is_tensor = cls is Parameter and isinstance(instance, Tensor)
        return is_tensor and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterType):
    """A tensor that becomes a module's parameter when it is assigned to an attribute.

    Of a tensor whose class lives on in what ``detach`` returns, the parameter has that class, and
    still is an instance of this one.

    Args:
        data: The values; the parameter shares their memory.
        requires_grad: Whether gradients are wanted.

    Example:
        >>> ebb.nn.Parameter(ebb.ones(2))
        Parameter containing:
        tensor([1., 1.], requires_grad=True)
    """

    _persistable = True  # what Tensor.persistable says
    __ebb_function__ = __torch_function__ = _C._disabled_override  # results are plain tensors

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """Make a leaf over the memory of ``data``."""
        if cls is Parameter and isinstance(data, Tensor) and type(data) is not Tensor:
            own: Any = data.detach()
            if type(own) is type(data):
                own._is_param = True
                return own.requires_grad_(requires_grad)
        return Tensor._make_subclass(cls, empty(0) if data is None else data, requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


seam.fill("parameter", Parameter)


class Buffer(Tensor):
    """A tensor that becomes a module's buffer when it is assigned to an attribute.

    Args:
        data: The values; the buffer shares their memory.
        persistent: Whether ``state_dict`` contains it.

    Example:
        >>> ebb.nn.Buffer(ebb.ones(2)).requires_grad
        False
    """

    persistent: bool
    __ebb_function__ = __torch_function__ = _C._disabled_override

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        """Make a buffer over the memory of ``data``."""
        made = Tensor._make_subclass(cls, empty(0) if data is None else data, False)
        made.persistent = persistent
        return made


class UninitializedTensorMixin:
    """What placeholders of lazy modules share; ``cls_to_become`` is what they stand for."""

    cls_to_become: type[Tensor]


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """What stands for a parameter whose shape the first input of a lazy module tells.

    Args:
        requires_grad: Whether gradients are wanted of the parameter.
        dtype: Of the parameter; float32 if None.

    Example:
        >>> layer = ebb.nn.LazyLinear(4)
        >>> isinstance(layer.weight, ebb.nn.UninitializedParameter)
        True
        >>> y = layer(ebb.ones(2, 3))
        >>> layer.weight.shape
        ebb.Size([4, 3])
    """

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Any = None, dtype: Any = None
    ) -> UninitializedParameter:
        """Make a placeholder."""
        data = empty(0, device=device, dtype=dtype)
        return Tensor._make_subclass(cls, data, requires_grad)

    def materialize(self, shape: Sequence[int], device: Any = None, dtype: Any = None) -> Parameter:
        """Return a parameter of this shape, its values not set, for the module to hold."""
        data = empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        return Parameter(data, self.requires_grad)

    def __repr__(self) -> str:
        return "<UninitializedParameter>"


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """What stands for a buffer whose shape the first input of a lazy module tells.

    Args:
        dtype: Of the buffer; float32 if None.

    Example:
        >>> layer = ebb.nn.LazyBatchNorm1d()
        >>> isinstance(layer.running_mean, ebb.nn.UninitializedBuffer)
        True
        >>> y = layer(ebb.ones(2, 3))
        >>> layer.running_mean.shape
        ebb.Size([3])
    """

    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        """Make a placeholder."""
        if requires_grad:
            raise _C.ValueError("UninitializedBuffer: needs requires_grad False, got True")
        return super().__new__(cls, empty(0, device=device, dtype=dtype), persistent=persistent)

    def materialize(self, shape: Sequence[int], device: Any = None, dtype: Any = None) -> Tensor:
        """Return a tensor of this shape, its values not set, for the module to hold."""
        return empty(shape, device=device or self.device, dtype=dtype or self.dtype)

    def __repr__(self) -> str:
        return "<UninitializedBuffer>"


def is_uninitialized(tensor: object) -> bool:
    """Whether a tensor only stands for one whose shape is not known yet."""
    return isinstance(tensor, UninitializedParameter | UninitializedBuffer)
