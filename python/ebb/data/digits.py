# python/ebb/data/digits.py -- the handwritten digits of data/digits/digits.safetensors.
"""1,797 images of 8x8 pixels; every fifth is held out for testing, always the same ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ebb import _C

if TYPE_CHECKING:
    from pathlib import Path


class Digits(NamedTuple):
    """Images (float32 [n, 64], 0 to 1) and labels (int64 [n], 0 to 9) of both parts."""

    train_images: _C.Tensor
    train_labels: _C.Tensor
    test_images: _C.Tensor
    test_labels: _C.Tensor


def default_path() -> Path:
    """Return where the file lies: beside this one in a wheel, else in the repository."""
    from pathlib import Path  # takes 3 ms

    installed = Path(__file__).with_name("digits.safetensors")
    if installed.exists():
        return installed
    return Path(__file__).resolve().parents[3] / "data" / "digits" / "digits.safetensors"


def load(path: str | os.PathLike[str] | None = None) -> Digits:
    """Read the digits.

    Args:
        path: The file; the repository's own if None.
    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is corrupt.
    """
    return Digits(*_C._load_digits(default_path() if path is None else path))
