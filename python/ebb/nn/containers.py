# python/ebb/nn/containers.py -- ModuleList, Sequential and ModuleDict: modules by number or name.
"""Containers of modules; those of parameters are in parameter_containers.py."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ebb import _C
from ebb.nn.module import Module
from ebb.nn.module_base import MODULES

if TYPE_CHECKING:
    from typing_extensions import Self  # noqa: UP035 -- checkers bring it, for 3.10 too

T = TypeVar("T")

MOST_LAYERS = 1 << 16  # each is made of Python objects: more would take minutes to make


def check_layer_count(name: str, num_layers: object) -> None:
    """Refuse what is no number of layers, or one that nobody can wait for."""
    if not isinstance(num_layers, int) or isinstance(num_layers, bool):
        raise _C.DTypeError(f"{name}: num_layers needs an int, got {num_layers!r}")
    if num_layers < 1:
        raise _C.ValueError(f"{name}: num_layers needs at least 1, got {num_layers}")
    if num_layers > MOST_LAYERS:
        raise _C.ValueError(f"{name}: num_layers needs at most {MOST_LAYERS:,}, got more")


def _checked(op: str, module: object) -> Any:
    """Return a module, or None, which keeps a place as in PyTorch."""
    if module is not None and not isinstance(module, Module):
        raise _C.DTypeError(f"{op}: needs a Module, got {type(module).__name__}")
    return module


class _Numbered(Module):
    """What ModuleList and Sequential have in common, none of which is the other."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(list(self._modules.values()))

    def __contains__(self, module: object) -> bool:
        return any(module is own for own in self)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._part(index)
        return self._modules[self._name_at(index)]

    def _part(self, index: slice) -> Any:
        raise NotImplementedError

    def __setitem__(self, index: int, module: Module) -> None:
        self.add_module(self._name_at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        left = list(self)
        del left[index if isinstance(index, slice) else self._position(index)]
        self._replace(left)

    def __iadd__(self, other: Iterable[Module]) -> Self:
        return self.extend(other)

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), _checked("append", module))
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Add a module before position ``index``."""
        changed = list(self)
        if _checked("insert", module) is not None:
            self._add_part("insert", str(index), module)
        changed.insert(index, module)
        self._replace(changed)
        return self

    def pop(self, key: int = -1) -> Module:
        """Take the module at position ``key`` out and return it."""
        module = list(self)[self._position(key)]
        del self[key]
        return module

    def _position(self, index: int) -> int:
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise _C.IndexError(
                f"{type(self).__name__}: needs an index from {-len(self)} to {len(self) - 1}, "
                f"got {index}"
            )
        return position % len(self)

    def _name_at(self, index: int) -> str:
        return list(self._modules)[self._position(index)]

    def _replace(self, modules: list[Module]) -> None:
        for name in list(self._modules):
            delattr(self, name)
        for position, module in enumerate(modules):
            self._register("add_module", str(position), module, MODULES)


class ModuleList(_Numbered):
    """A list of modules; it has no ``forward`` of its own.

    Args:
        modules: What it holds at first.

    Example:
        >>> layers = ebb.nn.ModuleList([ebb.nn.Linear(2, 3), ebb.nn.ReLU()])
        >>> len(layers), len(list(layers.parameters()))
        (2, 2)
    """

    _shows_runs = True  # neighbours of one text together

    def __init__(self, modules: Iterable[Module] | None = None):
        super().__init__()
        self.extend(() if modules is None else modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return type(self)([*self, *other])

    def _part(self, index: slice) -> ModuleList:
        return ModuleList(list(self)[index])


class Sequential(_Numbered):
    """Feeds its input through its modules, one after the other.

    Args:
        modules: The modules, or one dict of them by name.

    Example:
        >>> net = ebb.nn.Sequential(ebb.nn.Linear(64, 128), ebb.nn.ReLU(), ebb.nn.Linear(128, 10))
    """

    def __init__(self, *modules: Module | Mapping[str, Module]):
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> Sequential:
        return Sequential(*self, *other)

    def _part(self, index: slice) -> Sequential:
        return Sequential(dict(list(self._modules.items())[index]))

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end."""
        return super().extend(sequential)

    def forward(self, input: Any) -> Any:
        """Return the last module's output."""
        for module in self._modules.values():
            input = module(input)
        return input


class Named(Module, Generic[T]):
    """What ModuleDict and ParameterDict have in common: parts by name."""

    @property
    def _own(self) -> Mapping[str, T]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._own)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._own))

    def __contains__(self, key: object) -> bool:
        return key in self._own

    def __getitem__(self, key: str) -> T:
        return self._own[key]

    def __delitem__(self, key: str) -> None:
        if key not in self._own:
            raise KeyError(key)
        delattr(self, key)

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._own.keys()

    def values(self) -> Iterable[T]:
        """Return what it holds."""
        return self._own.values()

    def items(self) -> Iterable[tuple[str, T]]:
        """Return pairs of a name and what it stands for."""
        return self._own.items()

    def clear(self) -> None:
        """Take everything out."""
        for name in self:
            delattr(self, name)

    def pop(self, key: str) -> T:
        """Take what has this name out and return it."""
        part = self[key]
        del self[key]
        return part


class ModuleDict(Named[Module]):
    """A dict of modules by name; it has no ``forward`` of its own.

    Args:
        modules: A dict, or pairs of a name and a module.

    Example:
        >>> layers = ebb.nn.ModuleDict({"first": ebb.nn.Linear(2, 3)})
        >>> layers["first"]
        Linear(in_features=2, out_features=3, bias=True)
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[Any] | None = None):
        super().__init__()
        self.update(() if modules is None else modules)

    @property
    def _own(self) -> Mapping[str, Module]:
        return self._modules

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, _checked("ModuleDict", module))

    def update(self, modules: Mapping[str, Module] | Iterable[Any]) -> None:
        """Add modules, or replace those of the same names."""
        pairs = modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules
        for key, module in list(pairs):
            self[key] = module
