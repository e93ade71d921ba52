# tests/python/systems/interrupted.py -- a program: Ctrl-C at random moments of a subject's work.
#
# `python -m tests.python.systems.interrupted SUBJECT MOMENTS FOLDER`. After each interrupt all the
# work is done again, without one, and must give what it gave at first. Prints what did not.
"""Ctrl-C at random moments."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ebb

F = ebb.nn.functional


def train(folder: Path) -> Any:
    """Train a network of products, convolutions and attention for some steps."""
    del folder
    ebb.manual_seed(0)
    body = ebb.nn.Sequential(ebb.nn.Linear(300, 300), ebb.nn.ReLU(), ebb.nn.Linear(300, 256))
    filters = ebb.nn.Conv2d(1, 8, 3)
    adam = ebb.optim.AdamW([*body.parameters(), *filters.parameters()], lr=1e-3)
    x = ebb.randn(300, 300)
    for _ in range(3):
        adam.zero_grad()
        y = body(x)
        q = y.view(1, 4, 300, 64)
        loss = F.scaled_dot_product_attention(q, q, q).square().mean()
        loss = loss + filters(y.view(300, 1, 16, 16)).mean() + (y.t() @ y).mean()
        loss.backward()
        adam.step()
    return [one.detach().numpy().tobytes() for one in body.parameters()]


def load(folder: Path) -> Any:
    """Read batches that processes of their own make."""
    del folder
    data = ebb.data.TensorDataset(ebb.arange(240.0).reshape(60, 4))
    loader = ebb.data.DataLoader(data, batch_size=8, num_workers=2)
    return [batch[0].tolist() for batch in loader]


def save(folder: Path) -> Any:
    """Write a file, and read it."""
    path = folder / "state.pt"
    ebb.save({"weight": ebb.arange(300_000.0), "name": "x"}, path)
    state = ebb.load(path)
    return state["name"], state["weight"].sum().item()


def moment(work: Callable[[Path], Any], folder: Path, delay: float) -> bool:
    """Interrupt the work after so many seconds. Return whether it came to that."""
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        work(folder)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    return False


def main(subject: str, moments: int, folder: Path) -> None:
    """Interrupt a subject so many times."""
    work = {"train": train, "load": load, "save": save}[subject]
    signal.signal(signal.SIGALRM, signal.default_int_handler)  # Ctrl-C, by a clock
    wanted = work(folder)
    start = time.perf_counter()
    work(folder)
    length = time.perf_counter() - start
    rng = random.Random(0)
    done = tries = 0
    while done < moments:
        tries += 1
        if tries > 20 * moments:
            print(f"only {done} of {tries} tries were interrupted")
            break
        done += moment(work, folder, rng.uniform(1e-5, length))
        if work(folder) != wanted:
            print(f"{subject} gives something else after an interrupt")
    left = [name for name in os.listdir(folder) if name != "state.pt"]
    if left:
        print(f"interrupts leave {left}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
