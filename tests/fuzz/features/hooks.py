# tests/fuzz/features/hooks.py -- steps that put hooks on tensors, leaves and nodes, or remove them.
#
# A hook notes the gradient it is given, answers one of ANSWERS, keeps it, removes itself or fails.
"""Hooks of programs of features."""

from __future__ import annotations

from tests.fuzz.features import plain_tape as tape
from tests.fuzz.features.draws import step
from tests.fuzz.features.plain_tensors import SkipError, Watcher

ANSWERS = {
    "lambda g: None": lambda g: None,
    "lambda g: g * 2": lambda g: tape.scale(g, 2.0),
    "lambda g: -g": lambda g: tape.scale(g, -1.0),
    "lambda g: g * g": lambda g: tape.mul(g, g),
    "lambda g: g.clone()": tape.identity,
    "lambda g: g.sin()": tape.sin,
}


def hook(program, key, choices):
    """Source and meaning of a hook that notes the gradient and answers something."""
    code, answer = choices.pick(ANSWERS.items())

    def call(gradient):
        program.note(key, gradient)
        return answer(gradient)

    return f"log.hook({key!r}, {code})", call


@step(2)
def hook_that_keeps(program, choices):
    """A hook that keeps the gradient it is given, which nothing changes later."""
    one, name = program.tensor(choices, lambda one: usable(program, one)), program.name("k")
    if program.captive:
        raise SkipError
    kept = program.objects.setdefault("kept", {}).setdefault(name, [])

    def keep(gradient):
        kept.append(gradient)

    one.node().hooks.append(keep)
    program.emit(f"{one.name}.register_hook(log.keep({name!r}))")


def usable(program, one):
    """A tensor whose hooks may be set where the program is."""
    inner = not program.captive or one.family.born >= program.frozen
    return one.needs and inner and not program.world.inference and not one.has_siblings


@step(2)
def tensor_hook(program, choices):
    one, name = program.tensor(choices, lambda one: usable(program, one)), program.name("h")
    code, call = hook(program, name, choices)
    program.emit(f"{name} = {one.name}.register_hook({code})")
    hooks = one.node().hooks
    hooks.append(call)
    if not program.captive:
        program.objects_of("hooks").append((name, hooks, call))


@step()
def remove_hook(program, choices):
    name, hooks, call = choices.pick(program.objects_of("hooks"))
    if program.captive:
        raise SkipError
    program.objects_of("hooks").remove((name, hooks, call))
    hooks.remove(call)
    program.emit(f"{name}.remove()")


@step()
def hook_that_removes_itself(program, choices):
    one, name = program.tensor(choices, lambda one: usable(program, one)), program.name("h")
    code, call = hook(program, name, choices)
    if program.captive:
        raise SkipError
    hooks = one.node().hooks

    def once(gradient):
        hooks.remove(once)
        return call(gradient)

    hooks.append(once)
    program.objects["once"] = True
    program.emit(f"{name} = log.once({one.name}.register_hook, {code})")


@step()
def hook_that_fails(program, choices):
    one, name = program.tensor(choices, lambda one: usable(program, one)), program.name("h")
    if program.captive:
        raise SkipError

    def fail(gradient):
        raise tape.ReadError

    hooks = one.node().hooks
    hooks.append(fail)
    program.objects_of("hooks").append((name, hooks, fail))
    program.emit(f"{name} = {one.name}.register_hook(log.fail)")


@step()
def post_hook(program, choices):
    one = program.tensor(choices, lambda one: one.is_leaf and usable(program, one))
    name = program.name("h")
    clears = choices.below(2)
    if program.captive:
        raise SkipError

    def call(leaf):
        program.note(name, leaf.grad)
        if clears:
            leaf.grad = None

    one.post_hooks.append(call)
    one.loses_grad = one.loses_grad or bool(clears)
    program.objects_of("hooks").append((name, one.post_hooks, call))
    program.emit(
        f"{name} = {one.name}.register_post_accumulate_grad_hook(log.leaf({name!r}, {clears}))"
    )


@step()
def node_hook(program, choices):
    """A hook before a node that has one result."""
    one = program.tensor(choices, lambda one: usable(program, one) and not one.is_leaf)
    name, node = program.name("h"), one.node()
    code, call = hook(program, name, choices)
    node.before.append(call)
    if not program.captive:
        program.objects_of("hooks").append((name, node.before, call))
    program.emit(f"{name} = {one.name}.grad_fn.register_prehook(log.pre({code}))")


@step(2)
def retain_grad(program, choices):
    one = program.tensor(choices, lambda one: usable(program, one) and not program.captive)
    if one.is_untold:
        raise SkipError
    program.emit(f"{one.name}.retain_grad()")
    if not one.is_leaf:
        one.retain()
        program.objects_of("retaining").append(one)


@step()
def accumulator_hook(program, choices):
    """A hook after the node that adds to a leaf, which a run that adds calls with its gradient."""
    one = choices.pick(program.leaves)
    name = program.name("h")
    if program.captive or program.world.inference or not usable(program, one):
        raise SkipError

    def call(leaf, gradient):
        program.note(name, gradient)

    one.adding_hooks.append(call)
    code = f"lib.autograd.graph.get_gradient_edge({one.name}).node"
    program.emit(f"{name} = {code}.register_hook(log.adding({name!r}))")


@step()
def hook_of_several(program, choices):
    """A hook that is called once a run, with the gradients of two tensors."""
    several = [program.tensor(choices, lambda one: usable(program, one)) for _ in range(2)]
    name = program.name("h")
    if program.captive or several[0] is several[1]:
        raise SkipError
    nodes = [one.node() for one in several]
    if nodes[0] is nodes[1]:
        raise SkipError
    program.world.watchers.append(Watcher(nodes, lambda grad: program.note(name, grad)))
    listed = ", ".join(one.name for one in several)
    program.emit(
        f"{name} = lib.autograd.graph.register_multi_grad_hook([{listed}], log.several({name!r}))"
    )
