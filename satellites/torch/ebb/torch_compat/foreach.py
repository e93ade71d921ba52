# satellites/torch/ebb/torch_compat/foreach.py -- torch._foreach_*: one op on each tensor of a list.
#
# PyTorch fuses them on GPUs; here they are loops. `_foreach_add_` is Tensor.add_ of each, and so on
# for every method of a tensor: the name says which.
"""Ops on lists of tensors, made from the name of the method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ebb._C import Tensor

PREFIX = "_foreach_"
_PER_TENSOR = (list, tuple)
_OF_NUMBERS = {"maximum": "clamp_min", "minimum": "clamp_max"}  # methods take tensors alone


def function_of(name: str) -> Callable[..., Any] | None:
    """Return ``torch._foreach_*`` for a name, or None if there is no such method of tensors.

    >>> from ebb.torch_compat import foreach
    >>> foreach.function_of("_foreach_add")([ebb.ones(1), ebb.zeros(1)], 2)
    (tensor([3.]), tensor([2.]))
    """
    method = name.removeprefix(PREFIX)
    plain = method.removesuffix("_")
    is_here = hasattr(Tensor, method) or (plain != method and hasattr(Tensor, plain))
    if not name.startswith(PREFIX) or method.startswith("_") or not is_here:
        return None

    def each(tensors: Any, *given: Any, **options: Any) -> Any:
        made = []
        for place, one in enumerate(tensors):
            values = [value[place] if isinstance(value, _PER_TENSOR) else value for value in given]
            made.append(_done(one, method, values, options))
        return None if method.endswith("_") else tuple(made)

    each.__name__ = name
    each.__doc__ = f"Do ``Tensor.{method}`` with each tensor of a list, and return a tuple."
    return each


def _done(one: Tensor, method: str, values: list[Any], options: dict[str, Any]) -> Any:
    """Return a method's result; `maximum_`, which tensors lack, is `maximum` copied back."""
    plain = method.removesuffix("_")
    if plain in _OF_NUMBERS and values and not isinstance(values[0], Tensor):
        method = method.replace(plain, _OF_NUMBERS[plain])
    if hasattr(one, method):
        return getattr(one, method)(*values, **options)
    return one.copy_(getattr(one, plain)(*values, **options))
