# satellites/torch/ebb/torch_compat/metadata.py -- what importlib.metadata says of torch and
# torchvision.
#
# Packages on top ask which version is installed, and stop if none is.
"""``distributions()``, which the finder answers with."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path


class _Served(importlib.metadata.Distribution):
    """A package that is not installed and yet can be imported."""

    def __init__(self, name: str, version: str):
        self._text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"

    def read_text(self, filename: str) -> str | None:
        return self._text if filename == "METADATA" else None

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        return Path(__file__).parent / path


def distributions(
    name: str | None, served: dict[str, str]
) -> list[importlib.metadata.Distribution]:
    """Return those of the packages served that have this name, or all of them for None.

    >>> from ebb.torch_compat.metadata import distributions
    >>> [one.version for one in distributions("torch", {"torch": "2.15.0", "other": "1"})]
    ['2.15.0']
    """
    return [_Served(one, version) for one, version in served.items() if name in (None, one)]
