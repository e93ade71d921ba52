# python/ebb/data/collate.py -- turns a list of samples into one batch.
"""``default_collate`` stacks what can be stacked and keeps the structure around it."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import ebb
from ebb import _C
from ebb._base.arguments import check_depth

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]


def default_collate(batch: Sequence[Any]) -> Any:
    """Return one batch made of samples that are alike.

    Tensors, arrays and numbers become tensors with one more dim (Python floats float64, ints
    int64). Dicts, lists and named tuples stay such, tuples become lists. Texts are kept side by
    side: in a tuple if the samples are lists or tuples, in a list if they are dicts.

    ``ebb.data.collate.default_collate_fn_map`` says by type what is done: a program may add to it.

    Raises:
        TypeError: If the samples hold anything else.
        ValueError: If they differ in structure or shape.
    Example:
        >>> ebb.data.default_collate([{"x": 1.0, "y": 2}, {"x": 3.0, "y": 4}])["y"]
        tensor([2, 4])
    """
    return _collated(batch, default_collate_fn_map, 0)


def collate(
    batch: Sequence[Any], *, collate_fn_map: Mapping[Any, Callable[..., Any]] | None = None
) -> Any:
    """Return one batch, in which functions of your own collate samples of the types you name.

    Args:
        batch: The samples.
        collate_fn_map: Functions by type, or by a tuple of types: that of the sample's own type,
            else the first of which it is an instance. Each is called as
            ``function(batch, collate_fn_map=collate_fn_map)``. Only containers need none.

    Example:
        >>> from ebb.data.collate import collate, default_collate_fn_map
        >>> longest = lambda batch, *, collate_fn_map: max(batch, key=len)
        >>> collate([["a", 1], ["bc", 2]], collate_fn_map={**default_collate_fn_map, str: longest})
        ['bc', tensor([1, 2])]
    """
    return _collated(batch, collate_fn_map or {}, 0)


def default_convert(data: Any) -> Any:
    """Return a sample with its arrays as tensors; what a DataLoader without batches does.

    Example:
        >>> import numpy
        >>> ebb.data.default_convert(numpy.ones(2))
        tensor([1., 1.], dtype=ebb.float64)
    """
    return _converted(data, 0)


def stacks_tensors() -> bool:
    """Whether ``default_collate`` still stacks tensors: a dataset may then do it in one op."""
    return default_collate_fn_map.get(_C.Tensor) is collate_tensor_fn


def _collated(batch: Sequence[Any], functions: Mapping[Any, Callable[..., Any]], depth: int) -> Any:
    first = batch[0]
    function = functions.get(type(first)) or next(
        (function for kind, function in functions.items() if isinstance(first, kind)), None
    )
    if function is not None:
        return function(batch, collate_fn_map=functions)
    check_depth("default_collate", depth)
    if isinstance(first, Mapping):
        return _like(first, {key: _collated([sample[key] for sample in batch], functions, depth + 1)
                             for key in first})  # fmt: skip
    if isinstance(first, Sequence):
        sizes = sorted({len(sample) for sample in batch})
        if len(sizes) != 1:
            raise _C.ValueError(f"default_collate: needs samples of equal length, got {sizes}")
        columns = [_collated(column, functions, depth + 1) for column in zip(*batch, strict=True)]
        if hasattr(first, "_fields"):  # a named tuple
            return type(first)(*columns)
        return columns if isinstance(first, tuple) else _like(first, columns)
    raise _C.DTypeError(
        "default_collate: needs tensors, arrays, numbers, texts, dicts or sequences, "
        f"got {type(first).__name__}\nhint: pass a collate_fn"
    )


def _converted(data: Any, depth: int) -> Any:
    if _is_numpy(data) and data.dtype.kind in "biufc":
        return _C.as_tensor(data)
    if isinstance(data, Mapping):
        check_depth("default_convert", depth)
        return _like(data, {key: _converted(value, depth + 1) for key, value in data.items()})
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        return data
    check_depth("default_convert", depth)
    values = [_converted(value, depth + 1) for value in data]
    if isinstance(data, tuple):
        return type(data)(*values) if hasattr(data, "_fields") else values
    return _like(data, values)


def _is_numpy(value: Any) -> bool:
    """Whether it is an array or a number of NumPy, without importing NumPy for that."""
    numpy = sys.modules.get("numpy")
    is_one = numpy is not None and isinstance(value, numpy.ndarray | numpy.generic)
    return is_one and not isinstance(value, str | bytes)


def _like(first: Any, values: Any) -> Any:
    """Return ``values`` in a container such as ``first``, or as they are."""
    if type(first) in (dict, list):
        return values
    try:
        if not isinstance(first, MutableMapping | MutableSequence):
            return type(first)(values)
        made = copy.copy(first)  # which keeps what else it holds, and needs no constructor
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            made[key] = value
        return made
    except (TypeError, ValueError):
        return values


def collate_tensor_fn(batch: Sequence[_C.Tensor], *, collate_fn_map: Any = None) -> _C.Tensor:
    """Return tensors stacked."""
    shapes = {tuple(tensor.shape) for tensor in batch}
    if len(shapes) != 1:
        raise _C.ShapeError(
            f"default_collate: needs tensors of one shape, got {_some(shapes)}"
            "\nhint: pass a collate_fn that pads them"
        )
    return ebb.stack(list(batch))


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> _C.Tensor:
    """Return arrays and numbers of NumPy stacked."""
    import numpy as np

    if not all(_is_numpy(value) for value in batch):
        return collate_tensor_fn([_C.as_tensor(value) for value in batch])
    if batch[0].dtype.kind not in "?biufc":
        raise _C.DTypeError(f"default_collate: needs arrays of numbers, got {batch[0].dtype}")
    shapes = {array.shape for array in batch}
    if len(shapes) != 1:
        raise _C.ShapeError(f"default_collate: needs arrays of one shape, got {_some(shapes)}")
    return _C.from_numpy(np.stack(batch))


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: Any = None) -> _C.Tensor:
    """Return numbers as a tensor of float64."""
    return _C.tensor(list(batch), dtype=_C.float64)


def collate_int_fn(batch: Sequence[complex], *, collate_fn_map: Any = None) -> _C.Tensor:
    """Return numbers as a tensor."""
    return _C.tensor(list(batch))


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Sequence[Any]:
    """Return texts as they are."""
    return batch


def _some(shapes: set[Any]) -> str:
    return " and ".join(str(list(shape)) for shape in sorted(shapes)[:3])


class _NumPyKind(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return _is_numpy(value)


class _NumPyValue(metaclass=_NumPyKind):
    """Stands for all that is NumPy's: its own types would need its import."""


default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    _C.Tensor: collate_tensor_fn,
    _NumPyValue: collate_numpy_array_fn,  # before float, of which numpy.float64 is one
    float: collate_float_fn,
    int: collate_int_fn,
    complex: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
