# tests/fuzz/features/modules.py -- steps with modules and optimizers: calls, hooks, steps, copies.
#
# A Model is what a module of helpers.py means: its leaves, by their place in the module,
# whether its weight is doubled by a parametrization, and its hooks. Stepper is an optimizer.
"""Modules and optimizers of programs of features."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tests.fuzz.features import plain_tape as tape
from tests.fuzz.features.blocks import changed
from tests.fuzz.features.draws import step
from tests.fuzz.features.plain_tensors import COMPLEX, SkipError, rounded
from tests.fuzz.features.steps import numbers, result, see_grads, seeds_for


@dataclass
class Model:
    name: str
    layers: list  # pairs of names of leaves: weight and bias of each
    leaves: dict  # tensors by their place
    hooks: dict = field(default_factory=dict)
    doubled: bool = False
    calls: int = 0
    untold: bool = False  # called in a function that runs again, or not to its end

    def place(self, key):
        if self.doubled and key.endswith("weight"):
            return f"{self.name}.parametrizations.weight.original"
        return f"{self.name}.{key}"


LAYERS = {
    "Affine": [("weight", "bias")],
    "Tied": [("one.weight", "one.bias"), ("one.weight", "two.bias")],
}


def leaf_at(program, model, key, value, dtype):
    made = program.world.fresh(model.place(key), tape.constant(value), dtype, is_leaf=True)
    model.leaves[key] = program.add(made)
    program.leaves.append(made)


@step()
def module(program, choices):
    kind, name = choices.pick(LAYERS), program.name("m")
    shape, dtype = choices.pick([(3,), (), (2, 3), (1,)]), choices.pick(program.dtypes)
    if program.captive or program.functions or not program.world.records:
        raise SkipError
    model = Model(name, LAYERS[kind], {})
    keys = list(dict.fromkeys(key for pair in model.layers for key in pair))
    given = []
    for key in keys:
        value = numbers(choices, shape, dtype, program.counter + len(given))
        given.append(f"lib.tensor({value.tolist()}, dtype=lib.{dtype})")
        leaf_at(program, model, key, value, dtype)
    program.emit(f"{name} = do.{kind}({', '.join(given)})")
    program.objects_of("modules").append(model)


def forward(program, model, one, instead=None):
    """The result of calling the module, as a tensor that has no name yet."""
    world = program.world
    given = one
    if "input" in model.hooks:
        given = result(program, lambda x: tape.scale(x, 2.0), [], [given])
    if "after" in model.hooks:
        inside = [*model.leaves.values(), *(instead or {}).values()]
        own = any(one.family is leaf.family for leaf in inside)
        if own or not given.needs or not world.records:
            raise SkipError
        given = bounded(program, given, 2.0)
    made = given
    for place, (weight, bias) in enumerate(model.layers):
        if place:
            made = result(program, tape.tanh, "out", [made])
        factor = (instead or {}).get(weight, model.leaves[weight])
        if model.doubled:
            factor = result(program, lambda x: tape.scale(x, 2.0), [], [factor])
        kept = [(keep, of) for keep, of in [(factor, made), (made, factor)] if of.needs]
        made = result(program, tape.mul, kept, [made, factor])
        made = result(program, tape.add, [], [made, model.leaves[bias]])
    if "output" in model.hooks:
        made = result(program, lambda x: tape.scale(x, 0.5), [], [made])
    if "before" in model.hooks:
        if not made.needs or not world.records:
            raise SkipError
        made = result(program, tape.identity, [], [made])
        made.node().hooks.append(lambda g: tape.scale(g, 3.0))
    return made


def bounded(program, one, factor):
    """An input of a module, whose gradient is multiplied by a hook."""
    grid = np.arange(one.places.size).reshape(one.shape)
    made = program.world.view("", one, grid)
    made.node().hooks.append(lambda g: tape.scale(g, factor))
    return made


def one_of(kind, make, program, choices):
    """One of the program's objects of a kind; the first is made where there is none."""
    if not program.objects_of(kind):
        make(program, choices)
        program.keep()
    return choices.pick(program.objects_of(kind))


def a_model(program, choices):
    return one_of("modules", module, program, choices)


@step(4)
def call(program, choices):
    model = a_model(program, choices)
    one = program.tensor(choices, lambda one: fits(model, one))
    name, instead, code = program.name(), None, f"{model.name}({one.name})"
    key = model.layers[0][0]
    others = [other for other in program.pool if other.shape == model.leaves[key].shape]
    others = [other for other in others if other.dtype == model.leaves[key].dtype]
    if choices.chance(4) and others and not model.doubled:
        other = choices.pick(others)
        given = f"{{{key!r}: {other.name}}}"
        code, instead = (
            f"lib.func.functional_call({model.name}, {given}, ({one.name},))",
            {key: other},
        )
    if program.world.autocast and model.hooks:
        raise SkipError
    model.untold = model.untold or program.captive

    def act():
        made = forward(program, model, one, instead)
        model.calls += 1
        made.name = name
        return made

    made = program.state(f"{name} = {code}", act)
    model.untold = model.untold or made is None
    if made is not None:
        program.add(made)


def fits(model, one):
    weight = model.leaves[model.layers[0][0]]
    try:
        np.broadcast_shapes(one.shape, weight.shape)
    except ValueError:
        return False
    return one.dtype == weight.dtype != "any"


HOOKS = {
    "input": "register_forward_pre_hook(do.scaled_input)",
    "output": "register_forward_hook(do.scaled_output)",
    "before": "register_full_backward_pre_hook(do.scaled_before)",
    "after": "register_full_backward_hook(do.scaled_after)",
}


@step(2)
def module_hook(program, choices):
    model, kind = a_model(program, choices), choices.pick(HOOKS)
    if program.captive or program.functions or model.untold:
        raise SkipError
    if kind in model.hooks:
        if model.hooks[kind] is None:
            raise SkipError
        program.emit(f"{model.hooks.pop(kind)}.remove()")
        return
    handle = model.hooks[kind] = program.name("h")
    program.emit(f"{handle} = {model.name}.{HOOKS[kind]}")


@step()
def parametrized(program, choices):
    model = a_model(program, choices)
    if (
        len(model.layers) > 1
        or model.untold
        or model.doubled
        or program.captive
        or not program.world.records
    ):
        raise SkipError
    model.doubled = True
    model.leaves["weight"].name = model.place("weight")
    program.emit(f"do.doubled({model.name})")
    for stepper in program.objects_of("optimizers"):
        stepper.stale = stepper.stale or model in stepper.models


@step(2)
def copied_module(program, choices):
    model, way = (
        choices.pick(program.objects_of("modules")),
        choices.pick(["copied", "pickled", "twin"]),
    )
    if program.captive or program.functions or not program.world.records:
        raise SkipError
    if model.doubled and way != "copied":
        raise SkipError
    hooks = dict.fromkeys(model.hooks)  # nobody has the handles of the copies
    made = Model(
        program.name("m"), model.layers, {}, hooks, model.doubled, model.calls, model.untold
    )
    program.emit(f"{made.name} = do.{way}({model.name})")
    for key, leaf in model.leaves.items():
        leaf_at(program, made, key, leaf.value.copy(), leaf.dtype)
        if leaf.grad is not None and way == "copied":
            made.leaves[key].grad = tape.constant(leaf.grad.value.copy())
    program.objects_of("modules").append(made)
    see_grads(program)


@dataclass
class Stepper:
    name: str
    kind: str
    models: list
    state: dict = field(default_factory=dict)
    stale: bool = False
    functions: int = 0  # around the line that made it

    def leaves(self):
        return [leaf for model in self.models for leaf in model.leaves.values()]

    def parameters(self):
        return ", ".join(f"*{model.name}.parameters()" for model in self.models)


OPTIMIZERS = {
    "SGD": "lib.optim.SGD([{0}], lr=0.1, momentum=0.5, weight_decay=0.1)",
    "Adam": "lib.optim.Adam([{0}], lr=0.1, betas=(0.5, 0.75), eps=0.1)",
    "plain SGD": "lib.optim.SGD([{0}], lr=0.25)",
}


@step()
def optimizer(program, choices):
    models = [a_model(program, choices)]
    other = choices.pick(program.objects_of("modules"))
    models += [other] if other is not models[0] else []
    kind = choices.pick(OPTIMIZERS)
    made = Stepper(program.name("o"), kind, models, functions=program.functions)
    if any(one.dtype in COMPLEX for one in made.leaves()) or program.captive:
        raise SkipError
    program.emit(f"{made.name} = {OPTIMIZERS[kind].format(made.parameters())}")
    program.objects_of("optimizers").append(made)


def stepped(stepper, leaf):
    """The leaf's value after a step."""
    grad, value = leaf.grad.value, leaf.value
    if stepper.kind == "plain SGD":
        return value - 0.25 * grad
    state = stepper.state.setdefault(leaf.name, {})
    if stepper.kind == "SGD":
        grad = grad + 0.1 * value
        state["buffer"] = 0.5 * state["buffer"] + grad if state else grad
        return value - 0.1 * state["buffer"]
    count = state["step"] = state.get("step", 0) + 1
    first = state["first"] = 0.5 * state.get("first", 0.0) + 0.5 * grad
    second = state["second"] = 0.75 * state.get("second", 0.0) + 0.25 * grad * grad
    root = np.sqrt(second / (1 - 0.75**count))
    return value - 0.1 * (first / (1 - 0.5**count)) / (root + 0.1)


def a_stepper(program, choices):
    return one_of("optimizers", optimizer, program, choices)


@step(2)
def train(program, choices):
    """A module's gradient, and a step."""
    stepper = a_stepper(program, choices)
    leaf = choices.pick(stepper.models[0].leaves.values())
    if program.captive or stepper.stale or program.world.inference or not leaf.needs:
        raise SkipError
    code = f"lib.autograd.backward([{leaf.name}], [lib.ones_like({leaf.name})])"
    if program.run(code, [(leaf.node(), seeds_for(leaf))]) is not None:
        see_grads(program)
        program.keep()
        optimizer_step(program, choices)


@step(4)
def optimizer_step(program, choices):
    stepper = a_stepper(program, choices)
    ready = [leaf for leaf in stepper.leaves() if leaf.grad is not None]
    if program.captive or stepper.stale or not ready:
        raise SkipError
    if any(leaf.grad.needs for leaf in ready) or program.world.inference:
        raise SkipError
    with changed(program.world, grad=False):
        for leaf in ready:
            program.world.write(leaf, tape.constant(rounded(stepped(stepper, leaf), leaf.dtype)))
    program.emit(f"{stepper.name}.step()")
    if choices.below(2):
        for leaf in stepper.leaves():
            leaf.grad = None
        program.emit(f"{stepper.name}.zero_grad()")
    for leaf in stepper.leaves():
        program.see(leaf.name, leaf.name, leaf)


@step(2)
def reloaded_optimizer(program, choices):
    stepper = a_stepper(program, choices)
    if program.captive or stepper.stale:
        raise SkipError
    if program.functions > stepper.functions:
        raise SkipError  # a function that binds the name cannot read it before
    program.emit(f"{stepper.name} = do.reloaded({stepper.name}, [{stepper.parameters()}])")


@step()
def clipped(program, choices):
    model = choices.pick(program.objects_of("modules"))
    ready = [leaf for leaf in model.leaves.values() if leaf.grad is not None]
    if program.captive or any(leaf.grad.needs for leaf in ready) or not ready:
        raise SkipError
    total = np.sqrt(sum(float((np.abs(leaf.grad.value) ** 2).sum()) for leaf in ready))
    factor = min(1.0, 0.5 / (total + 1e-6))
    for leaf in ready:
        leaf.grad = tape.constant(leaf.grad.value * factor)
    program.emit(f"do.clipped({model.name}.parameters())")
    see_grads(program)


def finish(program):
    for model in program.objects_of("modules"):
        if not model.untold:
            number = "calls" if len(model.layers) == 1 else "one.calls"
            program.emit(f"log.see('calls', {model.name}.{number})")
            program.world.notes.append(("calls", ("float32", False, np.array(float(model.calls)))))
