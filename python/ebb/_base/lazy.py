# python/ebb/_base/lazy.py -- parts of the package that are imported when they are first used.
#
# A module-level __getattr__ would make every look-up in `ebb` slower (see __init__.py), so such a
# part is an object beside the others, which becomes the module at the first use.
"""Packages that `import ebb` names but does not import."""

from __future__ import annotations

import importlib
import types
from typing import Any


class LazyPackage(types.ModuleType):
    """Stands for a package until one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        try:
            module = importlib.import_module(self.__name__)  # replaces this in its parent
        except ModuleNotFoundError:
            if name.startswith("__"):  # asked by who walks over all that there is
                raise AttributeError(f"module {self.__name__!r} is not installed") from None
            raise
        vars(self).update(vars(module))  # for those who hold this
        return getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(importlib.import_module(self.__name__), name, value)
        vars(self)[name] = value

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__name__))
