# python/ebb/nn/lazy.py -- layers that learn the sizes of their input from the first one.
#
# A lazy layer holds placeholders. Its first forward() puts parameters of the right shapes in their
# place, and makes the module one of the class that it stands for.
"""Layers without in_features, in_channels or num_features, under PyTorch's names.

The parameters are other objects after the first call, or after load_state_dict(): an optimizer is
to be made afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ebb import _C
from ebb._C import Tensor
from ebb.nn import convolution, normalization
from ebb.nn.linear import Linear
from ebb.nn.module import Module
from ebb.nn.module_base import BUFFERS, PARAMETERS
from ebb.nn.parameter import UninitializedBuffer, UninitializedParameter, is_uninitialized

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]


class LazyModuleMixin(Module):  # else its instances could not change their class
    """What lazy layers share; ``cls_to_become`` is the class after the first input."""

    cls_to_become: type[Module] | None = None
    _is_new = False  # whether its constructor runs

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer still has no shape."""
        own = (*self._parameters.values(), *self._buffers.values())
        return any(is_uninitialized(one) for one in own)

    def initialize_parameters(self, input: Tensor) -> None:
        """Give all parameters the shapes that this input needs; subclasses define it."""
        raise _C.NotImplementedError(
            f"initialize_parameters: needs a definition in {type(self).__name__}, got none"
        )

    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Learn the sizes from the input, and return the output of the layer that it becomes."""
        self.initialize_parameters(input)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]
        return self.forward(input, *args, **kwargs)

    def reset_parameters(self) -> None:
        """Draw all parameters anew, if they have shapes."""
        if not (self._is_new or self.has_uninitialized_params()):
            super().reset_parameters()

    def _materialize(self, name: str, shape: Sequence[int]) -> None:
        held = getattr(self, name)
        if is_uninitialized(held):
            setattr(self, name, held.materialize(tuple(shape)))


class _Learns(LazyModuleMixin):
    """A layer whose first option, a size, is that of the first input.

    Its constructor is that of ``cls_to_become`` without this option, for which it stands with 0.
    """

    if TYPE_CHECKING:  # which do not follow __init_subclass__

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    _shown: Any = None  # whose options those are, if not cls_to_become's

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if {"cls_to_become", "_shown"} & vars(cls).keys() and "__init__" not in vars(cls):
            shown = cls._shown or cls.cls_to_become
            cls.__init__ = _constructor(shown)  # type: ignore[method-assign]

    def _begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._is_new = True
        try:
            super().__init__(0, *args, **kwargs)
        except TypeError as error:
            _, is_call, problem = str(error).partition(".__init__() ")
            if not is_call:
                raise
            raise _C.DTypeError(f"{type(self).__name__}(): {problem}") from None
        del self._is_new
        stands = {PARAMETERS: UninitializedParameter, BUFFERS: UninitializedBuffer}
        for kind, placeholder in stands.items():
            held: dict[str, Any] = getattr(self, kind)
            for name, one in held.items():
                if one is not None and one.ndim:  # the number of batches has no size to learn
                    held[name] = placeholder(device=one.device, dtype=one.dtype)


def _constructor(cls: Any) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 -- it is one
        self._begin(args, kwargs)

    # What inspect, which takes a while to import, shows: the constructor without its first option.
    own = cls.__init__
    itself, option, *rest = own.__code__.co_varnames
    code = own.__code__.replace(
        co_argcount=own.__code__.co_argcount - 1,
        co_nlocals=own.__code__.co_nlocals - 1,
        co_varnames=(itself, *rest),
    )
    made: Any = __init__
    made.__wrapped__ = shown = FunctionType(code, {}, "__init__", own.__defaults__, own.__closure__)
    shown.__kwdefaults__ = own.__kwdefaults__
    shown.__annotations__ = {one: of for one, of in own.__annotations__.items() if one != option}
    return made


class LazyLinear(_Learns, Linear):
    """Linear whose ``in_features`` is the last size of its first input.

    Args:
        out_features: Size of the output's last dim.
        bias: Whether a bias is added.
        device: Where they are; the default one if None.
        dtype: Of the parameters; float32 if None.

    Example:
        >>> layer = ebb.nn.LazyLinear(3)
        >>> layer(ebb.ones(2, 4)).shape
        ebb.Size([2, 3])
    """

    cls_to_become: type[Module] = Linear

    def initialize_parameters(self, input: Tensor) -> None:
        """Give the weight as many columns as the input has features."""
        self.in_features: int = input.shape[-1]
        if self.has_uninitialized_params():
            self._materialize("weight", (self.out_features, self.in_features))
            if self.bias is not None:
                self._materialize("bias", (self.out_features,))
            self.reset_parameters()


class _LazyConvXdMixin(_Learns):
    """What lazy convolutions share."""

    def initialize_parameters(self, input: Tensor) -> None:
        """Give the weight as many channels as the input has."""
        name = type(self).__name__
        if input.ndim not in (self._dims + 1, self._dims + 2):
            raise _C.ShapeError(
                f"{name}: input needs {self._dims + 1} to {self._dims + 2} dims, got shape "
                f"{list(input.shape)}"
            )
        channels = input.shape[-self._dims - 1]
        if channels % self.groups:
            raise _C.ValueError(
                f"{name}: needs channels that groups divide, got {channels} and {self.groups}"
            )
        self.in_channels: int = channels
        if self.has_uninitialized_params():
            ends = (self.out_channels, channels)
            first, second = reversed(ends) if self.transposed else ends
            self._materialize("weight", (first, second // self.groups, *self.kernel_size))
            if self.bias is not None:
                self._materialize("bias", (self.out_channels,))
            self.reset_parameters()


class LazyConv1d(_LazyConvXdMixin, convolution.Conv1d):
    """Conv1d whose ``in_channels`` are those of its first input.

    Example:
        >>> layer = ebb.nn.LazyConv1d(4, 3)
        >>> layer(ebb.ones(1, 2, 8)).shape
        ebb.Size([1, 4, 6])
    """

    cls_to_become: type[Module] = convolution.Conv1d


class LazyConv2d(_LazyConvXdMixin, convolution.Conv2d):
    """Conv2d whose ``in_channels`` are those of its first input.

    Example:
        >>> layer = ebb.nn.LazyConv2d(8, 3)
        >>> layer(ebb.ones(1, 3, 6, 6)).shape
        ebb.Size([1, 8, 4, 4])
    """

    cls_to_become: type[Module] = convolution.Conv2d


class LazyConv3d(_LazyConvXdMixin, convolution.Conv3d):
    """Conv3d whose ``in_channels`` are those of its first input.

    Example:
        >>> layer = ebb.nn.LazyConv3d(2, 3)
        >>> layer(ebb.ones(1, 1, 4, 4, 4)).shape
        ebb.Size([1, 2, 2, 2, 2])
    """

    cls_to_become: type[Module] = convolution.Conv3d


class LazyConvTranspose1d(_LazyConvXdMixin, convolution.ConvTranspose1d):
    """ConvTranspose1d whose ``in_channels`` are those of its first input.

    Example:
        >>> layer = ebb.nn.LazyConvTranspose1d(4, 2)
        >>> layer(ebb.ones(1, 2, 5)).shape
        ebb.Size([1, 4, 6])
    """

    cls_to_become: type[Module] = convolution.ConvTranspose1d


class LazyConvTranspose2d(_LazyConvXdMixin, convolution.ConvTranspose2d):
    """ConvTranspose2d whose ``in_channels`` are those of its first input.

    Example:
        >>> layer = ebb.nn.LazyConvTranspose2d(8, 2)
        >>> layer(ebb.ones(1, 3, 4, 4)).shape
        ebb.Size([1, 8, 5, 5])
    """

    cls_to_become: type[Module] = convolution.ConvTranspose2d


class LazyConvTranspose3d(_LazyConvXdMixin, convolution.ConvTranspose3d):
    """ConvTranspose3d whose ``in_channels`` are those of its first input.

    Example:
        >>> layer = ebb.nn.LazyConvTranspose3d(2, 2)
        >>> layer(ebb.ones(1, 1, 3, 3, 3)).shape
        ebb.Size([1, 2, 4, 4, 4])
    """

    cls_to_become: type[Module] = convolution.ConvTranspose3d


class _LazyNormBase(_Learns, normalization._NormBase):
    """What lazy norms share."""

    # Options of instance norms, too, are on at first, as in PyTorch.
    _shown: Any = normalization._NormBase

    def _channels(self, input: Tensor) -> int:
        return input.shape[1]

    def initialize_parameters(self, input: Tensor) -> None:
        """Give parameters and statistics one element for each channel of the input."""
        if input.ndim not in self._ndims:
            wanted = " or ".join(map(str, self._ndims))
            raise _C.ValueError(
                f"{type(self).__name__}: needs an input of {wanted} dims, got {list(input.shape)}"
            )
        self.num_features: int = self._channels(input)
        if self.has_uninitialized_params():
            for name in ("weight", "bias", "running_mean", "running_var"):
                self._materialize(name, (self.num_features,))
            self.reset_parameters()


class _LazyInstanceNorm(_LazyNormBase):
    def _begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = ("eps", "momentum", "affine", "track_running_stats")[: len(args)]
        on = {"affine", "track_running_stats"} - {*given, *kwargs}
        super()._begin(args, kwargs | dict.fromkeys(on, True))

    def _channels(self, input: Tensor) -> int:
        return input.shape[input.ndim - self._ndims[1] + 1]


class LazyBatchNorm1d(_LazyNormBase, normalization.BatchNorm1d):
    """BatchNorm1d whose ``num_features`` are the channels of its first input.

    Example:
        >>> layer = ebb.nn.LazyBatchNorm1d()
        >>> layer(ebb.ones(4, 3)).shape
        ebb.Size([4, 3])
    """

    cls_to_become: type[Module] = normalization.BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, normalization.BatchNorm2d):
    """BatchNorm2d whose ``num_features`` are the channels of its first input.

    Example:
        >>> layer = ebb.nn.LazyBatchNorm2d()
        >>> layer(ebb.ones(4, 3, 2, 2)).shape
        ebb.Size([4, 3, 2, 2])
    """

    cls_to_become: type[Module] = normalization.BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, normalization.BatchNorm3d):
    """BatchNorm3d whose ``num_features`` are the channels of its first input.

    Example:
        >>> layer = ebb.nn.LazyBatchNorm3d()
        >>> layer(ebb.ones(4, 3, 2, 2, 2)).shape
        ebb.Size([4, 3, 2, 2, 2])
    """

    cls_to_become: type[Module] = normalization.BatchNorm3d


class LazyInstanceNorm1d(_LazyInstanceNorm, normalization.InstanceNorm1d):
    """InstanceNorm1d whose ``num_features`` are the channels of its first input.

    Example:
        >>> layer = ebb.nn.LazyInstanceNorm1d()
        >>> layer(ebb.ones(2, 3, 5)).shape
        ebb.Size([2, 3, 5])
    """

    cls_to_become: type[Module] = normalization.InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm, normalization.InstanceNorm2d):
    """InstanceNorm2d whose ``num_features`` are the channels of its first input.

    Example:
        >>> layer = ebb.nn.LazyInstanceNorm2d()
        >>> layer(ebb.ones(2, 3, 4, 4)).shape
        ebb.Size([2, 3, 4, 4])
    """

    cls_to_become: type[Module] = normalization.InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm, normalization.InstanceNorm3d):
    """InstanceNorm3d whose ``num_features`` are the channels of its first input.

    Example:
        >>> layer = ebb.nn.LazyInstanceNorm3d()
        >>> layer(ebb.ones(2, 3, 2, 2, 2)).shape
        ebb.Size([2, 3, 2, 2, 2])
    """

    cls_to_become: type[Module] = normalization.InstanceNorm3d
