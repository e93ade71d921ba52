# python/ebb/nn/utils/memory_format.py -- weights of convolutions in another order in memory.
"""What ``Module.to(memory_format=...)`` does, for convolutions alone."""

from __future__ import annotations

from ebb._base import naming as _naming
from ebb.nn import conversion
from ebb.nn.convolution import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ebb.nn.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Module, kinds: tuple[type, ...], memory_format: str) -> Module:
    convert = conversion.arrangement(memory_format)
    for one in module.modules():
        if isinstance(one, kinds):
            conversion.exchange(one.weight, convert)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: str) -> Module:
    """Lay the weights of two-dimensional convolutions out in an order of dims; return the module.

    Args:
        module: A convolution, or a module that holds some.
        memory_format: ``ebb.channels_last`` or ``ebb.contiguous_format``.

    Example:
        >>> net = ebb.nn.Sequential(ebb.nn.Conv2d(3, 4, 2))
        >>> net = ebb.nn.utils.convert_conv2d_weight_memory_format(net, ebb.channels_last)
        >>> net[0].weight.stride()
        (12, 1, 6, 3)
    """
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Module, memory_format: str) -> Module:
    """Lay the weights of three-dimensional convolutions out in an order; return the module.

    Args:
        module: A convolution, or a module that holds some.
        memory_format: ``ebb.channels_last_3d`` or ``ebb.contiguous_format``.

    Example:
        >>> layer = ebb.nn.Conv3d(3, 4, 1)
        >>> layer = ebb.nn.utils.convert_conv3d_weight_memory_format(layer, ebb.channels_last_3d)
        >>> layer.weight.is_contiguous(memory_format=ebb.channels_last_3d)
        True
    """
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)


_naming.name_module(__name__)
