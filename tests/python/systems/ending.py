# tests/python/systems/ending.py -- a program that ends while daemon threads are amid ops.
#
# `python -m tests.python.systems.ending WAY SECONDS`: after so many seconds of all engines.
"""An end amid ops."""

from __future__ import annotations

import ctypes
import random
import sys
import threading
import time

import ebb
from tests.python.systems.engines import engines


def main(way: str, seconds: float) -> None:
    """End in a way."""
    ebb.set_num_threads(3)
    calls = list(engines().values())

    def work(seed: int) -> None:
        rng = random.Random(seed)
        while True:
            rng.choice(calls)()

    for seed in range(3):
        threading.Thread(target=work, args=(seed,), daemon=True).start()
    time.sleep(seconds)
    if way == "raise":
        raise SystemExit(3)
    if way == "exit":
        ctypes.CDLL(None).exit(3)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
