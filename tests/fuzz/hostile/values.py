# tests/fuzz/hostile/values.py -- arguments, sensible and not, and objects to call methods on.
#
# A sensible value follows from a parameter's annotation and name; an instance of a class is made by
# drawing sensible arguments of its constructor until one call works. Start at draw_value().
"""Values for the fuzzer of hostile calls."""

from __future__ import annotations

import re

import numpy as np

import ebb

INF, NAN = float("inf"), float("nan")


class Angry:
    """Raises from whatever Python may call."""

    def __index__(self):
        raise KeyError("angry")

    __float__ = __bool__ = __len__ = __iter__ = __call__ = __index__

    def __getitem__(self, key):
        raise KeyError("angry")


def junk_makers(rng):
    """Makers of one argument each."""
    x = ebb.ones(2, 3)
    own = [1, 2]
    own.append(own)
    return [
        lambda: x,
        lambda: x.T,
        lambda: ebb.ones(3, requires_grad=True),
        lambda: ebb.ones(3, requires_grad=True) * 2,
        lambda: ebb.zeros(0, 2),
        lambda: ebb.tensor(3),
        lambda: ebb.tensor([0, -1, 2**40]),
        lambda: ebb.tensor([NAN, INF, -INF, 0.0]),
        lambda: ebb.ones(2, 3, dtype=ebb.bool),
        lambda: ebb.ones(2, dtype=ebb.complex64),
        lambda: ebb.ones(2, dtype=ebb.bfloat16),
        lambda: ebb.ones(1, 2, 3, 4, 5, 6, 7),
        lambda: ebb.zeros(1).expand(3),
        lambda: ebb.eye(2).to_sparse(),
        lambda: rng.choice((None, True, False, 0, -1, 2, 7, 2**31, 2**40, 2**63 - 1)),
        lambda: rng.choice((-(2**31), -(2**63), 2**63, 2**70, 10**400)),
        lambda: rng.choice((0.5, -1.5, 1e308, 1e-320, INF, -INF, NAN, 1j, complex(NAN, INF))),
        lambda: rng.choice(
            ("", "mean", "none", "x" * 1000, "\udc80", "%n%s\0", "cpu:99", "fan_in")
        ),
        lambda: rng.choice((b"bytes", [], (), {}, {"a": 1}, {1: x}, set(), range(3), own)),
        lambda: rng.choice(([1, 2], (3, -1), [2**40, 2**40], [[1], [2]], [1] * 40, [NAN], ["a"])),
        lambda: rng.choice(([x, x], [x, None], (x,), {"x": x}, [[x]], [Angry()])),
        lambda: rng.choice((ebb.float32, ebb.int64, ebb.complex64, ebb.bool)),
        lambda: rng.choice((ebb.device("cpu"), ebb.Generator(), ebb.nn.Linear(2, 2))),
        lambda: rng.choice((np.float32(1), np.int64(1), np.bool_(True), np.arange(3))),
        lambda: rng.choice((np.array(None), np.zeros((2, 0)), np.ones(2, "U3"))),
        lambda: rng.choice((Angry(), object, object(), len, Ellipsis, slice(0, 2), NotImplemented)),
        lambda: rng.choice((lambda *args, **named: 1, lambda x: x * 2, lambda: None)),
    ]


def junk(rng):
    """Return anything."""
    return rng.choice(junk_makers(rng))()


def tensor(rng):
    """Return an ordinary tensor, of any rank that layers take."""
    shape = rng.choice(((), (3,), (2, 3), (2, 2, 4), (1, 2, 4, 4), (1, 2, 3, 4, 4)))
    kind = rng.randrange(6)
    if kind == 0:
        return ebb.randint(0, 2, shape)
    made = ebb.rand(*shape) if shape else ebb.tensor(0.5)
    return made.requires_grad_() if kind == 1 else made


# Sensible values for parameters without annotations, and for annotations that say too little.
BY_NAME = {
    "params": lambda rng: [ebb.nn.Parameter(ebb.rand(2))],
    "dataset|datasets|data_source": lambda rng: ebb.data.TensorDataset(ebb.rand(4, 2)),
    "optimizer": lambda rng: ebb.optim.SGD([ebb.nn.Parameter(ebb.rand(2))], lr=0.1),
    "lr_lambda|func|function|fn|closure": lambda rng: lambda *args: args[0] if args else 1.0,
    "path|file|filename": lambda rng: rng.choice(("made", "missing/made", "made.npz")),
    "dims|dim|axis": lambda rng: rng.choice((0, -1, 1)),
    "size|shape|sizes": lambda rng: rng.choice(((2, 3), 2, [2])),
    "sampler|indices": lambda rng: [0, 1],
    "weights|milestones|lengths": lambda rng: [1, 2],
    "schedulers": lambda rng: [],
    "device|devices": lambda rng: "cpu",
    "dtype": lambda rng: rng.choice((ebb.float32, ebb.float64, ebb.int64)),
    "num_heads|groups": lambda rng: 1,
    ".*_size|num_.*|.*features|.*channels|.*_dim|.*_iters|total_.*|n|T_.*": lambda rng: (
        rng.randrange(1, 4)
    ),
    "input.*|x|other|tensors?|a|b|A|target|loss|outputs?|roots?|self": tensor,
    "model|module": lambda rng: ebb.nn.Linear(2, 2),
}


def sensible(rng, parameter):
    """Return a value that fits a parameter as far as one can tell."""
    text = re.sub(r"\b(builtins\.|_C\.|_(?=dtype|device|Number))", "", parameter.annotation)
    for pattern, make in BY_NAME.items():
        if re.fullmatch(pattern, parameter.name) and not re.search(r"\b(str|bool)\b", text):
            return make(rng)
    choices = [make for word, make in BY_TYPE.items() if re.search(rf"\b{word}\b", text)]
    return rng.choice(choices)(rng) if choices else tensor(rng)


WORDS = ("mean", "sum", "none", "a", "0")
BY_TYPE = {
    "Tensor": tensor,
    "Sequence|Ints|list|Iterable|tuple": lambda rng: rng.choice(
        ([1], [1, 2], (1, 1), [tensor(rng)])
    ),
    "int|Number|Ints": lambda rng: rng.choice((0, 1, 2, 3)),
    "float": lambda rng: rng.choice((0.1, 0.5, 1.0)),
    "bool": lambda rng: rng.random() < 0.5,
    "str": lambda rng: rng.choice(WORDS),
    "None": lambda rng: None,
    "dtype": lambda rng: ebb.float32,
    "device": lambda rng: "cpu",
    "Module": lambda rng: ebb.nn.Linear(2, 2),
    "Callable": lambda rng: lambda *args, **named: args[0] if args else None,
    "Parameter": lambda rng: ebb.nn.Parameter(ebb.rand(2)),
    "dict|Mapping": lambda rng: {"a": tensor(rng)},
    "Optimizer": BY_NAME["optimizer"],
    "Generator": lambda rng: ebb.Generator(),
}


def draw_value(rng, parameter):
    """Return an argument: sensible, or anything."""
    return sensible(rng, parameter) if rng.random() < 0.55 else junk(rng)


def draw_arguments(rng, parameters, draw=draw_value):
    """Return positional and keyword arguments of one call."""
    args, kwargs = [], {}
    skipped = False
    for one in parameters:
        if one.any_keyword:
            continue
        if one.several:
            args += [draw(rng, one) for _ in range(0 if skipped else rng.randrange(3))]
            skipped = True
        elif one.has_default and rng.random() < 0.5:
            skipped = True
        elif one.keyword_only or skipped:
            kwargs[one.name] = draw(rng, one)
        else:
            args.append(draw(rng, one))
    return args, kwargs


def refused_arguments(rng, parameters):
    """Return sensible arguments but for one that no call may take, and its name.

    Such as are kept, looked at later or left aside are the easiest to overlook.
    """
    kept = [one for one in parameters if "Callable" in one.annotation]
    if kept and rng.random() < 0.5:
        wrong, value = rng.choice(kept), object()
        args, kwargs = draw_arguments(
            rng, parameters, lambda rng, one: value if one is wrong else sensible(rng, one)
        )
        is_given = any(one is value for one in [*args, *kwargs.values()])
        return args, kwargs, wrong.name if is_given else None
    args, kwargs = draw_arguments(rng, parameters, sensible)
    if any(one.any_keyword for one in parameters):
        return args, kwargs, None
    return args, {**kwargs, "no_such_keyword": 1}, "no_such_keyword"


def misuse(rng, args, kwargs):
    """Now and then take an argument away, or add one."""
    kind = rng.randrange(12)
    if kind == 0 and args:
        args.pop()
    elif kind == 1:
        args.append(junk(rng))
    elif kind == 2:
        kwargs[rng.choice(("out", "dim", "foo", "dtype"))] = junk(rng)


# Classes whose instances no constructor gives.
def _node(rng):
    return (tensor(rng).float().requires_grad_() * 2).grad_fn


def _recorded(rng):
    return ebb.nn.Linear(2, 2)(ebb.rand(1, 2)).sum()


INSTANCES = {
    "Tensor": tensor,
    "Node": _node,
    "Parameter": lambda rng: ebb.nn.Parameter(ebb.rand(2, 2)),
    "Graph": lambda rng: ebb.graph(_recorded(rng)),
    "dtype": lambda rng: ebb.float32,
}


def instance_of(rng, cls, parameters):
    """Return an instance, or None if none of many constructor calls made one."""
    if cls.__name__ in INSTANCES:
        return INSTANCES[cls.__name__](rng)
    for _ in range(40):
        args, kwargs = draw_arguments(rng, parameters, sensible)
        try:
            return cls(*args, **kwargs)
        except Exception:  # not sensible enough: drawn again
            continue
    return None
