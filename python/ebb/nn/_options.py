# python/ebb/nn/_options.py -- what modules that hold options only have in common.
"""Their classes are generated from ``ops/modules``; here is how options are checked and shown.

Each check returns the value as it was given, or raises an error that names class and argument.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.nn import init
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter


class Options(Module):
    """Base of modules whose rows say all: shows the options named in ``_shown``.

    A name that ends in "?" is shown only where it is neither None nor False, one that ends in "!"
    without its name.
    """

    _shown: tuple[str, ...] = ()

    def extra_repr(self) -> str:
        """Return the options."""
        shown = []
        for entry in self._shown:
            name = entry.rstrip("?!")
            value = getattr(self, name)
            if name in self._parameters:  # of an option of the same name: whether there is one
                value = value is not None
            if entry.endswith("!"):
                shown.append(f"{value}")
            elif name == entry or (value is not None and value is not False):
                shown.append(f"{name}={value!r}")
        return ", ".join(shown)


def _refuse(owner: Module, name: str, wanted: str, value: Any) -> Any:
    raise _C.DTypeError(
        f"{type(owner).__name__}: argument '{name}' must be {wanted}, got {type(value).__name__}"
    )


def number(owner: Module, name: str, value: Any) -> Any:
    """Check for a real number."""
    if hasattr(value, "__float__") or hasattr(value, "__index__"):
        return value
    return _refuse(owner, name, "number", value)


def integer(owner: Module, name: str, value: Any) -> Any:
    """Check for an integer."""
    if hasattr(value, "__index__"):
        return value
    return _refuse(owner, name, "int", value)


def optional_integer(owner: Module, name: str, value: Any) -> Any:
    """Check for an integer or None."""
    if value is None or hasattr(value, "__index__"):
        return value
    return _refuse(owner, name, "int or None", value)


def integers(owner: Module, name: str, value: Any) -> Any:
    """Check for an integer or a sequence of some."""
    if not hasattr(value, "__index__"):
        try:
            for one in value:
                operator.index(one)
        except TypeError:
            _refuse(owner, name, "int or sequence of ints", value)
    return value


def flag(owner: Module, name: str, value: Any) -> Any:
    """Check for something that is true or false in itself."""
    if hasattr(value, "__bool__"):
        return value
    return _refuse(owner, name, "bool", value)


def sizes(owner: Module, name: str, value: Any) -> tuple[int, ...]:
    """Return sizes as a tuple, one for a number: each at least 0, and at least one of them."""
    shape = (integers(owner, name, value),) if hasattr(value, "__index__") else tuple(value)
    if not shape or any(size < 0 for size in shape):
        raise _C.ValueError(
            f"{type(owner).__name__}: {name} needs sizes >= 0, at least one, got {list(shape)}"
        )
    return shape


def counts(owner: Module, name: str, value: Any, dims: int) -> tuple[int, ...]:
    """Return two counts for each dim, before and after it; one number stands for all."""
    given = integers(owner, name, value)
    all_of_them = [given] * (2 * dims) if hasattr(given, "__index__") else given
    made = tuple(operator.index(one) for one in all_of_them)
    if len(made) != 2 * dims:
        raise _C.ValueError(
            f"{type(owner).__name__}: {name} needs one number or {2 * dims}, got {list(made)}"
        )
    return made


def channels(owner: Module, input: Tensor, dims: int) -> None:
    """Check for an input of channels before ``dims`` dims, or of a batch of such."""
    if not dims + 1 <= input.ndim <= dims + 2:
        raise _C.ShapeError(
            f"{type(owner).__name__}: input needs {dims + 1} to {dims + 2} dims, got shape "
            f"{list(input.shape)}"
        )


def hold(
    owner: Module, name: str, shape: Sequence[int], device: Any, dtype: Any, wanted: bool = True
) -> None:
    """Register a parameter whose values are not set, or None if it is not wanted."""
    made = Parameter(_C.empty(tuple(shape), device=device, dtype=dtype)) if wanted else None
    owner.register_parameter(name, made)


def by_fan(parameter: Tensor, fan: int) -> Tensor:
    """Draw uniformly from ``+-1/sqrt(fan)``."""
    bound = 1 / math.sqrt(fan) if fan > 0 else 0.0
    return init.uniform_(parameter, -bound, bound)


def text(owner: Module, name: str, value: Any) -> Any:
    """Check for a str."""
    return value if isinstance(value, str) else _refuse(owner, name, "str", value)


def choice(owner: Module, name: str, value: Any, known: tuple[str, ...]) -> Any:
    """Check for one of some words."""
    if value in known:
        return value
    raise _C.ValueError(
        f"{type(owner).__name__}: {name} must be one of {', '.join(known)}, got {value!r}"
    )


def averaged(owner: Module, reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """Return ``reduction``, unless it was told by one of its two old keywords."""
    for name, value in (("size_average", size_average), ("reduce", reduce)):
        if value is not None and not isinstance(value, bool):
            _refuse(owner, name, "bool", value)
    if size_average is None and reduce is None:
        return reduction
    meant = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(
        f"{type(owner).__name__}: size_average and reduce are old; write reduction={meant!r}",
        stacklevel=4,  # behind takes_older_places()
    )
    return meant
