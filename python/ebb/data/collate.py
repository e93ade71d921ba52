# python/ebb/data/collate.py -- turns a list of samples into one batch.
"""``default_collate`` stacks what can be stacked and keeps the structure around it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import ebb
from ebb import _C
from ebb._base.arguments import check_depth

__all__ = ["default_collate", "default_convert"]


def default_collate(batch: Sequence[Any]) -> Any:
    """Return one batch made of samples that are alike.

    Tensors, arrays and numbers become tensors with one more dim (Python floats float64, ints
    int64); dicts, lists, tuples and named tuples of them stay such; texts become lists.

    Raises:
        TypeError: If the samples hold anything else.
        ValueError: If they differ in structure or shape.
    Example:
        >>> ebb.data.default_collate([{"x": 1.0, "y": 2}, {"x": 3.0, "y": 4}])["y"]
        tensor([2, 4])
    """
    return _collated(batch, 0)


def default_convert(data: Any) -> Any:
    """Return a sample with its arrays as tensors; what a DataLoader without batches does.

    Example:
        >>> import numpy
        >>> ebb.data.default_convert(numpy.ones(2))
        tensor([1., 1.], dtype=ebb.float64)
    """
    return _converted(data, 0)


def _collated(batch: Sequence[Any], depth: int) -> Any:
    first = batch[0]
    if isinstance(first, _C.Tensor):
        return _stack(batch)
    if _is_numpy(first):
        return _stack_arrays(batch)
    if isinstance(first, bool | int | float | complex):
        return _C.tensor(list(batch), dtype=_C.float64 if isinstance(first, float) else None)
    if isinstance(first, str | bytes):
        return list(batch)
    check_depth("default_collate", depth)
    if isinstance(first, Mapping):
        return _like(first, {key: _collated([sample[key] for sample in batch], depth + 1)
                             for key in first})  # fmt: skip
    if isinstance(first, Sequence):
        sizes = sorted({len(sample) for sample in batch})
        if len(sizes) != 1:
            raise _C.ValueError(f"default_collate: needs samples of equal length, got {sizes}")
        columns = [_collated(column, depth + 1) for column in zip(*batch, strict=True)]
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
    """Whether it is an array or a scalar of NumPy, without importing NumPy for that."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray | numpy.generic)


def _like(first: Any, values: Any) -> Any:
    """Return ``values`` in a container of the type of ``first``, or as they are."""
    if type(first) in (dict, list):
        return values
    try:
        return type(first)(values)
    except TypeError:
        return values


def _stack(batch: Sequence[_C.Tensor]) -> _C.Tensor:
    shapes = {tuple(tensor.shape) for tensor in batch}
    if len(shapes) != 1:
        raise _C.ShapeError(
            f"default_collate: needs tensors of one shape, got {_some(shapes)}"
            "\nhint: pass a collate_fn that pads them"
        )
    return ebb.stack(list(batch))


def _stack_arrays(batch: Sequence[Any]) -> _C.Tensor:
    import numpy as np

    if batch[0].dtype.kind not in "?biufc":
        raise _C.DTypeError(f"default_collate: needs arrays of numbers, got {batch[0].dtype}")
    shapes = {array.shape for array in batch}
    if len(shapes) != 1:
        raise _C.ShapeError(f"default_collate: needs arrays of one shape, got {_some(shapes)}")
    return _C.from_numpy(np.stack(batch))


def _some(shapes: set[Any]) -> str:
    return " and ".join(str(list(shape)) for shape in sorted(shapes)[:3])
