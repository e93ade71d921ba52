# python/ebb/_base/lazy.py -- parts of the package that are imported when they are first used.
#
# A module-level __getattr__ would make every look-up in `ebb` slower (see __init__.py), so such a
# part is an object beside the others, which becomes the module at the first use.
"""Packages that `import ebb` names but does not import."""

from __future__ import annotations

import importlib
import types
from typing import Any

from ebb import _C


class LazyPackage(types.ModuleType):
    """Stands for a package until one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        module = importlib.import_module(self.__name__)  # replaces this in its parent
        vars(self).update(vars(module))  # for those who hold this
        return getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(importlib.import_module(self.__name__), name, value)
        vars(self)[name] = value

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__name__))


def _namespace(self: _C.Tensor, *, api_version: str | None = None) -> types.ModuleType:
    """Return the namespace of the Array API standard, `ebb.array_api`."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise _C.ValueError(
            f"__array_namespace__: needs a version from 2021.12 to 2024.12, got {api_version!r}"
        )
    return importlib.import_module("ebb.array_api")


_C.Tensor.__array_namespace__ = _namespace
