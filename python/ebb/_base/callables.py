# python/ebb/_base/callables.py -- refusing at once what is kept now and called later.
"""``check_callable``, for whoever keeps a function of the user's."""

from __future__ import annotations


def check_callable(*functions: object) -> None:
    """Refuse what is not callable.

    The public function whose call this ends names itself and the argument (``_naming.py``).
    """
    for function in functions:
        if not callable(function):
            raise TypeError(f"needs a callable, got {type(function).__name__}")
