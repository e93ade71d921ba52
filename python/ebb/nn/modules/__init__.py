# python/ebb/nn/modules/__init__.py -- ebb.nn's classes under the names of PyTorch's files.
#
# `ebb.nn.modules.batchnorm` and its like are views: each has what the files of ebb.nn that _FILES
# names have, private classes too, and otherwise what `ebb.nn` has. utils.py is a file.
"""``from ebb.nn.modules.batchnorm import _BatchNorm`` finds what programs import from there.

>>> from ebb.nn.modules.loss import _Loss
>>> isinstance(ebb.nn.MSELoss(), _Loss)
True
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from ebb import nn
from ebb.nn import *
from ebb.nn.modules import utils as utils

__all__ = [name for name in nn.__all__ if name not in ("functional", "init", "utils")]

_FILES = {
    "activation": "activations attention layers linear",
    "adaptive": "class_losses",
    "batchnorm": "normalization lazy parallel",
    "channelshuffle": "channels",
    "container": "containers parameter_containers",
    "conv": "convolution lazy modules.utils",
    "distance": "losses",
    "dropout": "dropout _bases",
    "flatten": "layers",
    "fold": "folding",
    "instancenorm": "normalization lazy",
    "lazy": "lazy",
    "linear": "linear layers lazy",
    "loss": "losses class_losses _bases",
    "module": "module hooks global_hooks traversal",
    "normalization": "norms normalization responses",
    "padding": "padding modules.utils",
    "pixelshuffle": "channels",
    "pooling": "pooling unpooling _bases modules.utils",
    "rnn": "recurrent",
    "sparse": "embedding",
    "transformer": "transformer",
    "upsampling": "folding",
}
# By other names in ebb.
_SPELLED = {
    "linear.NonDynamicallyQuantizableLinear": ("layers", "Linear"),
    "loss.NLLLoss2d": ("losses", "NLLLoss"),
    "module._IncompatibleKeys": ("state", "LoadReport"),
    "module._addindent": ("modules.utils", "addindent"),
    "rnn.apply_permutation": ("modules.utils", "apply_permutation"),
    "transformer._get_clones": ("modules.utils", "get_clones"),
    "transformer._get_activation_fn": ("modules.utils", "get_activation_fn"),
}


class _File(types.ModuleType):
    """A view of files of ``ebb.nn``, by the name of a file of PyTorch's."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        file = self.__name__.rpartition(".")[2]
        places = [(home, name) for home in _FILES[file].split()]
        spelled = _SPELLED.get(f"{file}.{name}")
        for home, own in [spelled] if spelled else places:
            module = importlib.import_module(f"ebb.nn.{home}")
            if hasattr(module, own):
                self.__dict__[name] = getattr(module, own)
                return self.__dict__[name]
        if name in nn.__all__:
            return getattr(nn, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__all__})


def _view(file: str) -> _File:
    view = _File(f"{__name__}.{file}", f"``ebb.nn``'s names that PyTorch has in {file}.py.")
    homes = [importlib.import_module(f"ebb.nn.{home}") for home in _FILES[file].split()]
    own = {home.__name__ for home in homes}
    public = [(name, getattr(nn, name)) for name in nn.__all__]
    view.__dict__["__all__"] = [n for n, one in public if getattr(one, "__module__", "") in own]
    sys.modules[view.__name__] = view
    return view


globals().update({file: _view(file) for file in _FILES})
