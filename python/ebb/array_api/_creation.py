# python/ebb/array_api/_creation.py -- making arrays, and what is asked of dtypes.
"""Creation and dtypes."""

from __future__ import annotations

from typing import Any

import ebb
from ebb import _C
from ebb._C import Tensor
from ebb._functions.dtypes import (
    can_cast as _can_cast,
    finfo as _finfo,
    iinfo as _iinfo,
    promote_types as _promote,
    result_type as _result,
)
from ebb._tensor.exchange import from_dlpack as from_dlpack

arange, empty, zeros, ones = ebb.arange, ebb.empty, ebb.zeros, ebb.ones
empty_like, zeros_like, ones_like = ebb.empty_like, ebb.zeros_like, ebb.ones_like
full, full_like = ebb.full, ebb.full_like

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float16", "bfloat16", "float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Tensor:
    """Return an array of numbers, or over the memory of another array.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.asarray([1, 2], dtype=xp.float32)
        tensor([1., 2.])
    """
    if copy is False and not isinstance(obj, Tensor):
        raise _C.ValueError("asarray: needs a tensor where copy is False, got something else")
    made = ebb.as_tensor(obj, dtype=dtype, device=device)
    if copy is False and made is not obj:
        raise _C.ValueError("asarray: needs a copy for that dtype or device, got copy False")
    return made.clone() if copy and made is obj else made


def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Tensor:
    """Return the elements in another dtype.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.astype(xp.asarray([1.5, 2.5]), xp.int64)
        tensor([1, 2])
    """
    made = x.to(dtype) if device is None else x.to(device).to(dtype)
    return made.clone() if copy and made is x else made


def eye(
    n_rows: Any, n_cols: Any = None, /, *, k: Any = 0, dtype: Any = None, device: Any = None
) -> Tensor:
    """Return ones along diagonal ``k``, zeros elsewhere.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.eye(2, 3, k=1)
        tensor([[0., 1., 0.],
                [0., 0., 1.]])
    """
    columns = n_rows if n_cols is None else n_cols
    if k == 0:
        return ebb.eye(n_rows, columns, dtype=dtype, device=device)
    rows = ebb.arange(n_rows, device=device).unsqueeze(1)
    return (ebb.arange(columns, device=device) - k == rows).to(dtype or ebb.get_default_dtype())


def linspace(
    start: Any,
    stop: Any,
    /,
    num: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: Any = True,
) -> Tensor:
    """Return evenly spaced numbers, ``stop`` among them if ``endpoint``.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.linspace(0.0, 1.0, 4, endpoint=False)
        tensor([0.0000, 0.2500, 0.5000, 0.7500])
    """
    made = ebb.linspace(start, stop, num + (not endpoint), dtype=dtype, device=device)
    return made[:num]


def meshgrid(*arrays: Any, indexing: Any = "xy") -> list[Tensor]:
    """Return the coordinates of all points of a grid.

    Example:
        >>> from ebb import array_api as xp
        >>> [one.tolist() for one in xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3, 4]))]
        [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    return list(ebb.meshgrid(*arrays, indexing=indexing)) if arrays else []


def tril(x: Any, /, *, k: Any = 0) -> Tensor:
    """Return the lower triangle of matrices.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.tril(xp.ones((2, 2)))
        tensor([[1., 0.],
                [1., 1.]])
    """
    return ebb.tril(x, k)


def triu(x: Any, /, *, k: Any = 0) -> Tensor:
    """Return the upper triangle of matrices.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.triu(xp.ones((2, 2)))
        tensor([[1., 1.],
                [0., 1.]])
    """
    return ebb.triu(x, k)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Return whether promotion leads from one dtype, or an array's, to another.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.can_cast(xp.int8, xp.int32), xp.can_cast(xp.float64, xp.float32)
        (True, False)
    """
    own = from_.dtype if isinstance(from_, Tensor) else from_
    return _can_cast(own, to) and _promote(own, to) is to


def result_type(*arrays_and_dtypes: Any) -> _C.dtype:
    """Return the dtype that arrays, numbers and dtypes give together.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.result_type(xp.int8, xp.uint8), xp.result_type(xp.ones(1), 2.5)
        (ebb.int16, ebb.float32)
    """
    if not arrays_and_dtypes:
        raise _C.ValueError("result_type: needs at least one argument, got none")
    dtypes = [one.dtype if isinstance(one, Tensor) else one for one in arrays_and_dtypes]
    numbers = [one for one in dtypes if not isinstance(one, _C.dtype)]
    known = [one for one in dtypes if isinstance(one, _C.dtype)]
    found = known[0] if known else _result(numbers[0], numbers[0])
    for one in known[1:]:
        found = _promote(found, one)
    for one in numbers:
        found = _result(ebb.empty(1, dtype=found), one)
    return found


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a dtype is of a kind, of one of several, or the dtype given.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.isdtype(xp.int8, "integral"), xp.isdtype(xp.int8, ("bool", xp.float32))
        (True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, _C.dtype):
        return dtype is kind
    if kind not in _KINDS:
        raise _C.ValueError(f"isdtype: needs one of {', '.join(_KINDS)}, got {kind!r}")
    return dtype.name in _KINDS[kind]


def finfo(type: Any, /) -> Any:
    """Return the limits of a floating dtype, or that of an array.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.finfo(xp.float32).bits
        32
    """
    return _finfo(type.dtype if isinstance(type, Tensor) else type)


def iinfo(type: Any, /) -> Any:
    """Return the limits of an integer dtype, or that of an array.

    Example:
        >>> from ebb import array_api as xp
        >>> xp.iinfo(xp.int8).max
        127
    """
    return _iinfo(type.dtype if isinstance(type, Tensor) else type)


__all__ = [
    *("arange", "asarray", "astype", "can_cast", "empty", "empty_like", "eye", "finfo"),
    *("from_dlpack", "full", "full_like", "iinfo", "isdtype", "linspace", "meshgrid", "ones"),
    *("ones_like", "result_type", "tril", "triu", "zeros", "zeros_like"),
]
