# python/ebb/nn/attributes.py -- where a module has its attributes, and what its __dict__ shows.
#
# All are in one dict, dict_of(module): parts too, so that reading them costs nothing special.
# Programs written for PyTorch look for parts in three dicts beside the attributes, such as
# `module.__dict__["_parameters"]`; for them (ebb.torch_compat) `__dict__` is a Layout, which shows
# that and writes through. ebb itself reads dict_of(). Start reading at Layout.
"""``dict_of``, ``Parts`` and ``Layout``."""

from __future__ import annotations

import types
from collections import OrderedDict
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    MutableMapping,
    ValuesView,
)
from typing import Any

from ebb import _C

KINDS: dict[str, str] = {"_parameters": "parameter", "_buffers": "buffer", "_modules": "module"}
_TRANSIENT = "_non_persistent_buffers_set"
_OWN = frozenset(["_registered", "_transient", "_is_part"])
_HOOKS = frozenset(["_hooks", "_state_hooks"])  # objects of ebb's, not to be given to others
_as_pytorch = False


class Held(_C._ModuleCall):
    """What has a dict of attributes. Base of ``Module``."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if isinstance(vars(cls).get("__dict__"), types.GetSetDescriptorType):
            _C._inherit_dict(cls)  # its first base was no module


dict_of: Callable[[Any], dict[str, Any]] = vars(Held)["__dict__"].__get__
_give_dict: Callable[[Any, dict[str, Any]], None] = vars(Held)["__dict__"].__set__


class Parts(MutableMapping[str, Any]):
    """A module's own parts of one kind by name: what is set or deleted here is so in the module."""

    __slots__ = ("_kind", "_owner", "_values")

    def __new__(cls, owner: Any = (), kind: str | None = None) -> Any:
        """Return the parts of a module; of pairs a dict, as ``type(parts)(pairs)`` of copies."""
        return dict(owner) if kind is None else super().__new__(cls)

    def __init__(self, owner: Any, kind: str):
        self._owner = owner
        self._kind = kind
        self._values = owner._registered[kind]

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._owner._register(f"_{self._kind}s", name, value, self._kind)

    def __delitem__(self, name: str) -> None:
        del self._values[name]
        delattr(self._owner, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._values)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return self._values | dict(other) if isinstance(other, Mapping) else NotImplemented

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return dict(other) | self._values if isinstance(other, Mapping) else NotImplemented

    def __ior__(self, other: Any) -> Parts:
        self.update(other)
        return self

    def copy(self) -> dict[str, Any]:
        """Return them as a dict."""
        return dict(self._values)

    @classmethod
    def fromkeys(cls, names: Iterable[str], value: Any = None) -> dict[str, Any]:
        """Return a dict, as ``dict.fromkeys`` does."""
        return dict.fromkeys(names, value)

    # The dict's own views: quick, and they go backwards too.

    def keys(self) -> KeysView[str]:
        """Return their names."""
        return self._values.keys()

    def values(self) -> ValuesView[Any]:
        """Return the parts."""
        return self._values.values()

    def items(self) -> ItemsView[str, Any]:
        """Return names and parts."""
        return self._values.items()


def parts_of(kind: str) -> property:
    """Return the attribute of a module that has its own parts of a kind, and takes others."""

    def get(module: Any) -> Parts:
        return Parts(module, kind)

    def replace(module: Any, wanted: Mapping[str, Any]) -> None:
        replace_parts(module, kind, module._registered, wanted)

    return property(get, replace)


def show_as_pytorch(asked: bool) -> None:
    """Let ``module.__dict__`` be a ``Layout`` from now on, or the dict again."""
    global _as_pytorch
    _as_pytorch = asked


def shown(module: Any) -> Any:
    """Return what ``module.__dict__`` is."""
    return Layout(module) if _as_pytorch else dict_of(module)


def give(module: Any, attributes: Any) -> None:
    """Let a module have other attributes: ``module.__dict__ = attributes``."""
    if isinstance(attributes, Layout):
        _give_dict(module, dict_of(attributes.module))
    elif "_registered" not in attributes and "_parameters" in attributes:
        _give_dict(module, {})
        Layout(module).update(attributes)
    else:
        _give_dict(module, attributes)


class Layout(MutableMapping[str, Any]):
    """A module's attributes as PyTorch keeps them: parts in dicts of their own."""

    __slots__ = ("module",)

    def __init__(self, module: Any):
        self.module = module

    def _parts(self) -> dict[str, dict[str, Any]]:
        """Return the parts by kind; a module that is being read from a file may have none yet."""
        own = dict_of(self.module)
        own.setdefault("_transient", set())
        return own.setdefault("_registered", {kind: {} for kind in KINDS.values()})

    def _is_hidden(self, name: str) -> bool:
        return name in _OWN or any(name in values for values in self._parts().values())

    def __getitem__(self, name: str) -> Any:
        if name in KINDS:
            self._parts()
            return getattr(self.module, name)
        if name == _TRANSIENT:
            return dict_of(self.module)["_transient"]
        if self._is_hidden(name):
            raise KeyError(name)
        return dict_of(self.module)[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name in KINDS:
            replace_parts(self.module, KINDS[name], self._parts(), value)
        elif name == _TRANSIENT:
            dict_of(self.module)["_transient"] = set(value)
        else:
            dict_of(self.module)[name] = value

    def __delitem__(self, name: str) -> None:
        if self._is_hidden(name):
            raise KeyError(name)
        del dict_of(self.module)[name]

    def __iter__(self) -> Iterator[str]:
        self._parts()
        names = [name for name in dict_of(self.module) if not self._is_hidden(name)]
        shown_names = [name for name in names if name not in _HOOKS]
        return iter([*shown_names, *KINDS, _TRANSIENT])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return repr(dict(self))

    def copy(self) -> dict[str, Any]:
        """Return a dict of it, from which ``__setstate__`` and ``update`` make the module again."""
        made = {name: self[name] for name in self}
        made |= {name: OrderedDict(self[name]) for name in KINDS}
        made[_TRANSIENT] = set(self[_TRANSIENT])
        own = dict_of(self.module)
        return made | {name: own[name] for name in _HOOKS if name in own}


def replace_parts(
    module: Any, kind: str, parts: dict[str, dict[str, Any]], wanted: Mapping[str, Any]
) -> None:
    """Let a module have these parts of a kind and no others; as PyTorch's, they may be anything."""
    own, given = dict_of(module), dict(wanted)
    for name in parts[kind]:
        own.pop(name, None)
    parts[kind].clear()
    parts[kind].update(given)
    own.update(given)
