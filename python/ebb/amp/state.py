# python/ebb/amp/state.py -- what autocast does now on this thread: asking for it, and setting it.
#
# What is set holds until the block ends that it was set in
# (ebb/autograd/history/casts/autocast_state.h).
"""The state of autocast, under PyTorch's names."""

from __future__ import annotations

from ebb import _C

_ELSEWHERE = ("hpu", "ipu", "maia", "mps", "mtia", "xla", "xpu")  # which ebb never has


def is_autocast_available(device_type: str | _C.device) -> bool:
    """Return whether this process has such a device.

    Example:
        >>> ebb.amp.is_autocast_available("cpu")
        True
    """
    wanted = _C.device(device_type).type
    return any(device.type == wanted for device in _C.devices())


def is_autocast_enabled(device_type: str | _C.device = "cpu") -> bool:
    """Return whether autocast is on for this type of device, on this thread.

    Example:
        >>> ebb.is_autocast_enabled("cpu")
        False
    """
    if device_type in _ELSEWHERE:
        return False
    return is_autocast_available(device_type) and _C._is_autocast_enabled(_C.device(device_type))


def get_autocast_dtype(device_type: str | _C.device) -> _C.dtype:
    """Return the dtype of autocast for this type of device, be it on or off.

    Example:
        >>> ebb.get_autocast_dtype("cpu")
        ebb.bfloat16
    """
    return _C._autocast_dtype(_C.device(device_type))


def set_autocast_enabled(device_type: str | _C.device, enabled: bool) -> None:
    """Switch autocast on or off for this type of device, until the present block ends.

    Example:
        >>> with ebb.autocast("cpu"):
        ...     ebb.set_autocast_enabled("cpu", False)
        ...     (ebb.ones(1, 1) @ ebb.ones(1, 1)).dtype
        ebb.float32
    """
    _C._set_autocast_enabled(_C.device(device_type), enabled)


def set_autocast_dtype(device_type: str | _C.device, dtype: _C.dtype) -> None:
    """Set the dtype of autocast for this type of device, until the present block ends.

    Raises:
        DTypeError: For another dtype than bfloat16 and float16.

    Example:
        >>> with ebb.autocast("cpu"):
        ...     ebb.set_autocast_dtype("cpu", ebb.float16)
        ...     (ebb.ones(1, 1) @ ebb.ones(1, 1)).dtype
        ebb.float16
    """
    if dtype not in (_C.bfloat16, _C.float16):
        raise _C.DTypeError(f"set_autocast_dtype: needs bfloat16 or float16, got {dtype!r}")
    _C._set_autocast_dtype(_C.device(device_type), dtype)


def is_autocast_cpu_enabled() -> bool:
    """Return ``is_autocast_enabled("cpu")``.

    Example:
        >>> ebb.is_autocast_cpu_enabled()
        False
    """
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Call ``set_autocast_enabled("cpu", enabled)``.

    Example:
        >>> with ebb.autocast("cpu"):
        ...     ebb.set_autocast_cpu_enabled(False)
        ...     ebb.is_autocast_cpu_enabled()
        False
    """
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> _C.dtype:
    """Return ``get_autocast_dtype("cpu")``.

    Example:
        >>> ebb.get_autocast_cpu_dtype()
        ebb.bfloat16
    """
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: _C.dtype) -> None:
    """Call ``set_autocast_dtype("cpu", dtype)``.

    Example:
        >>> ebb.set_autocast_cpu_dtype(ebb.bfloat16)
        >>> ebb.get_autocast_cpu_dtype()
        ebb.bfloat16
    """
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> _C.dtype:
    """Return ``get_autocast_dtype("cuda")``.

    Example:
        >>> ebb.get_autocast_gpu_dtype()
        ebb.float16
    """
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: _C.dtype) -> None:
    """Call ``set_autocast_dtype("cuda", dtype)``.

    Example:
        >>> ebb.set_autocast_gpu_dtype(ebb.float16)
        >>> ebb.get_autocast_gpu_dtype()
        ebb.float16
    """
    set_autocast_dtype("cuda", dtype)
