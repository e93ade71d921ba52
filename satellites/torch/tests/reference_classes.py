# satellites/torch/tests/reference_classes.py -- what PyTorch's classes are: bases, names,
# attributes.
"""Prints the table where PyTorch is: ``python satellites/torch/tests/reference_classes.py``.

reference_classes.json is that output, of PyTorch 2.15.0; test_classes.py compares with it. A class
has: its place and name; its bases, by where PyTorch's programs find them; public attributes of the
class; arguments that make an object, and the public attributes of that.
"""

import importlib
import json
import sys
import warnings

ROOMS = (
    *("nn", "nn.parameter", "nn.utils.prune", "nn.utils.rnn", "nn.modules.batchnorm"),
    *("nn.modules.conv", "nn.modules.dropout", "nn.modules.instancenorm", "nn.modules.lazy"),
    *("nn.modules.linear", "nn.modules.loss", "nn.modules.padding", "nn.modules.pooling"),
    *("nn.modules.rnn", "optim", "optim.lr_scheduler", "optim.swa_utils", "distributions"),
    *("distributions.constraints", "distributions.transforms", "utils.data"),
    *("utils.data.dataloader", "autograd.function", "autograd.graph"),
)
# Of those, what PyTorch's abandoned pipes of data have, and what its own modules alone use.
SKIPPED = ("Pipe", "DataChunk", "deterministic", "validation_disabled", "Dispatch", "IOFunction",
           "lazy_property", "BackwardCFunction", "sync_batch_norm", "_HookMixin", "_SingleLevel",
           "node_creation_hook", "FunctionMeta", "Variable")  # fmt: skip
# Arguments that make an object, the first that do; a list is a tensor, "params" a list of one
# parameter, "optimizer" an SGD of that, "data" four samples, "module" a Linear.
TRIES = (
    [], [2], [2, 2], [2, 2, 2], [0.5], [0.5, 0.5], [[0.5, 0.5]], [2, [0.5, 0.5]],
    ["params"], ["params", 0.1], ["optimizer"], ["optimizer", 2], ["optimizer", 0.1, 0.2],
    ["data"], ["data", 2], ["data", 2, False], ["module"], ["optimizer", "unit"],
    [[1.0, 1.0], [1.0, 1.0]], [0.5, 0.5, 0.5], [[[1.0, 0.0], [0.0, 1.0]]], [4, [2.0]],
    [2, [[1.0, 0.0], [0.0, 1.0]]], [[0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]],
    [8, 4, [2]], [8, 2, 2, 2],
)  # fmt: skip
# Of other modules' classes no objects are made.
MADE = ("nn.", "optim.", "distributions.", "utils.data.")


def classes(room):
    """The classes that a module of PyTorch's has and programs find there, with their names."""
    module = importlib.import_module(f"torch.{room}")
    for name, value in sorted(vars(module).items()):
        home = f"torch.{room.partition('.')[0]}"
        is_own = isinstance(value, type) and value.__module__.startswith(home)
        if is_own and not any(word in name.lower() for word in map(str.lower, SKIPPED)):
            yield name, value


def made_arguments(given, torch):
    """What the entries of TRIES stand for."""

    def one(value):
        if isinstance(value, list) and not (value and isinstance(value[0], int)):
            return torch.tensor(value)
        if not isinstance(value, str):
            return value
        params = [torch.nn.Parameter(torch.ones(2))]
        return {
            "params": lambda: params,
            "optimizer": lambda: torch.optim.SGD(params, lr=0.1, momentum=0.9),
            "data": lambda: [1, 2, 3, 4],
            "module": lambda: torch.nn.Linear(2, 2),
            "unit": lambda: lambda step: 1.0,
        }[value]()

    return [one(value) for value in given]


def attributes_of(made):
    """Public attributes that an object has of its own."""
    found = {name for name in getattr(made, "__dict__", {}) if not name.startswith("_")}
    for inner in ("_parameters", "_buffers", "_modules"):
        found |= set(getattr(made, inner, None) or ())
    return sorted(found)


def found_classes():
    """Public classes, and private ones that are bases of those, by the first place they are at."""
    where = {}
    for room in ROOMS:
        for name, cls in classes(room):
            where.setdefault(cls, f"{room}.{name}")
    public = [cls for cls, place in where.items() if "._" not in place]
    needed = {base for cls in public for base in cls.__mro__}
    return {cls: place for cls, place in where.items() if cls in needed}


def record(torch):
    """One entry for each class."""
    where, entries = found_classes(), {}
    for cls, place in where.items():
        entry = {
            "name": cls.__name__,
            "bases": [where[base] for base in cls.__mro__[1:] if base in where],
            "attributes": sorted(name for name in vars(cls) if not name.startswith("_")),
        }
        for given in TRIES if place.startswith(MADE) else ():
            try:
                made = cls(*made_arguments(given, torch))
            except Exception:
                continue
            entry |= {"made_with": given, "own": attributes_of(made)}
            break
        entries[place] = entry
    return entries


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch = importlib.import_module("torch")

    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in record(torch).items())
    sys.stdout.write("{\n" + lines + "\n}\n")
