# tests/fuzz/drawing.py -- cases drawn from bytes, which hypothesis shrinks and the build remembers.
#
# A fuzzer draws a case from a random.Random. Here that is Draws: it takes its bits from a blob, and
# zeros after its end, so that every blob is a case and a shorter or lower one a simpler case.
# The blobs of a sample are drawn by seeds.py, a generator of its own for each. What fails is handed
# to hypothesis, which finds the smallest blob that fails; that is kept below build/fuzz, where the
# next run tries it first. Start reading at try_all().
"""Blobs as cases: sampled, shrunk, remembered."""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
from hypothesis import strategies
from hypothesis.database import ExampleDatabase, choices_to_bytes

from tests.fuzz import seeds

KEPT = Path(__file__).resolve().parents[2] / "build" / "fuzz"
SIZE = 1500  # bytes: as many choices as a case takes, with some that are refused and drawn again
SHRINKS = 1000  # most blobs that are tried for a smaller one

Check = Callable[[bytes], None]


class Draws(random.Random):
    """A generator whose bits are those of a blob."""

    def __init__(self, blob: bytes):
        """Begin at the first byte."""
        super().__init__(0)
        self.blob, self.place = blob, 0

    def getrandbits(self, count: int) -> int:
        """Take as few whole bytes as hold the bits."""
        size = (count + 7) // 8
        taken = self.blob[self.place : self.place + size]
        self.place += size
        return int.from_bytes(taken.ljust(size, b"\0"), "little") & ((1 << count) - 1)

    def random(self) -> float:
        """As fine as two bytes are."""
        return self.getrandbits(16) / 65536


class _Known(ExampleDatabase):
    """Holds one blob, from which hypothesis sets out."""

    def __init__(self, blob: bytes):
        super().__init__()
        self.blob = blob

    def fetch(self, key: bytes) -> Iterator[bytes]:
        """Give it as a failure that was not shrunk before."""
        if key.endswith(b".secondary"):
            yield choices_to_bytes((self.blob,))

    def save(self, key: bytes, value: bytes) -> None:
        """Keep nothing: remember() does."""

    def delete(self, key: bytes, value: bytes) -> None:
        """Forget nothing."""


def blob_of(rng: random.Random, size: int = SIZE) -> bytes:
    """The case that a generator draws."""
    return rng.randbytes(size)


def try_all(name: str, check: Check, blobs: list[bytes], shrinks: int = SHRINKS) -> None:
    """Check what failed before under this name, then the cases; a failure is the smallest found."""
    for path in remembered(name):
        check(path.read_bytes())
        path.unlink()  # it passes by now
    for blob in blobs:
        try:
            check(blob)
        except Exception:
            smallest = shrink(check, blob, shrinks)
            remember(name, smallest)
            check(smallest)
            raise


def sample(
    name: str, count: int, source: Callable[..., random.Random] = seeds.fixed
) -> list[bytes]:
    """`count` cases of a name, the same for the same seed."""
    return [blob_of(source(name, number)) for number in range(count)]


def shrink(check: Check, blob: bytes, shrinks: int = SHRINKS) -> bytes:
    """The smallest blob that hypothesis finds to fail as well, among so many that it tries."""
    failed, passed = {blob}, set()

    @hypothesis.settings(
        database=_Known(blob),
        deadline=None,
        phases=(hypothesis.Phase.reuse, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @hypothesis.given(strategies.binary(max_size=SIZE))
    def tried(drawn: bytes) -> None:
        if drawn not in failed | passed and len(failed) + len(passed) <= shrinks:
            try:
                check(drawn)
                passed.add(drawn)
            except Exception:
                failed.add(drawn)
        assert drawn not in failed

    with contextlib.suppress(AssertionError):
        tried()
    return min(failed, key=lambda one: (len(one), one))


def folder_of(name: str) -> Path:
    """Where the failures of a name are kept."""
    return KEPT / hashlib.sha256(name.encode()).hexdigest()[:16]


def remembered(name: str) -> list[Path]:
    """What failed before and may fail still."""
    return sorted(folder_of(name).glob("*.case"))


def remember(name: str, blob: bytes) -> None:
    """Keep a failure for the next run."""
    folder = folder_of(name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(name)
    (folder / f"{hashlib.sha256(blob).hexdigest()[:16]}.case").write_bytes(blob)
