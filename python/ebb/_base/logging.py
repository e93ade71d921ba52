# python/ebb/_base/logging.py -- lines of ebb's log, given to Python's logging.
#
# The compiled module imports this with the first line: `import ebb` does not pay for `logging`.
"""The loggers ``ebb``, ``ebb.op``, ``ebb.engine`` and ``ebb.amp``."""

from __future__ import annotations

import logging


def write(part: str, level: int, text: str) -> bool:
    """Give a line to the logger of its part. Return whether there was anyone to take it.

    Which lines there are, ``EBB_LOG`` says: the logger ``ebb`` lets all pass unless the program
    has given it a level.

    Args:
        part: As ``EBB_LOG`` spells it.
        level: Of ebb: 1 is a warning, up to 3 is information, the rest is for debugging.
        text: The line.
    """
    top = logging.getLogger("ebb")
    logger = top if part == "general" else top.getChild(part)
    if not logger.hasHandlers():
        return False
    if top.level == logging.NOTSET:
        top.setLevel(logging.DEBUG)
    severity = logging.WARNING if level <= 1 else logging.INFO if level <= 3 else logging.DEBUG
    logger.log(severity, text, stacklevel=2)
    return True
