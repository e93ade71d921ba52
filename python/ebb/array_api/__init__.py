# python/ebb/array_api/__init__.py -- ebb.array_api: the names of the Array API standard, 2024.12.
#
# Most are ops of ebb under the standard's name, with `axis` for `dim`. Start reading at
# _elementwise.py; what it takes from ebb is there as soon as ebb has it.
"""The namespace that ``tensor.__array_namespace__()`` returns.

Where a tensor differs from the standard's array: ``x.size`` is a method, and arithmetic knows no
uint16, uint32 and uint64.
"""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb._base import naming as _naming
from ebb.array_api._creation import *  # noqa: F403
from ebb.array_api._elementwise import *  # noqa: F403
from ebb.array_api._reductions import *  # noqa: F403
from ebb.array_api._shapes import *  # noqa: F403

__array_api_version__ = "2024.12"

bool: _C.dtype = _C.bool
int8: _C.dtype = _C.int8
int16: _C.dtype = _C.int16
int32: _C.dtype = _C.int32
int64: _C.dtype = _C.int64
uint8: _C.dtype = _C.uint8
uint16: _C.dtype = _C.uint16
uint32: _C.dtype = _C.uint32
uint64: _C.dtype = _C.uint64
float32: _C.dtype = _C.float32
float64: _C.dtype = _C.float64
complex64: _C.dtype = _C.complex64
complex128: _C.dtype = _C.complex128
e: float = 2.718281828459045
pi: float = 3.141592653589793
inf: float = float("inf")
nan: float = float("nan")
newaxis = None


class _Info:
    """What the namespace can do."""

    def capabilities(self) -> dict[str, Any]:
        """Return whether shapes may depend on data, and how many dims there may be."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self) -> Any:
        """Return where new arrays are."""
        return _C.get_default_device()

    def devices(self) -> list[Any]:
        """Return all devices."""
        return _C.devices()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the dtypes of what is made of Python's numbers."""
        del device
        real = _C.get_default_dtype()
        complex_ = complex128 if real is float64 else complex64
        return {"real floating": real, "complex floating": complex_, "integral": int64,
                "indexing": int64}  # fmt: skip

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """Return the dtypes that functions take, by name, perhaps those of a kind only."""
        del device
        names = ("bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64",
                 "complex64", "complex128")  # fmt: skip
        found = {name: getattr(_C, name) for name in names}
        if kind is None:
            return found
        return {name: dtype for name, dtype in found.items() if isdtype(dtype, kind)}  # noqa: F405


def __array_namespace_info__() -> _Info:  # noqa: N807
    """Return what the namespace can do."""
    return _Info()


_naming.name_module(__name__)
