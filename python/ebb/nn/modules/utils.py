# python/ebb/nn/modules/utils.py -- small functions that programs copy from layers of PyTorch.
#
# PyTorch's names begin with an underscore; so do the second ones here.
"""One value for several dims, and what transformers and recurrent layers share."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb.nn import functional as F
from ebb.nn.containers import ModuleList
from ebb.nn.module import Module


def ntuple(count: int) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that makes a tuple of ``count`` of one value, and of several a tuple.

    >>> from ebb.nn.modules.utils import _pair
    >>> _pair(3), _pair([1, 2])
    ((3, 3), (1, 2))
    """

    def made(value: Any) -> tuple[Any, ...]:
        if isinstance(value, Iterable) and not isinstance(value, str):
            return tuple(value)
        return tuple(itertools.repeat(value, count))

    return made


def reverse_repeat_tuple(values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """Return the values from the last to the first, each ``count`` times.

    >>> from ebb.nn.modules.utils import reverse_repeat_tuple
    >>> reverse_repeat_tuple((1, 2), 2)
    (2, 2, 1, 1)
    """
    return tuple(value for value in reversed(values) for _ in range(count))


def list_with_default(out_size: Any, defaults: Sequence[int]) -> Any:
    """Return sizes, of which None stands for the last ones of others.

    >>> from ebb.nn.modules.utils import list_with_default
    >>> list_with_default([None, 2], [5, 6, 7])
    [6, 2]
    """
    if isinstance(out_size, int | _C.Tensor):
        return out_size
    if len(defaults) <= len(out_size):
        raise _C.ValueError(
            f"list_with_default: needs defaults for more than {len(out_size)} sizes, got "
            f"{len(defaults)}"
        )
    last = defaults[-len(out_size) :]
    return [default if one is None else one for one, default in zip(out_size, last, strict=True)]


def addindent(text: str, spaces: int) -> str:
    """Return a text with its lines after the first moved to the right.

    >>> from ebb.nn.modules.utils import addindent
    >>> addindent("a\\nb", 2)
    'a\\n  b'
    """
    return text.replace("\n", "\n" + " " * spaces)


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """Return a tensor with a dim in another order.

    >>> from ebb.nn.modules.utils import apply_permutation
    >>> apply_permutation(ebb.tensor([[1, 2]]), ebb.tensor([1, 0]))
    tensor([[2, 1]])
    """
    return tensor.index_select(dim, permutation)


def get_clones(module: Module, count: int) -> ModuleList:
    """Return ``count`` copies of a module.

    >>> from ebb.nn.modules.utils import get_clones
    >>> len(get_clones(ebb.nn.Linear(1, 1), 3))
    3
    """
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    """Return relu or gelu by name.

    >>> from ebb.nn.modules.utils import get_activation_fn
    >>> get_activation_fn("relu") is ebb.nn.functional.relu
    True
    """
    if activation not in ("relu", "gelu"):
        raise _C.ValueError(f"_get_activation_fn: needs relu or gelu, got {activation!r}")
    return getattr(F, activation)


_ntuple, _reverse_repeat_tuple, _list_with_default = ntuple, reverse_repeat_tuple, list_with_default
_single, _pair, _triple, _quadruple = ntuple(1), ntuple(2), ntuple(3), ntuple(4)

# How programs annotate sizes.
_size_any_t = _scalar_or_tuple_any_t = int | tuple[int, ...]
_size_1_t, _size_2_t = int | tuple[int], int | tuple[int, int]
_size_3_t = int | tuple[int, int, int]
