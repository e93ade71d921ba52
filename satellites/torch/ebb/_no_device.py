# satellites/torch/ebb/_no_device.py -- ebb.mps and ebb.xpu: what programs ask of devices that are
# absent.
"""Questions that programs ask before they choose a device, and their answers."""

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]


def is_available() -> bool:
    """Return False.

    Example:
        >>> ebb.mps.is_available(), ebb.xpu.is_available()
        (False, False)
    """
    return False


def device_count() -> int:
    """Return 0.

    Example:
        >>> ebb.mps.device_count(), ebb.xpu.device_count()
        (0, 0)
    """
    return 0


def empty_cache() -> None:
    """Do nothing: there is no device.

    Example:
        >>> ebb.mps.empty_cache()
    """


def synchronize() -> None:
    """Do nothing: there is no device.

    Example:
        >>> ebb.mps.synchronize()
    """


def manual_seed(seed: int) -> None:
    """Do nothing: there is no device.

    Example:
        >>> ebb.mps.manual_seed(0)
    """
    del seed
