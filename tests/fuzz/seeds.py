# tests/fuzz/seeds.py -- seeds of the fuzzers: fixed in `make test`, fresh in `make test-long`.
#
# A fresh seed is printed at the head of the run and with a failure; EBB_FUZZ_SEED=<number> gives it
# again. Every draw has a generator of its own, made from the seed and from what is tried, so that
# a failure repeats alone and a new op moves nobody else's draws.
"""Random generators whose draws repeat."""

from __future__ import annotations

import os
import random
import zlib

VARIABLE = "EBB_FUZZ_SEED"
FIXED = 20


def fixed(*what: object) -> random.Random:
    """The generator of a bounded sample: the same draws in every run."""
    return generator(FIXED, *what)


def fresh(*what: object) -> random.Random:
    """The generator of a long run: other draws in every run, unless EBB_FUZZ_SEED is set."""
    return generator(fresh_seed(), *what)


def fresh_seed() -> int:
    """This run's seed; all processes of a run share it."""
    return int(os.environ.setdefault(VARIABLE, str(random.SystemRandom().randrange(2**31))))


def generator(seed: int, *what: object) -> random.Random:
    """The generator of a run with any seed."""
    return random.Random(zlib.crc32(repr((seed, *map(str, what))).encode()))
