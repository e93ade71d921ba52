# tests/python/systems/beside_forks.py -- a program: children that are forked amid ops, and use all
# engines.
#
# `python -m tests.python.systems.beside_forks FORKS`: another thread runs all engines meanwhile.
# Prints what a child could not do.
"""Forks beside ops."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
import traceback

import ebb
from tests.python.systems.engines import engines

MOST_SECONDS = 60


def load() -> list:
    """Read batches that processes of a child make."""
    data = ebb.data.TensorDataset(ebb.arange(12.0))
    return [batch[0].tolist() for batch in ebb.data.DataLoader(data, 4, num_workers=2)]


def in_child(calls: dict, wanted: dict, batches: list) -> int:
    """Use all engines. Return how many gave something else."""
    signal.alarm(MOST_SECONDS)
    names = list(calls)
    random.shuffle(names)
    wrong = [name for name in names if not calls[name]().equal(wanted[name])]
    wrong += ["DataLoader"] if load() != batches else []
    print(*wrong, sep="\n", end="\n" if wrong else "", flush=True)
    return len(wrong)


def main(forks: int) -> None:
    """Fork so many times."""
    ebb.set_num_threads(3)
    calls = engines()
    wanted = {name: call() for name, call in calls.items()}
    batches = load()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            for call in calls.values():
                call()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    rng = random.Random(0)
    for _ in range(forks):
        time.sleep(rng.uniform(0, 0.03))
        child = os.fork()
        if child == 0:
            status = 99
            try:
                status = in_child(calls, wanted, batches)
            except BaseException:
                traceback.print_exc()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status != 0:
            print(f"a child ended with {status}")
    stop.set()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(int(sys.argv[1]))
