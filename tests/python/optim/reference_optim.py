# tests/python/optim/reference_optim.py -- optimizers and schedules, run in ebb and in PyTorch.
"""Prints what PyTorch gives: ``/usr/bin/python3 tests/python/optim/reference_optim.py torch``.

reference_optim.json is that output, of PyTorch 1.13.1; test_optim_reference.py compares with it.
Gradients are plain formulas in Python, so nothing but the optimizer and the schedule is compared.
"""

import importlib
import json
import math
import sys

STEPS = 12

OPTIMIZERS = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd_momentum": (
        "SGD",
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05},
    ),
    "sgd_nesterov": ("SGD", {"lr": 0.05, "momentum": 0.8, "nesterov": True}),
    "sgd_maximize": ("SGD", {"lr": 0.05, "momentum": 0.5, "maximize": True}),
    "adam": ("Adam", {"lr": 0.1}),
    "adam_decay": ("Adam", {"lr": 0.1, "betas": (0.8, 0.95), "weight_decay": 0.1, "eps": 1e-3}),
    "adam_amsgrad": ("Adam", {"lr": 0.1, "betas": (0.5, 0.6), "amsgrad": True}),
    "adamw": ("AdamW", {"lr": 0.1, "weight_decay": 0.2}),
    "adamw_maximize": ("AdamW", {"lr": 0.1, "amsgrad": True, "maximize": True}),
    "rmsprop": ("RMSprop", {"lr": 0.05}),
    "rmsprop_full": (
        "RMSprop",
        {"lr": 0.05, "alpha": 0.7, "momentum": 0.6, "centered": True, "weight_decay": 0.1},
    ),
    "adagrad": ("Adagrad", {"lr": 0.3}),
    "adagrad_full": (
        "Adagrad",
        {"lr": 0.3, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5},
    ),
}


def gradient(values, step):
    """Return the gradient of a bumpy function that changes with the step."""
    return [math.sin(3 * v + step) + v * (i + 1) / 4 for i, v in enumerate(values)]


def run_optimizer(module, name):
    """Return the parameter after each step."""
    kind, options = OPTIMIZERS[name]
    p = module.tensor([1.0, -2.0, 0.5, 3.0], dtype=module.float64, requires_grad=True)
    optimizer = getattr(module.optim, kind)([p], **options)
    path = []
    for step in range(STEPS):
        p.grad = module.tensor(gradient(p.tolist(), step), dtype=module.float64)
        optimizer.step()
        path.append(p.tolist())
    return path


def _sequential(s, optimizer):
    parts = [s.ConstantLR(optimizer, 0.1, 2), s.ExponentialLR(optimizer, 0.9),
             s.StepLR(optimizer, 2, 0.5)]  # fmt: skip
    return s.SequentialLR(optimizer, parts, [3, 8])


def _warmup_cosine(s, optimizer):
    parts = [s.LinearLR(optimizer, 0.1, total_iters=4), s.CosineAnnealingLR(optimizer, 10, 1e-3)]
    return s.SequentialLR(optimizer, parts, [4])


def _chained(s, optimizer):
    return s.ChainedScheduler(
        [s.LinearLR(optimizer, 0.25, total_iters=5), s.ExponentialLR(optimizer, 0.9)]
    )


SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.9 + epoch / 100),
    "step": lambda s, o: s.StepLR(o, 3, 0.5),
    "multi_step": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], 0.3),
    "constant": lambda s, o: s.ConstantLR(o, 0.25, 4),
    "linear": lambda s, o: s.LinearLR(o, 0.2, 0.8, 6),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.85),
    "polynomial": lambda s, o: s.PolynomialLR(o, 8, 2.0),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 7, 0.01),
    "warm_restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "warm_restarts_even": lambda s, o: s.CosineAnnealingWarmRestarts(o, 4),
    "one_cycle": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=20),
    "one_cycle_linear": lambda s, o: s.OneCycleLR(
        o, [0.5, 0.2], epochs=4, steps_per_epoch=5, pct_start=0.4, anneal_strategy="linear",
        base_momentum=0.7, max_momentum=0.9, div_factor=10, final_div_factor=100,
    ),
    "one_cycle_three": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=20, three_phase=True),
    "sequential": _sequential,
    "warmup_cosine": _warmup_cosine,
    "chained": _chained,
}  # fmt: skip


def run_schedule(module, name, kind="SGD"):
    """Return the rates of both groups, and the momentum, before each of 20 epochs."""
    make = SCHEDULES[name]
    first, second = (module.tensor([1.0], requires_grad=True) for _ in range(2))
    momentum = {"momentum": 0.9} if kind == "SGD" else {}
    optimizer = getattr(module.optim, kind)(
        [{"params": [first]}, {"params": [second], "lr": 0.02}], lr=0.1, **momentum
    )
    scheduler = make(module.optim.lr_scheduler, optimizer)
    path = []
    for _ in range(20):
        groups = optimizer.param_groups
        momenta = groups[0]["momentum"] if kind == "SGD" else groups[0]["betas"][0]
        path.append([group["lr"] for group in groups] + [momenta])
        assert scheduler.get_last_lr() == path[-1][:2]
        optimizer.step()
        if len(path) < 20:
            scheduler.step()
    return path


PLATEAUS = {
    "min": {"patience": 1, "factor": 0.5},
    "max": {"mode": "max", "patience": 0, "threshold_mode": "abs", "threshold": 0.05},
    "cooldown": {"patience": 0, "cooldown": 2, "min_lr": [0.03, 0.001], "factor": 0.3},
}


def run_plateau(module, name):
    """Return the rates of both groups after each epoch."""
    first, second = (module.tensor([1.0], requires_grad=True) for _ in range(2))
    optimizer = module.optim.SGD([{"params": [first]}, {"params": [second], "lr": 0.02}], lr=0.1)
    scheduler = module.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **PLATEAUS[name])
    path = []
    for epoch in range(20):
        optimizer.step()
        scheduler.step(1.0 / (1 + min(epoch, 4)) + 0.001 * (epoch % 3))
        path.append([group["lr"] for group in optimizer.param_groups])
    return path


def run_all(module):
    """Return everything, by name."""
    schedules = {name: run_schedule(module, name) for name in SCHEDULES}
    schedules["one_cycle_adam"] = run_schedule(module, "one_cycle", "Adam")
    return {
        "optimizers": {name: run_optimizer(module, name) for name in OPTIMIZERS},
        "schedules": schedules,
        "plateaus": {name: run_plateau(module, name) for name in PLATEAUS},
    }


if __name__ == "__main__":
    library = importlib.import_module(sys.argv[1])
    importlib.import_module(sys.argv[1] + ".optim.lr_scheduler")
    results = run_all(library)
    lines = [
        f"  {json.dumps(kind)}: {{\n"
        + ",\n".join(f"    {json.dumps(name)}: {json.dumps(path)}" for name, path in cases.items())
        + "\n  }"
        for kind, cases in results.items()
    ]
    print("{\n" + ",\n".join(lines) + "\n}")
