# python/ebb/nn/parameter_containers.py -- ParameterList and ParameterDict.
"""Containers whose parameters a module lists as its own."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ebb import _C
from ebb.nn.containers import Named
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter


def _as_parameter(op: str, value: object) -> Parameter:
    """Return ``value`` as a parameter; a plain tensor becomes one."""
    if isinstance(value, Parameter):
        return value
    if not isinstance(value, _C.Tensor):
        raise _C.DTypeError(f"{op}: needs Tensors, got {type(value).__name__}")
    return Parameter(value)


def _describe(pairs: Iterable[tuple[str, Parameter]]) -> str:
    return "\n".join(
        f"({name}): Parameter containing: [{p.dtype} of size {'x'.join(map(str, p.shape))}]"
        for name, p in pairs
    )


class ParameterList(Module):
    """A list of parameters.

    Args:
        values: Parameters, or tensors that become parameters.

    Example:
        >>> values = ebb.nn.ParameterList([ebb.ones(2), ebb.zeros(3)])
        >>> len(values), values[0].requires_grad
        (2, True)
    """

    def __init__(self, values: Iterable[_C.Tensor] | None = None):
        super().__init__()
        self.extend(() if values is None else values)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(list(self._parameters.values()))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return ParameterList(list(self)[index])
        return self._parameters[self._name_at(index)]

    def __setitem__(self, index: int, value: _C.Tensor) -> None:
        name = self._name_at(index)
        self.register_parameter(name, _as_parameter("ParameterList", value))

    def __iadd__(self, other: Iterable[_C.Tensor]) -> ParameterList:
        return self.extend(other)

    def append(self, value: _C.Tensor) -> ParameterList:
        """Add a parameter at the end."""
        self.register_parameter(str(len(self)), _as_parameter("ParameterList", value))
        return self

    def extend(self, values: Iterable[_C.Tensor]) -> ParameterList:
        """Add parameters at the end."""
        if isinstance(values, _C.Tensor):
            raise _C.DTypeError("ParameterList: needs a list of Tensors, got one Tensor")
        for value in list(values):
            self.append(value)
        return self

    def _name_at(self, index: int) -> str:
        position, count = operator.index(index), len(self)
        if not -count <= position < count:
            raise _C.IndexError(
                f"ParameterList: needs an index from {-count} to {count - 1}, got {index}"
            )
        return str(position % count)

    def extra_repr(self) -> str:
        """Return one line per parameter."""
        return _describe(self._parameters.items())


class ParameterDict(Named[Parameter]):
    """A dict of parameters by name.

    Args:
        parameters: A dict, or pairs of a name and a tensor.

    Example:
        >>> values = ebb.nn.ParameterDict({"scale": ebb.ones(2)})
        >>> list(values.keys())
        ['scale']
    """

    def __init__(self, parameters: Mapping[str, _C.Tensor] | Iterable[Any] | None = None):
        super().__init__()
        self.update(() if parameters is None else parameters)

    @property
    def _own(self) -> Mapping[str, Parameter]:
        return self._parameters

    def __setitem__(self, key: str, value: _C.Tensor) -> None:
        self.register_parameter(key, _as_parameter("ParameterDict", value))

    def get(self, key: str, default: Any = None) -> Any:
        """Return a parameter, or ``default`` if there is none of that name."""
        return self._parameters.get(key, default)

    def popitem(self) -> tuple[str, Parameter]:
        """Take the last parameter out; return its name and it. KeyError if there is none."""
        if not self._parameters:
            raise KeyError("popitem: the ParameterDict is empty")
        key = list(self._parameters)[-1]
        return key, self.pop(key)

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a new one with these names, all with ``default``."""
        return ParameterDict(dict.fromkeys(keys, default))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return a parameter, after ``default`` was added if there was none of that name."""
        if key not in self:
            self[key] = default
        return self[key]

    def copy(self) -> ParameterDict:
        """Return another dict of the same parameters."""
        return ParameterDict(self)

    def update(self, parameters: Mapping[str, _C.Tensor] | Iterable[Any]) -> None:
        """Add parameters, or replace those of the same names."""
        is_dict = isinstance(parameters, (Mapping, ParameterDict))
        for key, value in list(parameters.items() if is_dict else parameters):
            self[key] = value

    def extra_repr(self) -> str:
        """Return one line per parameter."""
        return _describe(self._parameters.items())
