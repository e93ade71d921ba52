# satellites/torch/ebb/torch_compat/torch_version.py -- torch.__version__, which compares as a
# version.
"""``TorchVersion``: programs ask ``torch.__version__ >= "2.9"`` and ``>= (2, 9)``."""

from __future__ import annotations

import itertools
import re
from typing import Any

__all__ = ["TorchVersion"]

# Numbers, what comes before a release ("rc1", ".dev20", "a0") or after, and a build ("+cpu").
_FORM = re.compile(
    r"v?(\d+(?:\.\d+)*)[-_.]?((?:dev|a|b|rc|alpha|beta|pre)[-_.]?\d*)?(\.?post\d*)?(?:\+(.*))?"
)


class TorchVersion(str):
    """A version: ordered by its numbers, beside others, texts and tuples of numbers.

    What is no version is compared as a text.

    Example:
        >>> from ebb.torch_compat.torch_version import TorchVersion
        >>> TorchVersion("2.15.0") > "2.9", TorchVersion("2.15.0") >= (2, 15)
        (True, True)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        own, given = _key(self), _key(other)
        return str(self) == other if own is None or given is None else own == given

    def __lt__(self, other: Any) -> bool:
        own, given = _key(self), _key(other)
        if own is None or given is None:
            return str(self) < str(other)
        return own < given

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __le__(self, other: Any) -> bool:
        return self == other or self < other

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    __hash__ = str.__hash__


def _key(version: object) -> tuple[Any, ...] | None:
    """Return what a version is ordered by, or None for what is none."""
    if isinstance(version, tuple | list):
        version = ".".join(map(str, version))
    found = _FORM.fullmatch(str(version)) if isinstance(version, str) else None
    if found is None:
        return None
    numbers, before, after, build = found.groups()
    parts = [int(one) for one in numbers.split(".")]
    rank = (before or "").replace("dev", " dev")  # before all letters
    kept = itertools.dropwhile(lambda one: one == 0, reversed(parts))  # 2.0 is 2
    return tuple(reversed(list(kept))), before is None, rank, after or "", build or ""
