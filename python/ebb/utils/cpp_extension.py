# python/ebb/utils/cpp_extension.py -- torch.utils.cpp_extension, whose compilers cannot serve ebb.
"""``torch.utils.cpp_extension``: its compilers of PyTorch's C++ say that they cannot serve ebb.

>>> from ebb.utils import cpp_extension
>>> cpp_extension.CUDA_HOME is None
True
"""

from __future__ import annotations

from typing import Any, NoReturn

from ebb import _C

__all__ = ["CUDA_HOME", "BuildExtension", "CUDAExtension", "CppExtension", "load", "load_inline"]

CUDA_HOME = None


def _refuse(name: str) -> NoReturn:
    raise _C.NotImplementedError(
        f"cpp_extension.{name}: needs C++ written against PyTorch, which ebb is not\n"
        "hint: write the op in Python with autograd.Function, or in C++ with ebb/ebb.h"
    )


def load(*args: Any, **kwargs: Any) -> Any:
    """Refuse to compile.

    Raises:
        NotImplementedError: Always.

    Example:
        >>> ebb.utils.cpp_extension.load("mine", ["mine.cpp"])
        Traceback (most recent call last):
            ...
        ebb.errors.NotImplementedError: cpp_extension.load: needs C++ written against PyTorch, ...
    """
    _refuse("load")


def load_inline(*args: Any, **kwargs: Any) -> Any:
    """Refuse to compile.

    Raises:
        NotImplementedError: Always.

    Example:
        >>> ebb.utils.cpp_extension.load_inline("mine", "int one() { return 1; }")
        Traceback (most recent call last):
            ...
        ebb.errors.NotImplementedError: cpp_extension.load_inline: needs C++ written against ...
    """
    _refuse("load_inline")


class BuildExtension:
    """Refuses to be made.

    Example:
        >>> ebb.utils.cpp_extension.BuildExtension()
        Traceback (most recent call last):
            ...
        ebb.errors.NotImplementedError: cpp_extension.BuildExtension: needs C++ written against ...
    """

    def __init__(self, *args: Any, **kwargs: Any):
        _refuse("BuildExtension")


def CppExtension(*args: Any, **kwargs: Any) -> Any:  # noqa: N802 -- PyTorch's name
    """Refuse to describe a part of a package.

    Raises:
        NotImplementedError: Always.

    Example:
        >>> ebb.utils.cpp_extension.CppExtension("mine", ["mine.cpp"])
        Traceback (most recent call last):
            ...
        ebb.errors.NotImplementedError: cpp_extension.CppExtension: needs C++ written against ...
    """
    _refuse("CppExtension")


def CUDAExtension(*args: Any, **kwargs: Any) -> Any:  # noqa: N802 -- PyTorch's name
    """Refuse to describe a part of a package.

    Raises:
        NotImplementedError: Always.

    Example:
        >>> ebb.utils.cpp_extension.CUDAExtension("mine", ["mine.cu"])
        Traceback (most recent call last):
            ...
        ebb.errors.NotImplementedError: cpp_extension.CUDAExtension: needs C++ written against ...
    """
    _refuse("CUDAExtension")
