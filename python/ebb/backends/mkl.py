# python/ebb/backends/mkl.py -- Intel's library of products, which ebb does not use.
"""MKL. Products of matrices are OpenBLAS's."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False.

    Example:
        >>> ebb.backends.mkl.is_available()
        False
    """
    return False
