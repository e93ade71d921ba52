# tests/python/systems/limited.py -- a program: all engines where the system gives little memory.
#
# `python -m tests.python.systems.limited TRIES`: each try allows a random number of bytes beyond
# what the process has. An engine may say that memory is short; without a limit all give what they
# gave before. Prints what does not.
"""Engines beside a limit on memory."""

from __future__ import annotations

import random
import resource
import sys
from pathlib import Path

import ebb
from tests.python.systems.engines import engines

NO_LIMIT = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


def address_space() -> int:
    """Return how many bytes of addresses the process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def main(tries: int) -> None:
    """Try each engine so many times under a limit."""
    ebb.set_num_threads(3)
    rng = random.Random(0)
    calls = engines()
    wanted = {name: call() for name, call in calls.items()}
    short = 0
    for _ in range(tries):
        for name, call in calls.items():
            ebb.release_cached_memory()
            allowed = address_space() + int(2 ** rng.uniform(10, 28))
            resource.setrlimit(resource.RLIMIT_AS, (allowed, resource.RLIM_INFINITY))
            try:
                found = call()
            except MemoryError:
                short += 1
                found = None
            except Exception as error:
                found = None
                print(f"{name}: {type(error).__name__}: {error}")
            resource.setrlimit(resource.RLIMIT_AS, NO_LIMIT)
            if found is not None and not found.equal(wanted[name]):
                print(f"{name} gives something else under a limit")
            if not call().equal(wanted[name]):
                print(f"{name} gives something else after a limit")
    if short < tries:
        print(f"only {short} calls were short of memory")


if __name__ == "__main__":
    main(int(sys.argv[1]))
