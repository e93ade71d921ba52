# python/ebb/nn/utils/skip_init.py -- modules whose parameters are not drawn.
"""For programs that load or draw all values themselves."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb.nn.init import filling_nothing
from ebb.nn.module import Module


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """Make a module without filling its parameters; no random number is drawn.

    Args:
        module_cls: A class of modules that takes ``device``, and fills its parameters by functions
            of ``nn.init`` only.
        args, kwargs: What it is made with.
    Example:
        >>> layer = ebb.nn.utils.skip_init(ebb.nn.Linear, 5, 1)
        >>> layer.weight.shape
        ebb.Size([1, 5])
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise _C.DTypeError(f"skip_init: needs a class of modules, got {module_cls!r}")
    import inspect  # takes 4 ms

    if "device" not in inspect.signature(module_cls).parameters:
        raise _C.ValueError(
            f"skip_init: needs a module that takes 'device', got {module_cls.__name__}"
        )
    with filling_nothing():
        return module_cls(*args, **kwargs)
