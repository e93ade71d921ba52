# tests/fuzz/features/blocks.py -- steps that hold steps: modes, checkpoints, threads, functions.
#
# The body of a block is the next one to three steps. What a block changes in World is put back
# when it ends, also when it ends by an exception.
"""Blocks of programs of features."""

from __future__ import annotations

import contextlib

import numpy as np

from tests.fuzz.features import plain_tape as tape
from tests.fuzz.features.draws import step
from tests.fuzz.features.plain_tensors import SkipError
from tests.fuzz.features.steps import computed, numbers, result, see_grads, seeds_for, written

MODES = {
    "lib.no_grad()": {"grad": False},
    "lib.enable_grad()": {"grad": True},
    "lib.set_grad_enabled(False)": {"grad": False},
    "lib.inference_mode()": {"inference": True, "grad": False},
    "do.pack_nothing()": {},
    "do.pack_copy()": {"packs": True},
    "do.pack_list()": {"packs": True},
    "lib.autograd.graph.save_on_cpu()": {"loose": True},
    'lib.autocast("cpu", dtype=lib.bfloat16)': {"autocast": True, "loose": True},
    'lib.autocast("cpu", enabled=False)': {"autocast": False},
    "lib.autograd.graph.allow_mutation_on_saved_tensors()": {"packs": True, "mutates": True},
}


@contextlib.contextmanager
def changed(world, **modes):
    before = {name: getattr(world, name) for name in modes}
    for name, value in modes.items():
        setattr(world, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(world, name, value)


@step(6)
def mode(program, choices):
    code, modes = choices.pick(MODES.items())
    fails = choices.chance(4)
    if program.depth > 2 or ("autocast" in code and "float32" not in program.dtypes):
        raise SkipError
    if "mutates" in modes and (program.captive or program.world.mutates):
        raise SkipError
    modes = dict(modes)
    if program.world.inference and "enable_grad" in code:
        modes = {}
    with contextlib.ExitStack() as stack:
        if fails:
            stack.enter_context(program.block("with log.planned():"))
        stack.enter_context(program.block(f"with {code}:"))
        stack.enter_context(changed(program.world, **modes))
        program.body(1 + choices.below(3))
        if fails:
            program.emit("log.raise_planned()")


@step()
def weight_in_autocast(program, choices):
    """Two products with a weight of an autocast block, between which it is written."""
    world = program.world
    if "float32" not in program.dtypes or not world.records or program.captive or program.functions:
        raise SkipError
    names = [program.name() for _ in range(4)]
    x, w = (matrix(program, name, choices) for name in names[:2])
    program.keep()
    with (
        program.block('with lib.autocast("cpu", dtype=lib.bfloat16):'),
        changed(world, autocast=True, loose=True),
    ):
        first = result(program, tape.matmul, [(x, w), (w, x)], [x, w], names[2])
        program.emit(f"{names[2]} = {x.name} @ {w.name}")
        if choices.below(2):
            with program.block("with lib.no_grad():"), changed(world, grad=False):
                program.emit(f"{w.name}.mul_(-1)")
                world.write(w, tape.constant(-w.value))
        second = result(program, tape.matmul, [(x, w), (w, x)], [x, w], names[3])
        program.emit(f"{names[3]} = {x.name} @ {w.name}")
    program.add(first)
    program.add(second)


def matrix(program, name, choices):
    value = numbers(choices, (2, 2), "float32", program.counter)
    made = program.world.fresh(name, tape.constant(value), "float32", is_leaf=True)
    program.emit(f"{name} = lib.tensor({value.tolist()}, requires_grad=True)")
    program.leaves.append(made)
    return program.add(made)


CHECKPOINTS = ["do.checkpoint", "do.selective"]


@step(3)
def checkpoint(program, choices):
    """A function of one or two tensors, and of leaves, that a run computes again."""
    call = choices.pick(CHECKPOINTS)
    arguments = [program.tensor(choices, lambda one: "." not in one.name) for _ in range(2)]
    if arguments[0] is arguments[1]:
        arguments.pop()
    if program.depth > 2 or program.world.inference:
        raise SkipError
    if any(one.family.storage.is_inference for one in arguments):
        raise SkipError  # checkpoint() refuses them, as it may have to save them
    if any(one.is_cut and one.family.needs for one in arguments):
        raise SkipError
    world, name = program.world, program.name("f")
    outer, program.pool = program.pool, list(arguments)
    captive, frozen = program.captive, program.frozen
    listed = ", ".join(one.name for one in arguments)
    program.captive, program.frozen = True, world.time()
    try:
        captured = (*world.captured, (program.frozen, []))
        results = [] if call == "do.selective" else world.results
        held = {
            "checkpointed": [*(world.checkpointed or []), *arguments],
            "captured": captured,
            "results": results,
        }
        inside = changed(world, packs=False, **held)  # hooks further out see nothing of it
        with program.block(f"def {name}({listed}):"), inside:
            program.body(1 + choices.below(4))
            results = [one for one in program.pool if one not in arguments]
            if not results:
                results.append(whole_view(program, arguments[0]))
            result = choices.pick(results)
            program.emit(f"return {result.name}")
    finally:
        program.captive, program.frozen = captive, frozen
        program.pool = outer
    program.emit(f"{result.name} = {call}({name}, {listed})")
    program.add(result)


def whole_view(program, one):
    name = program.name()
    program.emit(f"{name} = {one.name}[...]")
    return program.world.view(name, one, np.arange(one.places.size).reshape(one.shape))


LISTS = "retaining", "hooks", "modules", "optimizers"
DEFAULTS = {"grad": True, "inference": False, "packs": False, "loose": False, "autocast": False}


@step(2)
def elsewhere(program, choices):
    """A function on a thread of its own, which has the modes that threads begin with."""
    if program.depth > 2 or program.captive:
        raise SkipError
    world, name, outer = program.world, program.name("f"), list(program.pool)
    lists = [program.leaves, *(program.objects_of(kind) for kind in LISTS)]
    before = [list(one) for one in lists]
    program.functions += 1
    try:
        with program.block(f"def {name}():"), changed(world, mutates=False, **DEFAULTS):
            program.body(1 + choices.below(3))
            results = [one for one in program.pool if one not in outer and "." not in one.name]
            if not results:
                results.append(whole_view(program, choices.pick(outer)))
            result = choices.pick(results)
            program.emit(f"return {result.name}")
    finally:
        program.pool = outer
        program.functions -= 1
        for now, then in zip(lists, before, strict=True):  # names of a body end with it
            now[:] = [one for one in now if any(one is other for other in then)]
    program.emit(f"{result.name} = do.elsewhere({name})")
    program.add(result)


@step()
def failing_function(program, choices):
    one = program.tensor(choices)

    def function(x):
        def back(g):
            raise tape.ReadError

        return tape.Node(x.value * 2, [(x, back)])

    computed(program, f"do.Fails({one.name})", function, [], [one])


@step()
def product_function(program, choices):
    one = program.tensor(choices)
    other = program.tensor(choices, lambda other: other.shape == one.shape)
    both = [(one, None), (other, None)]
    code = f"do.Product({one.name}, {other.name})"
    computed(program, code, tape.mul, both, [one, other])


@step()
def tanh_function(program, choices):
    one = program.tensor(choices)
    computed(program, f"do.Tanh({one.name})", tape.tanh, "out", [one])


def with_gradient(value, factor):
    """A node of `value(x)` that passes `factor` times the gradient."""

    def function(one):
        return tape.Node(value(one.value), [(one, lambda g: tape.scale(g, factor))])

    return function


@step()
def other_function(program, choices):
    one = program.tensor(choices)
    function = with_gradient(lambda x: x * 2, 10.0)
    computed(program, f"do.Other({one.name})", function, [], [one])


@step()
def inner_function(program, choices):
    """A function that differentiates a checkpoint in its forward."""
    one = program.tensor(choices)

    def function(x):
        def back(g):
            return tape.scale(tape.mul(g, tape.conj(tape.sin(x))), -1.0)

        return tape.Node(np.cos(x.value).conj(), [(x, back)])

    if np.iscomplexobj(one.value) or program.world.inference or one.family.storage.is_inference:
        raise SkipError
    computed(program, f"do.Inner({one.name})", function, [(one, None)], [one])


@step()
def dirty_function(program, choices):
    """A function that writes to what it is given."""
    target = program.tensor(choices, lambda one: not one.is_view and not one.family.is_leaf)
    function = with_gradient(lambda x: x * 2, 2.0)
    written(program, f"do.Dirty({target.name})", function, "", target, [target])


@step()
def two_results(program, choices):
    one = program.tensor(choices)
    names = program.name(), program.name()
    world = program.world

    def act():
        operand = world.use(one)
        made = []
        for name, factor in zip(names, (2.0, 3.0), strict=True):
            made.append(world.fresh(name, tape.scale(operand, factor), one.dtype))
            made[-1].has_siblings = True
        return made

    made = program.state(f"{names[0]}, {names[1]} = do.TwoResults({one.name})", act)
    for one in made or ():
        program.add(one)


@step()
def threads(program, choices):
    """Two graphs, which may share nodes, run at one time."""
    roots = [program.tensor(choices, lambda one: one.needs) for _ in range(2)]
    ordered = program.objects.get("once") or program.objects.get("kept")
    if program.captive or ordered or program.world.inference:
        raise SkipError
    if any(one.post_hooks for one in program.leaves):
        raise SkipError
    listed = ", ".join(one.name for one in roots)
    done = program.runs(
        f"do.in_threads(log, [{listed}])",
        [[(one.node(), seeds_for(one))] for one in roots],
    )
    if done:
        see_grads(program)


@step()
def loaded(program, choices):
    """A batch of a tensor's rows."""
    one = program.tensor(choices, lambda one: one.shape and one.shape[0] > 0)
    code = f"do.loaded(list({one.name}))"
    if program.world.inference or program.world.autocast:
        raise SkipError
    computed(program, code, tape.identity, [], [one])


@step()
def copied(program, choices):
    """A deep copy or a pickle of a leaf, or of what has no gradient."""
    one = program.tensor(choices)
    way, name, world = choices.pick(["copied", "pickled"]), program.name(), program.world
    if one.needs and not one.is_leaf and way == "copied":
        program.refused(f"do.{way}({one.name})")
        return
    if (
        world.inference
        or program.captive
        or program.functions
        or one.is_cut
        or one.family.storage.is_inference
    ):
        raise SkipError
    made = world.fresh(name, tape.constant(one.value.copy()), one.dtype, is_leaf=one.needs)
    if one.grad is not None and way == "copied":
        made.grad = tape.constant(one.grad.value.copy())
    program.emit(f"{name} = do.{way}({one.name})")
    program.add(made)
    if one.needs:
        program.leaves.append(made)
        program.see(f"{name}.grad", f"{name}.grad", made.grad)
