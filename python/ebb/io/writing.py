# python/ebb/io/writing.py -- files written for people and browsers: pictures, pages, traces.
#
# Unlike tensors (AtomicFile) they may go to pipes and devices, so they are written in place.
"""``write_text`` and ``write_bytes``, for all that is written in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebb import _C
from ebb.io.reading import path_text

if TYPE_CHECKING:
    from pathlib import Path


def write_text(op: str, path: Any, text: str) -> Path:
    """Write a text and return where. Errors name ``op``; those of the system become IoError."""
    return write_bytes(op, path, text.encode("utf-8", errors="backslashreplace"))


def write_bytes(op: str, path: Any, content: bytes) -> Path:
    """Write a file and return where. Errors name ``op``; those of the system become IoError."""
    from pathlib import Path  # takes 3 ms

    target = Path(path_text(op, path))
    try:
        target.write_bytes(content)
    except OSError as error:
        raise _C.IoError(
            f"{op}: needs a writable file, got {str(target)!r}: {error.strerror or error}"
        ) from None
    return target
