# tests/fuzz/recorded/schedules.py -- random learning-rate schedules, the same for ebb and PyTorch.
#
# A case is plain data, drawn by draw(): groups, a tree of schedules, and what happens between the
# epochs (both states taken over by new objects, a group added, a rate set by hand, a jump of warm
# restarts). run(lib, case) does it with `lib`, either of the two modules, and returns the rates of
# all epochs, up to the epoch at which a step was refused. Start reading at draw().
"""Learning-rate schedules: drawn as data, run by any library with PyTorch's names."""

from __future__ import annotations

import copy
import math
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

Case = dict[str, Any]
Tree = list  # [name, options], or for schedules of schedules [name, parts, milestones]
PARTS = ("SequentialLR", "ChainedScheduler")


# --- drawing ---


def draw(rng: random.Random) -> Case:
    """Return groups, a tree of schedules, and the events of each epoch."""
    case: Case = {
        "optimizer": rng.choice(("SGD", "SGD", "Adam")),
        "rates": [rng.choice((0.1, 0.5, 1.0, 0.02)) for _ in range(rng.choice((1, 1, 2)))],
        "in_tensor": rng.random() < 0.15,
        "epochs": rng.randint(6, 14),
    }
    shape = rng.random()
    if shape < 0.1:
        case["tree"] = _draw_plateau(rng, len(case["rates"]))
        metric = rng.choice((1.0, 10.0))
        case["metrics"] = [metric * rng.choice((1.0, 0.5, 0.9, 1.0001)) for _ in range(20)]
    elif shape < 0.4:
        case["tree"] = _draw_leaf(rng, case)
    else:
        case["tree"] = _draw_parts(rng, case, 0)
    events = ("reload", "reload", "hand", "jump", "add_group")
    case["events"] = {
        str(epoch): rng.choice(events) for epoch in range(case["epochs"]) if rng.random() < 0.12
    }
    return case


def _draw_plateau(rng: random.Random, groups: int) -> Tree:
    return [
        "ReduceLROnPlateau",
        {
            "mode": rng.choice(("min", "max")),
            "factor": rng.choice((0.1, 0.5)),
            "patience": rng.randint(0, 3),
            "threshold": rng.choice((1e-4, 0.2)),
            "threshold_mode": rng.choice(("rel", "abs")),
            "cooldown": rng.randint(0, 2),
            "min_lr": rng.choice((0.0, 0.01, [0.03] * groups)),
            "eps": rng.choice((1e-8, 0.02)),
        },
    ]


def _draw_parts(rng: random.Random, case: Case, depth: int) -> Tree:
    """A schedule of schedules."""
    name = rng.choice(PARTS)
    parts = [
        _draw_parts(rng, case, depth + 1)
        if depth < 2 and rng.random() < 0.25
        else _draw_leaf(rng, case)
        for _ in range(rng.randint(1, 3))
    ]
    milestones = sorted(rng.randint(0 if rng.random() < 0.1 else 1, 9) for _ in parts[1:])
    return [name, parts, milestones]


def _draw_leaf(rng: random.Random, case: Case) -> Tree:
    name = rng.choice(tuple(_LEAVES))
    return [name, _LEAVES[name](rng, len(case["rates"]))]


_LEAVES: dict[str, Callable[[random.Random, int], dict]] = {
    "StepLR": lambda rng, _: {"step_size": rng.randint(1, 4), "gamma": rng.choice((0.1, 0.5, 2.0))},
    "MultiStepLR": lambda rng, _: {
        "milestones": [rng.randint(1, 8) for _ in range(rng.randint(0, 3))],
        "gamma": rng.choice((0.1, 0.5)),
    },
    "ConstantLR": lambda rng, _: {
        "factor": rng.choice((0.1, 0.5, 1.0)),
        "total_iters": rng.randint(1, 6),
    },
    "LinearLR": lambda rng, _: {
        "start_factor": rng.choice((0.1, 0.5, 1.0)),
        "end_factor": rng.choice((0.0, 0.3, 1.0)),
        "total_iters": rng.randint(1, 6),
    },
    "ExponentialLR": lambda rng, _: {"gamma": rng.choice((0.5, 0.9, 1.1))},
    "PolynomialLR": lambda rng, _: {
        "total_iters": rng.randint(1, 8),
        "power": rng.choice((0.5, 1.0, 2.0)),
    },
    "CosineAnnealingLR": lambda rng, _: {
        "T_max": rng.randint(2, 6),
        "eta_min": rng.choice((0.0, 0.01)),
    },
    "CosineAnnealingWarmRestarts": lambda rng, _: {
        "T_0": rng.randint(1, 4),
        "T_mult": rng.choice((1, 1, 2)),
        "eta_min": rng.choice((0.0, 0.01)),
    },
    "OneCycleLR": lambda rng, _: {
        "max_lr": rng.choice((1.0, 0.3)),
        "total_steps": rng.randint(4, 16),
        "pct_start": rng.choice((0.3, 0.5)),
        "anneal_strategy": rng.choice(("cos", "linear")),
        "three_phase": rng.random() < 0.3,
        "cycle_momentum": rng.random() < 0.5,
    },
    "LambdaLR": lambda rng, groups: {"lr_lambda": _draw_functions(rng, groups)},
    "MultiplicativeLR": lambda rng, groups: {"lr_lambda": _draw_functions(rng, groups)},
}


def _draw_functions(rng: random.Random, groups: int) -> Any:
    numbers = [rng.choice((0.1, 0.5, 1.0)) for _ in range(groups)]
    return numbers if rng.random() < 0.5 else numbers[0]


# --- running ---


def run(lib: Any, case: Case) -> list:
    """Return the rates of each epoch; the last entry tells where a step was refused, if one was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _Run(lib, case).rates()


class _Run:
    def __init__(self, lib: Any, case: Case):
        self.lib = lib
        self.case = case
        self.added = 0

    def rates(self) -> list:
        found: list[Any] = []
        try:
            self.optimizer = self.make_optimizer()
            self.schedule = self.make(self.case["tree"])
            for epoch in range(self.case["epochs"]):
                found.append(self.present())
                self.optimizer.step()
                self.step(epoch)
        except Exception:
            found.append("refused")
        return found

    def make_optimizer(self) -> Any:
        groups = [
            {"params": [self.parameter()], "lr": self.rate(rate)} for rate in self.case["rates"]
        ]
        kind = self.case["optimizer"]
        options = {"momentum": 0.9} if kind == "SGD" else {}
        return getattr(self.lib.optim, kind)(groups, lr=0.1, **options)

    def parameter(self) -> Any:
        return self.lib.zeros(1, requires_grad=True)

    def rate(self, number: float) -> Any:
        return self.lib.tensor(number, dtype=self.lib.float64) if self.case["in_tensor"] else number

    def make(self, tree: Tree) -> Any:
        """The schedule of a tree, on the optimizer."""
        name, inner, *rest = tree
        kind = getattr(self.lib.optim.lr_scheduler, name)
        if name not in PARTS:
            return kind(self.optimizer, **{key: _option(key, inner[key]) for key in inner})
        parts = [self.make(part) for part in inner]
        if name == "ChainedScheduler":
            return kind(parts)
        return kind(self.optimizer, parts, *rest)

    def present(self) -> list[str]:
        rates = [float(group["lr"]) for group in self.optimizer.param_groups]
        assert [float(rate) for rate in self.schedule.get_last_lr()] == rates or self.is_by_hand
        return [f"{rate:.6g}" for rate in [*rates, self.momentum()]]

    is_by_hand = False  # whether the rates are no longer those of the last step

    def momentum(self) -> float:
        group = self.optimizer.param_groups[0]
        return group["betas"][0] if "betas" in group else group["momentum"]

    def step(self, epoch: int) -> None:
        event = self.case["events"].get(str(epoch))
        name = self.case["tree"][0]
        self.is_by_hand = event in ("hand", "add_group") and name != "ReduceLROnPlateau"
        if event == "hand":
            self.set_by_hand()
        elif event == "add_group":
            self.add_group()
        elif event == "reload":
            self.reload()
        if name == "ReduceLROnPlateau":
            self.schedule.step(self.case["metrics"][epoch])
        elif event == "jump" and name == "CosineAnnealingWarmRestarts":
            self.schedule.step(epoch + 1.25)
        else:
            self.schedule.step()
        self.is_by_hand = False

    def set_by_hand(self) -> None:
        for group in self.optimizer.param_groups:
            if self.case["in_tensor"]:
                group["lr"].fill_(0.7)
            else:
                group["lr"] = 0.7

    def add_group(self) -> None:
        self.added += 1
        self.optimizer.add_param_group({"params": [self.parameter()], "lr": self.rate(0.3)})

    def reload(self) -> None:
        """New objects take over the states of both."""
        states = copy.deepcopy((self.optimizer.state_dict(), self.schedule.state_dict()))
        added, self.added = self.added, 0
        self.optimizer = self.make_optimizer()
        self.schedule = self.make(self.case["tree"])
        for _ in range(added):
            self.add_group()
        self.optimizer.load_state_dict(states[0])
        self.schedule.load_state_dict(states[1])


def _option(key: str, value: Any) -> Any:
    if key != "lr_lambda":
        return value
    return [_factor(one) for one in value] if isinstance(value, list) else _factor(value)


def _factor(number: float) -> Callable[[int], float]:
    return lambda epoch: 1.0 / (1.0 + number * (epoch + 1))


# --- comparing ---


def agree(ours: list, theirs: list) -> bool:
    """Whether all rates are the same, but for rounding."""
    if len(ours) != len(theirs):
        return False
    return all(
        one == other or (one != "refused" and other != "refused" and _is_close(one, other))
        for one, other in zip(ours, theirs, strict=True)
    )


def _is_close(ours: list[str], theirs: list[str]) -> bool:
    return len(ours) == len(theirs) and all(
        math.isclose(float(one), float(other), rel_tol=1e-5, abs_tol=1e-12)
        for one, other in zip(ours, theirs, strict=True)
    )


def is_named_difference(ours: list, theirs: list, case: Case) -> bool:
    """Whether docs/functions.md tells that the two may differ so."""
    trees = list(_subtrees(case["tree"]))
    ends = [tree[1]["total_steps"] for tree in trees if tree[0] == "OneCycleLR"]
    if ends:  # the step behind the last one
        ours, theirs = ours[: min(ends)], theirs[: min(ends)]
    for tree in trees:
        if tree[0] != "SequentialLR":
            continue
        first = tree[1][sum(milestone == 0 for milestone in tree[2])]
        if first[0] == "SequentialLR" or (first[0] in PARTS and _begins_late(first)):
            return True
        if any(part[0] in PARTS for part in tree[1]) and theirs[-1] == "refused":
            # PyTorch has no way to begin a later part that is made of parts.
            ours, theirs = ours[: len(theirs) - 1], theirs[:-1]
    below = [
        number for number, rates in enumerate(theirs) if any(rate[:1] == "-" for rate in rates)
    ]
    if below and ours[-1] == "refused":  # optimizers refuse a negative rate
        ours, theirs = ours[: below[0]], theirs[: below[0]]
    return agree(ours, theirs)


# These make a factor of the first step if a ChainedScheduler holds them.
LATE = ("ExponentialLR", "CosineAnnealingLR", "PolynomialLR", "MultiplicativeLR")


def _begins_late(tree: Tree) -> bool:
    return any(part[0] in LATE or part[0] in PARTS for part in tree[1])


def _subtrees(tree: Tree) -> Iterator[Tree]:
    yield tree
    if tree[0] in PARTS:
        for part in tree[1]:
            yield from _subtrees(part)
