# tests/python/held.py -- what this process holds: bytes of tensors, helping threads, open files,
# mapped memory.
"""A test tells what it took itself from what others of the process do meanwhile.

What earlier tests left as garbage goes whenever the collector runs, and their threads close files
when they end. So bytes are counted once that garbage is gone, and files and mappings are named,
not counted: `held - before` is what came since.
"""

import contextlib
import gc
import os

import ebb


def live() -> int:
    """Return the bytes that tensors and nodes hold."""
    return ebb.memory_stats()["live"]


def live_without_garbage() -> int:
    """Return the same once the collector has run: what later numbers are compared with."""
    gc.collect()
    return live()


def backward_threads() -> dict:
    """Return what threads other than the callers' have done for backward runs so far.

    A run has one thread while values packed by hooks are alive, as some are in what a test that
    caught an exception leaves to the collector.
    """
    gc.collect()
    return ebb._C._backward_threads()


def open_files(name="") -> set:
    """Return descriptors, each with its file, of the files whose paths have `name` in them."""
    found = set()
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the listing's own, or closed by a thread
            if name in os.readlink(f"/proc/self/fd/{descriptor}"):
                file = os.stat(f"/proc/self/fd/{descriptor}")
                found.add((descriptor, file.st_dev, file.st_ino))
    return found


def mappings(name) -> set:
    """Return the places in memory of files whose paths have `name` in them."""
    with open("/proc/self/maps") as maps:
        return {line for line in maps if name in line}
