# python/ebb/backends/mkldnn.py -- oneDNN under its old name.
"""oneDNN, which convolutions and narrow products use."""

__all__ = ["is_available"]

enabled = True


def is_available() -> bool:
    """Return True: the library is linked with it.

    Example:
        >>> ebb.backends.mkldnn.is_available()
        True
    """
    return True
