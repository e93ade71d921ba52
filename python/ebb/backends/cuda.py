# python/ebb/backends/cuda.py -- switches of PyTorch's kernels for CUDA; kept, without effect but
# for matmul.allow_tf32.
"""CUDA's libraries. ebb has CUDA by a plug-in only, which looks at ``matmul.allow_tf32`` alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ebb import _C
from ebb._modes import is_tf32, set_tf32

__all__ = [
    "cudnn_sdp_enabled",
    "cufft_plan_cache",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "sdp_kernel",
]


class Matmul:
    """Switches of matrix products; the other two have no effect: sums are in float32.

    Example:
        >>> ebb.backends.cuda.matmul.allow_tf32 = True
        >>> ebb.get_float32_matmul_precision()
        'high'
        >>> ebb.backends.cuda.matmul.allow_tf32 = False
    """

    def __init__(self) -> None:
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True

    @property
    def allow_tf32(self) -> bool:
        """Whether products of float32 may round their factors to 10 bits of mantissa."""
        return is_tf32()

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        if not isinstance(allowed, bool):
            raise _C.DTypeError(f"allow_tf32: needs a bool, got {type(allowed).__name__}")
        set_tf32("allow_tf32", allowed)


matmul = Matmul()
_sdp = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}


class PlanCache:
    """The plans of cuFFT that are kept, of which there are none; an index gives a device's.

    Example:
        >>> ebb.backends.cuda.cufft_plan_cache[0].max_size = 10
        >>> ebb.backends.cuda.cufft_plan_cache.clear()
    """

    size = 0
    max_size = 0

    def clear(self) -> None:
        """Do nothing."""

    def __getitem__(self, device: Any) -> PlanCache:
        return self


cufft_plan_cache = PlanCache()


def _keep(caller: str, kernel: str, enabled: object) -> None:
    if not isinstance(enabled, bool | int):
        raise _C.DTypeError(f"{caller}: enabled needs a bool, got {type(enabled).__name__}")
    _sdp[kernel] = bool(enabled)


def is_built() -> bool:
    """Return False: CUDA is not part of the library; a plug-in may bring it.

    Example:
        >>> ebb.backends.cuda.is_built()
        False
    """
    return False


def enable_flash_sdp(enabled: bool) -> None:
    """Keep whether attention may use the kernel of that name.

    Example:
        >>> ebb.backends.cuda.enable_flash_sdp(True)
    """
    _keep("enable_flash_sdp", "flash", enabled)


def flash_sdp_enabled() -> bool:
    """Return what was asked for.

    Example:
        >>> ebb.backends.cuda.flash_sdp_enabled()
        True
    """
    return _sdp["flash"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Keep whether cuDNN's kernel may be chosen, and change nothing.

    Example:
        >>> ebb.backends.cuda.enable_cudnn_sdp(True)
    """
    _keep("enable_cudnn_sdp", "cudnn", enabled)


def cudnn_sdp_enabled() -> bool:
    """Return what ``enable_cudnn_sdp`` kept.

    Example:
        >>> ebb.backends.cuda.cudnn_sdp_enabled()
        True
    """
    return _sdp["cudnn"]


def is_flash_attention_available() -> bool:
    """Return False: attention has other kernels.

    Example:
        >>> ebb.backends.cuda.is_flash_attention_available()
        False
    """
    return False


def preferred_linalg_library(backend: Any = None) -> str:
    """Return "default", whatever is preferred: there is one library.

    Example:
        >>> ebb.backends.cuda.preferred_linalg_library("magma")
        'default'
    """
    del backend
    return "default"


def preferred_blas_library(backend: Any = None) -> str:
    """Return "default", whatever is preferred: there is one library.

    Example:
        >>> ebb.backends.cuda.preferred_blas_library("cublas")
        'default'
    """
    del backend
    return "default"


def enable_math_sdp(enabled: bool) -> None:
    """Keep whether attention may use the kernel of that name.

    Example:
        >>> ebb.backends.cuda.enable_math_sdp(True)
    """
    _keep("enable_math_sdp", "math", enabled)


def math_sdp_enabled() -> bool:
    """Return what was asked for.

    Example:
        >>> ebb.backends.cuda.math_sdp_enabled()
        True
    """
    return _sdp["math"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Keep whether attention may use the kernel of that name.

    Example:
        >>> ebb.backends.cuda.enable_mem_efficient_sdp(True)
    """
    _keep("enable_mem_efficient_sdp", "mem_efficient", enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Return what was asked for.

    Example:
        >>> ebb.backends.cuda.mem_efficient_sdp_enabled()
        True
    """
    return _sdp["mem_efficient"]


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True
) -> Iterator[None]:
    """Keep three of the switches within a block.

    Example:
        >>> with ebb.backends.cuda.sdp_kernel(enable_flash=False):
        ...     ebb.backends.cuda.flash_sdp_enabled()
        False
    """
    before = dict(_sdp)
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient)
    try:
        yield
    finally:
        _sdp.update(before)
