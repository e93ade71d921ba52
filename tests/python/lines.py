# tests/python/lines.py -- where a test's own code stands, for what names the line of a call.
import inspect


def line() -> int:
    """Return the caller's line."""
    return inspect.currentframe().f_back.f_lineno
