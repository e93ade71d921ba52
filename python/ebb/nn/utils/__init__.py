# python/ebb/nn/utils/__init__.py -- gradients bounded, parameters as one vector or computed.
"""Functions over parameters and sequences, under PyTorch's names.

What only some programs use is imported when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ebb.nn.utils import rnn
from ebb.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from ebb.nn.utils.skip_init import skip_init
from ebb.nn.utils.vector import parameters_to_vector, vector_to_parameters

if TYPE_CHECKING:
    from ebb.nn.utils import parametrizations, parametrize, prune
    from ebb.nn.utils.fusion import (
        fuse_conv_bn_eval,
        fuse_conv_bn_weights,
        fuse_linear_bn_eval,
        fuse_linear_bn_weights,
    )
    from ebb.nn.utils.hooked_norms import (
        remove_spectral_norm,
        remove_weight_norm,
        spectral_norm,
        weight_norm,
    )
    from ebb.nn.utils.memory_format import (
        convert_conv2d_weight_memory_format,
        convert_conv3d_weight_memory_format,
    )

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]

_MODULES = ("parametrizations", "parametrize", "prune")
_HOMES = ("fusion", "hooked_norms", "memory_format")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"ebb.nn.utils.{name}")
    if name in __all__:
        for home in _HOMES:
            module = importlib.import_module(f"ebb.nn.utils.{home}")
            globals().update({one: getattr(module, one) for one in module.__all__})
        return globals()[name]
    raise AttributeError(f"module 'ebb.nn.utils' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
