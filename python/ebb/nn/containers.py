# python/ebb/nn/containers.py -- ModuleList and Sequential: modules numbered in order.
"""Containers whose modules are registered under "0", "1", ..."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any

from ebb import _C
from ebb.nn.module import _MODULE, Module


class ModuleList(Module):
    """A list of modules; it has no ``forward`` of its own."""

    def __init__(self, modules: Iterable[Module] = ()):
        super().__init__()
        self.extend(modules)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[Module]:
        attributes = self.__dict__
        return iter([attributes[name] for name in self._names])

    def __contains__(self, module: object) -> bool:
        return any(module is own for own in self)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return ModuleList(list(self)[index])
        return self.__dict__[str(self._position(index))]

    def __setitem__(self, index: int, module: Module) -> None:
        self.add_module(str(self._position(index)), module)

    def __delitem__(self, index: int | slice) -> None:
        left = list(self)
        del left[index if isinstance(index, slice) else self._position(index)]
        self._replace(left)

    def append(self, module: Module) -> ModuleList:
        """Add a module at the end."""
        if not isinstance(module, Module):
            raise _C.DTypeError(f"append: needs a Module, got {type(module).__name__}")
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Add a module before position ``index``."""
        if not isinstance(module, Module):
            raise _C.DTypeError(f"insert: needs a Module, got {type(module).__name__}")
        changed = list(self)
        changed.insert(index, module)
        self._replace(changed)

    def _position(self, index: int) -> int:
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise _C.IndexError(
                f"{type(self).__name__}: needs an index from {-len(self)} to {len(self) - 1}, "
                f"got {index}"
            )
        return position % len(self)

    def _replace(self, modules: list[Module]) -> None:
        for name in list(self._names):
            delattr(self, name)
        for position, module in enumerate(modules):
            self._register("add_module", str(position), module, _MODULE)


class Sequential(ModuleList):
    """Feeds its input through its modules, one after the other.

    Example:
        >>> net = ebb.nn.Sequential(ebb.nn.Linear(64, 128), ebb.nn.ReLU(), ebb.nn.Linear(128, 10))
    """

    def __init__(self, *modules: Module):
        if len(modules) == 1 and isinstance(modules[0], dict):
            super().__init__()
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            super().__init__(modules)

    def __getitem__(self, index: int | slice) -> Any:
        names = list(self._names)
        if isinstance(index, slice):
            return Sequential({name: self.__dict__[name] for name in names[index]})
        return self.__dict__[names[self._position(index)]]

    def __setitem__(self, index: int, module: Module) -> None:
        self.add_module(list(self._names)[self._position(index)], module)

    def forward(self, input: Any) -> Any:
        """Return the last module's output."""
        for module in self:
            input = module(input)
        return input
