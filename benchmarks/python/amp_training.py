# benchmarks/python/amp_training.py -- what mixed precision does to accuracy and loss.
"""Usage: python benchmarks/python/amp_training.py [--seeds N] [--only NAME ...] [--share S].

Trains the networks of examples/ in each mode with several seeds and prints a Markdown table of what
each reaches on what was held out. In float16 one overflow is forced in the middle of training.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ebb
from ebb import amp, nn, optim
from ebb.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path += [str(EXAMPLES / "digits"), str(EXAMPLES / "char_models")]

import corpus  # noqa: E402
import model as digits_model  # noqa: E402
import models as char_models  # noqa: E402


@dataclass(frozen=True)
class Mode:
    """How a network is trained."""

    name: str
    level: str
    dtype: Any = ebb.bfloat16
    is_scaled: bool = False


MODES = (
    Mode("float32", "O0"),
    Mode("O1 bfloat16", "O1"),
    Mode("O2 bfloat16", "O2"),
    Mode("O1 float16, an overflow forced", "O1", ebb.float16, is_scaled=True),
    Mode("O2 float16, an overflow forced", "O2", ebb.float16, is_scaled=True),
)


@dataclass
class Result:
    """What one training reached."""

    score: float
    skipped: int


@dataclass(frozen=True)
class Workload:
    """A network and its data: ``draw()`` gives a batch, ``score()`` what it reaches."""

    unit: str
    steps: int
    lr: float
    make: Callable[[], nn.Module]
    loss: Callable[[nn.Module], Any]
    score: Callable[[nn.Module], float]


def digits() -> Workload:
    data = ebb.data.digits.load()

    def loss(model: nn.Module) -> Any:
        rows = ebb.randint(0, len(data.train_labels), [32])
        return digits_model.loss_of(model(data.train_images[rows]), data.train_labels[rows])

    def score(model: nn.Module) -> float:
        return 100 * digits_model.evaluate(model, data.test_images, data.test_labels)[1]

    return Workload("accuracy in %", 450, 1e-2, digits_model.Cnn, loss, score)


def characters(make: Callable[[int], nn.Module]) -> Workload:
    text = corpus.Corpus()
    alphabet = len(text.alphabet)

    def loss_of(model: nn.Module, inputs: Any, targets: Any) -> Any:
        scores = model(inputs)
        return functional.cross_entropy(scores.reshape(-1, alphabet), targets.reshape(-1))

    def loss(model: nn.Module) -> Any:
        return loss_of(model, *text.sample(16, 32))

    def score(model: nn.Module) -> float:
        model.eval()
        with ebb.no_grad():
            return loss_of(model, *text.test_pieces(32)).item()

    return Workload("held-out loss", 300, 4e-3, lambda: make(alphabet), loss, score)


WORKLOADS = {
    "digits CNN": digits,
    "char GPT": lambda: characters(lambda size: char_models.CharGpt(size, 64, 32, layers=2)),
    "char LSTM": lambda: characters(lambda size: char_models.CharLstm(size, 64)),
}


def train(workload: Workload, mode: Mode, seed: int, share: float = 1.0) -> Result:
    """Train with one cycle of the learning rate and gradients that are clipped."""
    ebb.manual_seed(seed)
    model = workload.make()
    optimizer = optim.AdamW(model.parameters(), lr=workload.lr)
    amp.decorate(model, optimizer, level=mode.level, dtype=mode.dtype)
    scaler = amp.GradScaler(init_scale=2.0**10, enabled=mode.is_scaled)
    made: list[int] = []
    optimizer.register_step_post_hook(lambda *_: made.append(1))
    steps = max(2, int(workload.steps * share))
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, workload.lr, total_steps=steps)
    autocast = ebb.autocast("cpu", mode.dtype, mode.level != "O0", level=mode.level)
    for step in range(steps):
        optimizer.zero_grad()
        with autocast:
            loss = workload.loss(model)
        if mode.is_scaled and step == steps // 2:
            loss = loss * 1e38
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
    with autocast:
        return Result(workload.score(model), steps - len(made))


def row(name: str, workload: Workload, seeds: int, share: float) -> str:
    """Return a row of the table: for each mode the mean and what lies around it."""
    cells = [f"{name}, {workload.unit}"]
    for mode in MODES:
        results = [train(workload, mode, seed, share) for seed in range(seeds)]
        scores = [result.score for result in results]
        mean = sum(scores) / seeds
        skipped = {result.skipped for result in results}
        cell = f"{mean:.2f} ({min(scores):.2f} to {max(scores):.2f})"
        cells.append(cell + (f", skipped {sorted(skipped)}" if mode.is_scaled else ""))
        print(f"[amp-training] {name} {mode.name}: {cell}", file=sys.stderr, flush=True)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(WORKLOADS), choices=list(WORKLOADS))
    parser.add_argument("--share", type=float, default=1.0, help="of the steps that are made")
    options = parser.parse_args()
    ebb.set_num_threads(1)
    print("|", " | ".join(["", *(mode.name for mode in MODES)]), "|")
    print("|", " | ".join(["---"] * (len(MODES) + 1)), "|")
    for name in options.only:
        print(row(name, WORKLOADS[name](), options.seeds, options.share), flush=True)


if __name__ == "__main__":
    main()
