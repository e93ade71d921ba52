# python/ebb/torch_compat/aten.py -- torch.ops.aten: ops by the names of PyTorch's table.
#
# `aten.mul` calls `ebb.mul`, or the method of that name, with the arguments as they are; so does
# `aten.mul.Tensor`, whichever overload is named.
"""``torch.ops.aten.add``, and ``torch.ops.aten.add.Tensor``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ebb
from ebb._C import _ops

# PyTorch's table has other arguments for these: the matrix first, factors of the input, and for
# losses the reduction as a number. They would be taken for something else.
_ARRANGED = ("embedding", "elu", "binary_cross_entropy", "binary_cross_entropy_with_logits")


class Overload:
    """One overload of an op, which is called as all of them are.

    Example:
        >>> from ebb.torch_compat import aten
        >>> aten.add.Tensor
        <Overload 'aten.add.Tensor'>
    """

    def __init__(self, name: str, call: Callable[..., Any]):
        self._name = name
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the function of this name returns."""
        return self._call(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r}>"

    def __str__(self) -> str:
        return self._name


class Packet(Overload):
    """An op; its attributes are its overloads.

    Example:
        >>> from ebb.torch_compat import aten
        >>> aten.mul.Tensor(ebb.ones(2), 3.0), aten.mul(ebb.ones(2), 3.0)
        (tensor([3., 3.]), tensor([3., 3.]))
    """

    def __getattr__(self, name: str) -> Overload:
        if name.startswith("_"):
            raise AttributeError(f"{self._name} has no attribute {name!r}")
        made = Overload(f"{self._name}.{name}", self._call)
        setattr(self, name, made)  # programs keep overloads as keys
        return made


def _function_of(name: str) -> Callable[..., Any] | None:
    if name.endswith(("loss", "cross_entropy")) or name in _ARRANGED:
        return None
    found = getattr(ebb, name, None) if name in vars(_ops) else None
    return found if callable(found) else getattr(ebb.Tensor, name, None)


def __getattr__(name: str) -> Any:
    call = None if name.startswith("_") else _function_of(name)
    if not callable(call):
        raise AttributeError(
            f"ops.aten.{name}: ebb has no function or method of Tensor of this name that takes "
            "PyTorch's arguments\nhint: call what torch or torch.nn.functional spells"
        )
    made = Packet(f"aten.{name}", call)
    globals()[name] = made
    return made
