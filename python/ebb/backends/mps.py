# python/ebb/backends/mps.py -- Apple's graphics, which ebb does not use.
"""Metal. ebb runs on Linux."""

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Return False.

    Example:
        >>> ebb.backends.mps.is_available()
        False
    """
    return False


def is_built() -> bool:
    """Return False.

    Example:
        >>> ebb.backends.mps.is_built()
        False
    """
    return False
