# python/ebb/io/reading.py -- files opened for reading: regular ones only, and never waiting.
#
# The Python side of ebb/io/read_file.h. Opening a pipe that nobody writes to waits for ever, and a
# device may have no end; so whatever is no regular file is refused, whatever it is called.
"""What all readers that are written in Python need: paths, limits, and how files begin."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from ebb import _C

# Streams begin with a pickle of the number 0x1950A86A20F9469CFC6C, in a frame from protocol 4 on.
TORCH_STREAM = re.compile(
    rb"\x80[\x02-\x05](\x95.{8})?\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19\.", re.DOTALL
)
TORCH_ARCHIVE = re.compile(rb"PK\x03\x04")


# What a packed file may unpack to where nobody has said more: this much, or so many times itself.
MOST_UNPACKED, MOST_RATIO = 1 << 28, 100


def check_unpacked(op: str, path: Any, packed: int, unpacked: int, hint: str = "") -> None:
    """Refuse to unpack what takes much and far more than the file does, or than there is memory.

    Args:
        op: What errors call the function.
        path: The file.
        packed, unpacked: Its bytes, and what they are claimed to unpack to.
        hint: What to do if that is meant.
    """
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    most = min(max(MOST_UNPACKED, MOST_RATIO * packed), memory)
    if unpacked > most:
        raise _C.ValueError(
            f"{op}: needs a file of at most {most:,} bytes when unpacked, got "
            f"{os.fsdecode(path)!r} with {unpacked:,}" + (f"\nhint: {hint}" if hint else "")
        )


def is_of_pytorch(head: bytes) -> bool:
    """Whether a file that begins with ``head``, of 32 bytes, may be one of PyTorch's."""
    return bool(TORCH_ARCHIVE.match(head) or TORCH_STREAM.match(head))


def path_text(op: str, path: Any) -> str:
    """Return a path as text. Raises an error that names ``op`` for anything that is none."""
    try:
        text = os.fsdecode(path)
        os.fsencode(text)
    except TypeError:
        raise _C.DTypeError(
            f"{op}: needs a path as str, bytes or os.PathLike, got {type(path).__name__}"
        ) from None
    except UnicodeError:
        raise _C.ValueError(f"{op}: needs a path that can be encoded, got {path!r}") from None
    if not text:
        raise _C.ValueError(f"{op}: needs a path, got ''")
    if "\0" in text:
        raise _C.ValueError(f"{op}: needs a path without NUL, got {text!r}")
    return text


def check_limit(op: str, name: str, value: Any) -> None:
    """Refuse what is no number of bytes."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _C.ValueError(f"{op}: {name} needs a number of bytes, got {value!r}")


@contextmanager
def opened(op: str, path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a regular file for reading; errors of the system become IoError."""
    text = path_text(op, path)
    try:
        descriptor = os.open(text, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise _C.IoError(f"{op}: needs a regular file, got {text!r}")
        with open(descriptor, "rb") as file:
            yield file
    except OSError as error:
        if isinstance(error, _C.Error):
            raise
        raise _C.IoError(
            f"{op}: needs a readable file, got {text!r}: {error.strerror or error}"
        ) from None
