# python/ebb/backends/openmp.py -- OpenMP, of which ebb uses the runtime of its libraries only.
"""OpenMP. Kernels run on ebb's own threads: ``ebb.set_num_threads``."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False.

    Example:
        >>> ebb.backends.openmp.is_available()
        False
    """
    return False
