# tests/python/optim/reference_optim.py -- optimizers and schedules, run in ebb and in PyTorch.
"""Prints what PyTorch gives: ``python -m tests.python.optim.reference_optim torch``.

reference_optim.json is that output, of PyTorch 2.15.0; test_reference.py compares with it.
Gradients are plain formulas in Python, so nothing but the optimizer and the schedule is compared.
"""

import importlib
import itertools
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
    "adadelta": ("Adadelta", {}),
    "adadelta_full": (
        "Adadelta",
        {"lr": 2.0, "rho": 0.6, "eps": 1e-2, "weight_decay": 0.1, "maximize": True},
    ),
    "adamax": ("Adamax", {"lr": 0.1}),
    "adamax_full": (
        "Adamax",
        {"lr": 0.1, "betas": (0.7, 0.8), "eps": 1e-2, "weight_decay": 0.1, "maximize": True},
    ),
    "nadam": ("NAdam", {"lr": 0.1}),
    "nadam_full": (
        "NAdam",
        {"lr": 0.1, "betas": (0.7, 0.8), "weight_decay": 0.1, "momentum_decay": 0.1},
    ),
    "nadam_decoupled": (
        "NAdam",
        {"lr": 0.1, "weight_decay": 0.2, "decoupled_weight_decay": True, "maximize": True},
    ),
    "radam": ("RAdam", {"lr": 0.1}),
    "radam_full": ("RAdam", {"lr": 0.1, "betas": (0.7, 0.8), "weight_decay": 0.1, "eps": 1e-2}),
    "radam_decoupled": (
        "RAdam",
        {"lr": 0.1, "weight_decay": 0.2, "decoupled_weight_decay": True, "maximize": True},
    ),
    "rprop": ("Rprop", {"lr": 0.1}),
    "rprop_full": (
        "Rprop",
        {"lr": 0.3, "etas": (0.3, 2.0), "step_sizes": (0.05, 0.5), "maximize": True},
    ),
    "asgd": ("ASGD", {"lr": 0.1}),
    "asgd_full": (
        "ASGD",
        {"lr": 0.2, "lambd": 0.1, "alpha": 0.5, "t0": 3, "weight_decay": 0.1, "maximize": True},
    ),
    "adafactor": ("Adafactor", {"lr": 0.3}),
    "adafactor_full": (
        "Adafactor",
        {"lr": 0.3, "beta2_decay": -0.5, "eps": (1e-2, 0.1), "d": 2.0, "weight_decay": 0.1,
         "maximize": True},
    ),
}  # fmt: skip

_COMMON = {"weight_decay": (0.0, 0.1), "maximize": (False, True)}
_NAMED = {"decoupled_weight_decay": (False, True)}
# What each optimizer can be told, with two values of each; all are combined.
OPTIONS = {
    "SGD": {"momentum": (0.0, 0.9), "dampening": (0.0, 0.3), "nesterov": (False, True), **_COMMON},
    "Adam": {"amsgrad": (False, True), "eps": (1e-8, 0.1), **_COMMON, **_NAMED},
    "AdamW": {"amsgrad": (False, True), "betas": ((0.9, 0.999), (0.3, 0.5)), **_COMMON},
    "Adamax": {"eps": (1e-8, 0.1), "betas": ((0.9, 0.999), (0.3, 0.5)), **_COMMON},
    "NAdam": {"momentum_decay": (4e-3, 0.5), **_COMMON, **_NAMED},
    "RAdam": {"betas": ((0.9, 0.999), (0.3, 0.5)), **_COMMON, **_NAMED},
    "RMSprop": {"momentum": (0.0, 0.9), "centered": (False, True), "alpha": (0.99, 0.5), **_COMMON},
    "Rprop": {"etas": ((0.5, 1.2), (0.3, 2.0)), "maximize": (False, True)},
    "Adagrad": {"lr_decay": (0.0, 0.5), "initial_accumulator_value": (0.0, 1.0), **_COMMON},
    "Adadelta": {"rho": (0.9, 0.5), "eps": (1e-6, 0.1), **_COMMON},
    "ASGD": {"alpha": (0.75, 0.3), "t0": (1e6, 2.0), **_COMMON},
    "Adafactor": {"d": (1.0, 3.0), "beta2_decay": (-0.8, -0.3), **_COMMON},
}


def combinations(kind):
    """Return every combination of an optimizer's options, as keyword arguments."""
    names = OPTIONS[kind]
    made = (dict(zip(names, values, strict=True)) for values in itertools.product(*names.values()))
    return [one for one in made if not one.get("nesterov") or (one["momentum"] and
                                                              not one["dampening"])]  # fmt: skip


def run_options(module, kind):
    """Return the parameter after six steps, for each combination."""
    return [_end_of(module, kind, {"lr": 0.1, **options}) for options in combinations(kind)]


def _end_of(module, kind, options):
    p = module.tensor([1.0, -2.0, 0.5], dtype=module.float64, requires_grad=True)
    optimizer = getattr(module.optim, kind)([p], **options)
    for step in range(6):
        p.grad = module.tensor(gradient(p.tolist(), step), dtype=module.float64)
        optimizer.step()
    return p.tolist()


MATRICES = {
    "adafactor_matrix": ("Adafactor", {"lr": 0.3}, (3, 4)),
    "adafactor_stack": ("Adafactor", {"lr": 0.3, "weight_decay": 0.1}, (2, 3, 2)),
    "muon": ("Muon", {"lr": 0.1}, (3, 4)),
    "muon_tall": ("Muon", {"lr": 0.1, "nesterov": False, "weight_decay": 0.3}, (6, 2)),
    "muon_rms": (
        "Muon",
        {"lr": 0.1, "momentum": 0.5, "ns_steps": 3, "adjust_lr_fn": "match_rms_adamw"},
        (4, 2),
    ),
}

SEARCHES = {
    "plain": {"lr": 0.02, "max_iter": 3},
    "plain_long": {"lr": 0.2, "max_iter": 9, "history_size": 2},
    "wolfe": {"max_iter": 4, "line_search_fn": "strong_wolfe"},
    "wolfe_small": {"lr": 1e-3, "max_iter": 3, "line_search_fn": "strong_wolfe"},
    "wolfe_large": {"lr": 50.0, "max_iter": 3, "line_search_fn": "strong_wolfe"},
    "plain_maximize": {"lr": 0.02, "max_iter": 3, "maximize": True},
    "wolfe_maximize": {"max_iter": 4, "line_search_fn": "strong_wolfe", "maximize": True},
    "wolfe_few": {"max_iter": 20, "max_eval": 5, "line_search_fn": "strong_wolfe"},
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


def run_matrix(module, name):
    """Return the matrix, as a list, after each step."""
    kind, options, shape = MATRICES[name]
    count = math.prod(shape)
    p = module.tensor([math.cos(2 * i) for i in range(count)], dtype=module.float64)
    p = p.reshape(shape).requires_grad_(True)
    optimizer = getattr(module.optim, kind)([p], **options)
    path = []
    for step in range(6):
        grad = gradient(p.detach().reshape(-1).tolist(), step)
        p.grad = module.tensor(grad, dtype=module.float64).reshape(shape)
        optimizer.step()
        path.append(p.detach().reshape(-1).tolist())
    return path


def run_search(module, name):
    """Return parameters, loss and calls of the closure after each step of LBFGS."""
    x = module.tensor([-1.5, 2.0], dtype=module.float64, requires_grad=True)
    y = module.tensor([[0.5]], dtype=module.float64, requires_grad=True)
    optimizer = module.optim.LBFGS([x, y], **SEARCHES[name])
    sign = -1 if SEARCHES[name].get("maximize") else 1
    calls = []

    def closure():
        optimizer.zero_grad()
        valley = (1 - x[0]) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2
        loss = sign * (valley + (y * y * y * y).sum() + (y.reshape(-1)[0] - x[1]) ** 2)
        loss.backward()
        calls.append(loss.item())
        return loss

    path = []
    for _ in range(6):
        loss = optimizer.step(closure)
        path.append([*x.tolist(), y.item(), loss.item(), len(calls)])
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


def _swa(s, optimizer, **options):
    averages = importlib.import_module(s.__name__.replace("lr_scheduler", "swa_utils"))
    return averages.SWALR(optimizer, **options)


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
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, [0.5, 0.2], 3, 4),
    "cyclic_halving": lambda s, o: s.CyclicLR(o, [0.01, 0.02], 0.5, 3, mode="triangular2"),
    "cyclic_falling": lambda s, o: s.CyclicLR(
        o, 0.01, 0.5, 2, 5, "exp_range", 0.9, base_momentum=0.5, max_momentum=[0.95, 0.7],
    ),
    "cyclic_free": lambda s, o: s.CyclicLR(
        o, 0.01, 0.5, 4, scale_fn=lambda cycle: 1 / cycle**2, cycle_momentum=False,
    ),
    "cyclic_free_steps": lambda s, o: s.CyclicLR(
        o, 0.01, 0.5, 4, scale_fn=lambda step: 1 / (1 + step), scale_mode="iterations",
    ),
    "swa": lambda s, o: _swa(s, o, swa_lr=0.5, anneal_epochs=6),
    "swa_linear": lambda s, o: _swa(
        s, o, swa_lr=[0.5, 0.001], anneal_epochs=4, anneal_strategy="linear"
    ),
    "swa_at_once": lambda s, o: _swa(s, o, swa_lr=0.05, anneal_epochs=0),
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


AVERAGES = {
    "mean": (None, None, False),
    "mean_buffers": (None, None, True),
    "mean_one": ("avg_fn", ("get_swa_avg_fn",), True),
    "mean_multi": ("multi_avg_fn", ("get_swa_multi_avg_fn",), False),
    "moving_one": ("avg_fn", ("get_ema_avg_fn", 0.75), True),
    "moving_multi": ("multi_avg_fn", ("get_ema_multi_avg_fn", 0.6), True),
}


def run_average(module, name):
    """Return the averaged model's state after each of six steps, and after ``update_bn``."""
    averages = importlib.import_module(module.__name__ + ".optim.swa_utils")
    option, function, use_buffers = AVERAGES[name]
    options = {option: getattr(averages, function[0])(*function[1:])} if option else {}
    model = module.nn.Sequential(module.nn.Linear(2, 2), module.nn.BatchNorm1d(2)).double()
    with module.no_grad():
        for number, p in enumerate(model.parameters()):
            p.copy_(module.arange(p.numel(), dtype=p.dtype).reshape(p.shape).sin() + number)
    averaged = averages.AveragedModel(model, use_buffers=use_buffers, **options)
    optimizer = module.optim.SGD(model.parameters(), lr=0.1)
    batches = [module.tensor([[1.0, i], [2.0, -1.0], [i, 0.5]], dtype=module.float64)
               for i in range(6)]  # fmt: skip
    path = []
    for batch in batches:
        optimizer.zero_grad()
        (model(batch) - batch).square().mean().backward()
        optimizer.step()
        averaged.update_parameters(model)
        path.append(_values(averaged))
    averages.update_bn(batches, averaged)
    return [*path, _values(averaged)]


def _values(model):
    return [v for tensor in model.state_dict().values() for v in tensor.reshape(-1).tolist()]


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


JUMPS = ["lambda", "step", "multi_step", "constant", "linear", "exponential", "polynomial",
         "cosine", "warm_restarts", "one_cycle", "cyclic"]  # fmt: skip


def run_jumps(module, name):
    """Return the rates after jumps to some epochs, with steps between."""
    first, second = (module.tensor([1.0], requires_grad=True) for _ in range(2))
    optimizer = module.optim.SGD(
        [{"params": [first]}, {"params": [second], "lr": 0.02}], lr=0.1, momentum=0.9
    )
    scheduler = SCHEDULES[name](module.optim.lr_scheduler, optimizer)
    path = []
    for epoch in (3, None, 8, 2, None, 0):
        optimizer.step()
        scheduler.step(*[] if epoch is None else [epoch])
        path.append([scheduler.last_epoch, *scheduler.get_last_lr()])
    return path


def run_resumed(module, name, states=None):
    """Return states of schedule and groups after four epochs, and the rates after that.

    With ``states`` a schedule that was just made goes on from them.
    """
    first, second = (module.tensor([1.0], requires_grad=True) for _ in range(2))
    optimizer = module.optim.SGD(
        [{"params": [first]}, {"params": [second], "lr": 0.02}], lr=0.1, momentum=0.9
    )
    scheduler = SCHEDULES[name](module.optim.lr_scheduler, optimizer)
    if states is None:
        for _ in range(4):
            optimizer.step()
            scheduler.step()
        groups = [{key: value for key, value in group.items() if key != "params"}
                  for group in optimizer.param_groups]  # fmt: skip
        states = json.loads(json.dumps([scheduler.state_dict(), groups]))
    else:
        scheduler.load_state_dict(_with_numbers(states[0]))
        for group, given in zip(optimizer.param_groups, states[1], strict=True):
            group.update(given)
    path = []
    for _ in range(5):
        optimizer.step()
        scheduler.step()
        path.append(scheduler.get_last_lr())
    return [states, path]


COUNTERS = ["nadam", "nadam_full", "asgd", "asgd_full", "adam", "rprop"]


def run_counters(module, name):
    """Return the numbers in an optimizer's state after five steps."""
    kind, options = OPTIMIZERS[name]
    p = module.tensor([1.0, -2.0, 0.5, 3.0], dtype=module.float64, requires_grad=True)
    optimizer = getattr(module.optim, kind)([p], **options)
    for step in range(5):
        p.grad = module.tensor(gradient(p.tolist(), step), dtype=module.float64)
        optimizer.step()
    state = optimizer.state_dict()["state"][0]
    return {key: value.item() for key, value in sorted(state.items()) if value.numel() == 1}


def _with_numbers(state):
    """Return a state with the keys of milestones as numbers, which JSON does not know."""
    if "milestones" not in state:
        return state
    return {**state, "milestones": {int(at): n for at, n in state["milestones"].items()}}


def run_all(module):
    """Return everything, by name."""
    schedules = {name: run_schedule(module, name) for name in SCHEDULES}
    schedules["one_cycle_adam"] = run_schedule(module, "one_cycle", "Adam")
    return {
        "optimizers": {name: run_optimizer(module, name) for name in OPTIMIZERS},
        "options": {kind: run_options(module, kind) for kind in OPTIONS},
        "matrices": {name: run_matrix(module, name) for name in MATRICES},
        "searches": {name: run_search(module, name) for name in SEARCHES},
        "schedules": schedules,
        "averages": {name: run_average(module, name) for name in AVERAGES},
        "counters": {name: run_counters(module, name) for name in COUNTERS},
        "resumed": {name: run_resumed(module, name) for name in SCHEDULES},
        "jumps": {name: run_jumps(module, name) for name in JUMPS},
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
