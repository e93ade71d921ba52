# python/ebb/backends/opt_einsum.py -- the order in which einsum multiplies.
"""``ebb.einsum`` multiplies the pair with the smallest product first, without opt_einsum."""

from typing import Any

__all__ = ["get_opt_einsum", "is_available"]

enabled = False
strategy = None


def is_available() -> bool:
    """Return False.

    Example:
        >>> ebb.backends.opt_einsum.is_available()
        False
    """
    return False


def get_opt_einsum() -> Any:
    """Return None.

    Example:
        >>> ebb.backends.opt_einsum.get_opt_einsum() is None
        True
    """
    return None
