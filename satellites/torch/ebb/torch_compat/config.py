# satellites/torch/ebb/torch_compat/config.py -- torch.__config__: what programs print of the
# installation.
"""``show`` and ``parallel_info``."""

from __future__ import annotations

import ebb
from ebb import info

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Return what ``python -m ebb.info`` prints.

    Example:
        >>> from ebb.torch_compat import config
        >>> "ebb" in config.show()
        True
    """
    return info.report()


def parallel_info() -> str:
    """Return how many threads operations use.

    Example:
        >>> from ebb.torch_compat import config
        >>> config.parallel_info().startswith("threads of an operation: ")
        True
    """
    return f"threads of an operation: {ebb.get_num_threads()}\n"
