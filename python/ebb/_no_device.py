# python/ebb/_no_device.py -- what is said of accelerators that ebb never has: ebb.mps and ebb.xpu.
"""Questions that programs ask before they choose a device, and their answers."""

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]


def is_available() -> bool:
    """Return False."""
    return False


def device_count() -> int:
    """Return 0."""
    return 0


def empty_cache() -> None:
    """Do nothing: there is no device."""


def synchronize() -> None:
    """Do nothing: there is no device."""


def manual_seed(seed: int) -> None:
    """Do nothing: there is no device."""
    del seed
