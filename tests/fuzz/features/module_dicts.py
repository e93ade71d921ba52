# tests/fuzz/features/module_dicts.py -- what programs do with a module's attributes and dicts,
# drawn, beside a plain model of four dicts.
#
# `python -m tests.fuzz.features.module_dicts torch COUNT`, in an interpreter that has PyTorch,
# compares the model with that instead. Start reading at Model.
"""``run``: one drawn program against the model; ``STEPS``: what it is drawn from."""

from __future__ import annotations

import copy
import importlib
import pickle
import random
import sys
import traceback

NAMES = ("weight", "inner", "x", "training")
KINDS = ("_parameters", "_buffers", "_modules")
VALUES = ("parameter", "tensor", "buffer", "module", "number", "none")


class RefusedError(Exception):
    """What the model takes and a module refuses."""


class Model:
    """A module as PyTorch's documentation has it: attributes, and three dicts of parts."""

    def __init__(self, of_class):
        self.of_class = of_class  # names of plain values that the class has
        self.own = {"training": True}
        self.parts = {kind: {} for kind in KINDS}
        self.transient = set()

    def kind_of(self, name):
        """The dict that holds a name, the first of several."""
        return next((kind for kind in KINDS if name in self.parts[kind]), None)

    def read(self, name):
        """What `module.name` is."""
        if name in self.own:
            return self.own[name]
        kind = self.kind_of(name)
        if kind is None:
            raise AttributeError(name)
        return self.parts[kind][name]

    def assign(self, name, value, what):
        """`module.name = value`."""
        home = {"parameter": "_parameters", "module": "_modules", "buffer": "_buffers"}.get(what)
        known = self.kind_of(name)
        if home is None and known is None:
            self.own[name] = value
        elif home is None:
            if value is not None and not (known == "_buffers" and what == "tensor"):
                raise TypeError(name)
            self.parts[known][name] = value
        else:
            self.own.pop(name, None)
            for kind in KINDS:
                if kind != home:
                    self.parts[kind].pop(name, None)
            self.parts[home][name] = value
            self.transient.discard(name)

    def register(self, kind, name, value, is_persistent):
        """`register_parameter` and its like."""
        taken = name in {*self.own, *self.of_class} or self.kind_of(name) not in (None, kind)
        if taken and name not in self.parts[kind]:
            raise ValueError(name)
        self.parts[kind][name] = value
        if kind == "_buffers":
            (self.transient.discard if is_persistent else self.transient.add)(name)

    def delete(self, name):
        """`del module.name`."""
        kind = self.kind_of(name)
        if kind is None and name not in self.own:
            raise AttributeError(name)
        if kind is None:
            del self.own[name]
        else:
            del self.parts[kind][name]
            self.transient.discard(name)


class Trial:
    """A module and its model, and the steps that change both."""

    def __init__(self, make, lib, draw):
        of_class = [name for name in NAMES if hasattr(make, name)]
        self.module, self.model, self.lib, self.draw = make(), Model(of_class), lib, draw

    def value(self, what):
        """A new value of a kind."""
        nn, ones = self.lib.nn, self.lib.ones
        made = {
            "parameter": lambda: nn.Parameter(ones(1)), "tensor": lambda: ones(1),
            "buffer": lambda: nn.Buffer(ones(1)), "module": lambda: nn.ReLU(),
            "number": lambda: self.draw.randrange(9), "none": lambda: None,
        }  # fmt: skip
        return made[what]()

    def both(self, act, meant):
        """Do something to the module, and to the model what it means; both fail or none."""
        failed = []
        for one in (act, meant):
            try:
                one()
                failed.append(None)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                failed.append(error)
        if failed[1] is None and failed[0] is not None:
            raise RefusedError(failed[0])
        assert (failed[0] is None) == (failed[1] is None), failed

    def pick(self):
        """A name, and the name of a dict."""
        return self.draw.choice(NAMES), self.draw.choice(KINDS)

    def fitting(self, kind):
        """A value that a dict of parts may hold."""
        what = {"_parameters": "parameter", "_buffers": "tensor", "_modules": "module"}[kind]
        return self.value(self.draw.choice([what, what, "none"]))

    def assign(self):
        name, _ = self.pick()
        what = self.draw.choice(VALUES)
        value = self.value(what)
        self.both(
            lambda: setattr(self.module, name, value), lambda: self.model.assign(name, value, what)
        )

    def assign_past_the_module(self):
        name, _ = self.pick()
        value = self.value("number")
        self.both(
            lambda: object.__setattr__(self.module, name, value),
            lambda: self.model.own.update({name: value}),
        )

    def delete(self):
        name, _ = self.pick()
        self.both(lambda: delattr(self.module, name), lambda: self.model.delete(name))

    def register(self):
        name, kind = self.pick()
        value, is_persistent = self.fitting(kind), self.draw.random() < 0.5
        acts = {
            "_parameters": lambda: self.module.register_parameter(name, value),
            "_buffers": lambda: self.module.register_buffer(name, value, is_persistent),
            "_modules": lambda: self.module.add_module(name, value),
        }
        meant = lambda: self.model.register(kind, name, value, is_persistent)  # noqa: E731
        self.both(acts[kind], meant)

    def write(self):
        name, kind = self.pick()
        value = self.fitting(kind)
        getattr(self.module, kind)[name] = value
        self.model.parts[kind][name] = value

    def take_out(self):
        name, kind = self.pick()
        self.both(
            lambda: getattr(self.module, kind).pop(name), lambda: self.model.parts[kind].pop(name)
        )

    def replace(self):
        name, kind = self.pick()
        value = self.fitting(kind)
        setattr(self.module, kind, {name: value})
        self.model.parts[kind] = {name: value}

    def write_attribute(self):
        name, _ = self.pick()
        vars(self.module)[name] = self.model.own[name] = self.value("number")

    def copy(self):
        way = self.draw.choice([copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
        self.module = way(self.module)
        # Values are others now; where they are is what counts.
        for kind in KINDS:
            parts = vars(self.module)[kind]
            assert list(parts) == list(self.model.parts[kind])
            self.model.parts[kind] = dict(parts)
        self.model.own = {name: vars(self.module)[name] for name in self.model.own}

    def check(self):
        """Compare all that can be read."""
        module, model = self.module, self.model
        for name in NAMES:
            try:
                wanted = model.read(name)
            except AttributeError:
                assert name in model.of_class or not hasattr(module, name), name
            else:
                assert getattr(module, name) is wanted, name
        for kind in KINDS:
            held = vars(module)[kind]
            assert held is getattr(module, kind) and isinstance(held, dict)
            assert list(held) == list(model.parts[kind])
            assert all(held[name] is value for name, value in model.parts[kind].items())
        own = {name for name in vars(module) if not name.startswith("_")}
        assert own == {*model.own}
        names = {name for kind in KINDS for name in model.parts[kind]}
        assert {*model.own, *names} <= {*dir(module)}
        self.check_lists()

    def check_lists(self):
        """Compare what walks over the parts give."""
        module, parts = self.module, self.model.parts
        held = {kind: {n: v for n, v in parts[kind].items() if v is not None} for kind in KINDS}
        assert [name for name, _ in module.named_parameters()] == list(held["_parameters"])
        assert [name for name, _ in module.named_buffers()] == list(held["_buffers"])
        assert [name for name, _ in module.named_children()] == list(held["_modules"])
        saved = [name for name in held["_buffers"] if name not in self.model.transient]
        assert list(module.state_dict()) == list(dict.fromkeys([*held["_parameters"], *saved]))


STEPS = (
    *(Trial.assign, Trial.assign_past_the_module, Trial.delete, Trial.register, Trial.write),
    *(Trial.take_out, Trial.replace, Trial.write_attribute, Trial.copy),
)


def run(make, lib, steps, seed):
    """Do the steps with these numbers to a new module and its model."""
    trial = Trial(make, lib, random.Random(seed))
    for step in steps:
        STEPS[step](trial)
        trial.check()


def main(library, count):
    """Draw programs for another library's modules."""
    lib = importlib.import_module(library)
    refused = set()
    for seed in range(int(count)):
        draw = random.Random(seed)
        steps = [draw.randrange(len(STEPS)) for _ in range(12)]
        try:
            run(lib.nn.Module, lib, steps, seed)
        except RefusedError as error:
            refused.add(str(error).partition(" ")[0])
        except Exception as error:
            print(seed, [STEPS[one].__name__ for one in steps], type(error).__name__, error)
            traceback.print_exc()
    print("refused:", refused)


if __name__ == "__main__":
    main(*sys.argv[1:])
