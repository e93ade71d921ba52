# tests/fuzz/features/steps.py -- the steps of drawn programs: ops, views, writes, hooks and runs.
#
# Each step takes the program and the choices of its row, writes source and does to the plain world
# what the source promises. draws.py says how they are drawn; modules, optimizers and copies
# are in modules.py.
"""Steps of programs of features."""

from __future__ import annotations

import numpy as np

from tests.fuzz.features import plain_tape as tape
from tests.fuzz.features.draws import step
from tests.fuzz.features.plain_tensors import COMPLEX, SkipError, promoted

SHAPES = [(3,), (2, 3), (2, 2), (), (1,), (3, 2), (1, 3), (2, 1, 2), (0,), (2, 0)]
NUMBERS = [-1.5, -1.0, -0.75, -0.5, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, -0.25]
DTYPES = [
    ["float64"],
    ["float64"],
    ["float32"],
    ["float64", "float32"],
    ["complex128", "float64"],
    ["bfloat16"],
    ["float16", "float32"],
    ["complex64", "float32"],
    ["bfloat16", "float16"],
]


def replaced(base, part, columns):
    """`base` with `part` in some columns: what an assignment to an index computes."""
    grid = np.arange(base.value.size).reshape(base.value.shape)
    places = grid[..., columns] if grid.ndim else grid
    return tape.put(base, places, tape.expand_to(part, places.shape))


def flipped(one):
    return np.arange(one.value.size).reshape(one.value.shape)[::-1]


def rows_of(one):
    return np.arange(one.value.size).reshape(one.value.shape)[[0, -1, 0]]


def masked(base, number):
    """`base` with a number where it is above 0."""
    chosen = base.value.real > 0
    rest = tape.mul(base, tape.constant((~chosen).astype(float)))
    return tape.add(rest, tape.constant(chosen * number))


UNARY = {
    "{0} * 0.5": (lambda x: tape.scale(x, 0.5), ""),
    "{0}.sin()": (tape.sin, "input"),
    "{0}.tanh()": (tape.tanh, "out"),
    "{0} + 1.5": (lambda x: tape.plus_number(x, 1.5), ""),
    "-{0}": (lambda x: tape.scale(x, -1.0), ""),
    "1 - {0}": (lambda x: tape.plus_number(tape.scale(x, -1.0), 1.0), ""),
    "{0}.square()": (lambda x: tape.mul(x, x), "input"),
    "{0}.clone()": (lambda x: tape.identity(x), ""),
    "{0}.sum()": (tape.total, ""),
    "{0}.flip(0)": (lambda x: tape.take(x, flipped(x)), "dims"),
    "{0}[[0, -1, 0]]": (lambda x: tape.take(x, rows_of(x)), "rows"),
    "{0}.cos()": (tape.cos, "input"),
    "{0}.contiguous() * 1": (lambda x: tape.scale(x, 1.0), ""),
}
BINARY = {
    "{0} * {1}": (tape.mul, "other"),
    "{0} + {1}": (tape.add, ""),
    "{0} - {1}": (tape.subtract, ""),
    "lib.add({0}, {1}, alpha=2)": (lambda x, y: tape.add(x, tape.scale(y, 2.0)), ""),
    "lib.stack([{0}, {1}])": (lambda x, y: tape.stack([x, y]), "same"),
    "{0} @ {1}": (tape.matmul, "matrices"),
}
WRITES = {
    "{0}.mul_(0.5)": (lambda x: tape.scale(x, 0.5), ""),
    "{0}.add_(1)": (lambda x: tape.plus_number(x, 1.0), ""),
    "{0}.sin_()": (tape.sin, "copy"),
    "{0}.tanh_()": (tape.tanh, "out"),
    "{0}.neg_()": (lambda x: tape.scale(x, -1.0), ""),
    "{0}.zero_()": (lambda x: tape.constant(np.zeros_like(x.value)), ""),
    "{0}[{0}.detach().real > 0] = 0.5": (lambda x: masked(x, 0.5), "loose"),
    "{0}.masked_fill_({0}.detach().real > 0, -1)": (lambda x: masked(x, -1.0), "loose"),
    "{0}.fill_(0.5)": (lambda x: tape.constant(np.full_like(x.value, 0.5)), ""),
}
WRITES_OF_ANOTHER = {
    "{0}.add_({1})": (tape.add, ""),
    "{0}.mul_({1})": (tape.mul, "other"),
    "{0}.copy_({1})": (lambda x, y: tape.identity(tape.expand_to(y, x.value.shape)), ""),
    "{0}[...] = {1}": (lambda x, y: replaced(x, y, slice(None)), ""),
    "{0}[..., :1] = {1}": (lambda x, y: replaced(x, y, slice(1)), "first"),
    "{0}.sub_({1}, alpha=2)": (lambda x, y: tape.subtract(x, tape.scale(y, 2.0)), ""),
}


def begin(program, choices):
    """Draw the dtypes and two to four leaves, of which several have one shape."""
    program.dtypes = choices.pick(DTYPES)
    shape = choices.pick(SHAPES)
    for number in range(2 + choices.below(3)):
        leaf(program, choices, shape if number < 2 else None)


def numbers(choices, shape, dtype, first):
    count = int(np.prod(shape))
    first, stride = 3 * first + choices.below(len(NUMBERS)), 1 + choices.below(4)
    values = [NUMBERS[(first + stride * place) % len(NUMBERS)] for place in range(count)]
    if dtype in COMPLEX:
        values = [complex(one, NUMBERS[(first + place) % 7]) for place, one in enumerate(values)]
    return np.array(values, complex if dtype in COMPLEX else float).reshape(shape)


@step()
def leaf(program, choices, shape=None):
    shape = choices.pick(SHAPES) if shape is None else shape
    dtype = choices.pick(program.dtypes)
    needs = choices.below(4) != 3
    name = program.name()
    value = numbers(choices, shape, dtype, program.counter)
    if program.world.inference or program.captive or program.functions:
        raise SkipError  # a graph does not keep its leaves, nor what is known of them
    made = program.world.fresh(name, tape.constant(value), dtype, is_leaf=needs)
    ends = ", requires_grad=True)" if needs else ")"
    data = value.tolist() if value.size else f"lib.zeros({tuple(shape)}).tolist()"
    program.emit(f"{name} = lib.tensor({data}, dtype=lib.{dtype}{ends}")
    if not value.size:
        program.lines[-1] = (
            "    " * program.indent + f"{name} = lib.zeros({tuple(shape)}, dtype=lib.{dtype}{ends}"
        )
    program.add(made)
    if needs:
        program.leaves.append(made)


def computed(program, code, function, kept, operands):
    """`name = code`: an op of `operands` that saves its result ("out") or the tensors `kept`.

    A pair in `kept` is a tensor and the operand for whose gradient it is.
    """
    name = program.name()
    made = program.state(
        f"{name} = {code}", lambda: result(program, function, kept, operands, name)
    )
    return made and program.add(made)


def result(program, function, kept, operands, name=""):
    """The tensor that an op makes."""
    world = program.world
    node = function(*(world.use(one) for one in operands))
    made = world.fresh(name, node, result_dtype(program, operands))
    if made.family.history is not None:
        if function is tape.matmul and world.results is not None:
            world.results.append(made.saved())
        saved = [made] if kept == "out" else [keep for keep, _ in kept]
        edges = () if kept == "out" else [of and of.read() for _, of in kept]
        world.remember(made.family.history, saved, edges)
    return made


def result_dtype(program, operands):
    return "any" if program.world.autocast else promoted(operands)


@step(5)
def unary(program, choices):
    code, (function, kept) = choices.pick(UNARY.items())
    one = program.tensor(choices, lambda one: kept not in ("dims", "rows") or one.places.ndim)
    if one.places.size == 0 and (program.world.autocast or kept == "rows"):
        raise SkipError
    saved = {"input": [(one, None)], "out": "out"}.get(kept, [])
    made = computed(program, code.format(one.name), function, saved, [one])
    if kept == "rows" and made and made.needs:
        program.world.remember_something(made.node())


@step(5)
def binary(program, choices):
    code, (function, kept) = choices.pick(BINARY.items())
    one = program.tensor(choices)
    other = program.tensor(choices, lambda other: FITS.get(kept, fit)(one, other))
    saved = []
    if kept in ("other", "matrices"):
        needed = [(other, one), (one, other)]
        saved = [(keep, of) for keep, of in needed if of.needs]
    operands = [one, other]
    computed(program, code.format(one.name, other.name), function, saved, operands)


def fit(one, other):
    return broadcasts(one.shape, other.shape)


def same_shape(one, other):
    return one.shape == other.shape and one.dtype == other.dtype != "any"


def matrices(one, other):
    fits = len(one.shape) == len(other.shape) == 2 and one.shape[1] == other.shape[0]
    return fits and one.dtype == other.dtype != "any"


FITS = {"same": same_shape, "matrices": matrices}


def broadcasts(one, other):
    try:
        np.broadcast_shapes(one, other)
    except ValueError:
        return False
    return True


def is_dense(one):
    """Whether the elements lie one after another."""
    places = one.places.reshape(-1)
    return places.size > 0 and np.array_equal(places, places[0] + np.arange(places.size))


def views_of(one):
    """Source and places of the views of a tensor, of its elements in row-major order."""
    grid = np.arange(one.places.size).reshape(one.shape)
    views = {
        f"{one.name}[...]": grid,
        f"{one.name}.unsqueeze(0)": grid[None],
        f"{one.name}.expand({(2, *one.shape)})": np.broadcast_to(grid, (2, *one.shape)),
    }
    if one.shape:
        views[f"{one.name}[1:]"] = grid[1:]
        views[f"{one.name}[::2]"] = grid[::2]
        if one.shape[0] > 0:
            views[f"{one.name}[0]"] = grid[0]
            views[f"{one.name}.select(0, -1)"] = grid[-1]
            views[f"{one.name}.unbind(0)[0]"] = grid[0]
            views[f"{one.name}.narrow(0, 0, 1)"] = grid[:1]
    if is_dense(one):
        views[f"{one.name}.view(-1)"] = grid.reshape(-1)
        views[f"{one.name}.reshape(-1)"] = grid.reshape(-1)
        if not one.is_view and one.places.size > 2:
            overlapping = np.arange(2)[:, None] + np.arange(2)
            views[f"{one.name}.as_strided((2, 2), (1, 1), 0)"] = overlapping
            views[f"{one.name}.as_strided((2,), (2,), 0)"] = np.arange(2) * 2
    if one.shape and one.shape[0] > 1:
        views[f"{one.name}.unfold(0, 2, 1)"] = np.stack([grid[:-1], grid[1:]], -1)
    if len(one.shape) == 2:
        views[f"{one.name}.t()"] = grid.T
        views[f"{one.name}[:, -1:]"] = grid[:, -1:]
        views[f"{one.name}.diagonal()"] = np.diagonal(grid)
    if len(one.shape) >= 2:
        views[f"{one.name}.transpose(0, 1)"] = grid.swapaxes(0, 1)
        views[f"{one.name}.split(1, 1)[0]"] = grid[:, :1]
    return views


@step(5)
def view(program, choices, one=None):
    """A view, of `one` if it is given; its places."""
    one = one or program.tensor(choices, lambda one: len(one.shape) < 4)
    code, places = choices.pick(views_of(one).items())
    name = program.name()
    if program.world.records and one.is_cut and one.family.needs:
        raise SkipError
    made = program.world.view(name, one, places)
    program.emit(f"{name} = {code}")
    made.has_siblings = "unbind" in code or "split" in code
    return program.add(made).places


@step(3)
def write_view(program, choices):
    """A write through a new view."""
    one = program.tensor(choices, lambda one: 0 < len(one.shape) < 4)
    places = view(program, choices, one)
    if np.unique(places).size != places.size:
        return
    program.keep()
    code, (function, kept) = choices.pick(WRITES.items())
    target = program.pool[-1]
    written(program, code.format(target.name), function, kept, target, [target])


@step(2)
def write_over(program, choices):
    """A write to what an op saved, and an op that saves what was written."""
    one = program.tensor(choices)
    saves = computed(program, f"{one.name}.tanh()", tape.tanh, "out", [one])
    if saves is None:
        return
    program.keep()
    code = f"{saves.name}.mul_(0.5)"
    written(program, code, lambda x: tape.scale(x, 0.5), "", saves, [saves])
    program.keep()
    computed(program, f"{saves.name}.sin()", tape.sin, [(saves, None)], [saves])


@step(2)
def write_beside(program, choices):
    """Rows that an op saved, and a write to another row or to one of them."""
    one = program.tensor(choices, lambda one: one.shape and one.shape[0] > 1)
    grid = np.arange(one.places.size).reshape(one.shape)
    if program.world.records and one.is_cut and one.family.needs:
        raise SkipError
    parts = []
    for code, places in ((f"{one.name}[:1]", grid[:1]), (f"{one.name}[-1]", grid[-1])):
        name = program.name()
        parts.append(program.add(program.world.view(name, one, places)))
        program.emit(f"{name} = {code}")
    program.keep()
    computed(program, f"{parts[0].name}.sin()", tape.sin, [(parts[0], None)], [parts[0]])
    program.keep()
    target = parts[choices.below(4) != 3]
    code = f"{target.name}.mul_(0.5)"
    written(program, code, lambda x: tape.scale(x, 0.5), "", target, [target])


@step()
def detach(program, choices):
    one, name = program.tensor(choices), program.name()
    program.emit(f"{name} = {one.name}.detach()")
    program.add(program.world.detached(name, one))


def written(program, code, function, kept, target, operands):
    """A write to `target`; `kept` names what its op saves (see WRITES)."""
    world = program.world
    if target.family.born < program.frozen or target.family.storage.is_inference:
        raise SkipError
    needs = any(one.needs for one in operands)
    others = operands[1:] if kept == "other" and target.needs else []
    copies = kept == "copy" or (kept == "other" and operands[-1].needs)

    def act():
        world.check_write(target, needs)
        node = function(*(world.use(one) for one in operands))
        if np.iscomplexobj(node.value) and target.dtype not in COMPLEX:
            raise SkipError
        if target.needs and not node.needs:
            node.needs = True  # a result that requires a gradient and passes none
        world.remember(node, others, [target.read()] * len(others))
        node.retained = node.retained or (copies and node.needs)
        if kept == "loose":
            world.remember_something(node)
        world.write(target, node)
        if kept == "out":
            world.remember(node, [target])
        return True

    program.state(code, act)


@step(4)
def write(program, choices):
    code, (function, kept) = choices.pick(WRITES.items())
    target = program.tensor(choices)
    written(program, code.format(target.name), function, kept, target, [target])


@step(4)
def write_another(program, choices):
    code, (function, kept) = choices.pick(WRITES_OF_ANOTHER.items())
    target = program.tensor(choices, lambda one: kept != "first" or one.shape)
    shape = (*target.shape[:-1], 1) if kept == "first" else target.shape

    def fits(one):
        return (
            one.family.storage is not target.family.storage
            and broadcasts(shape, one.shape)
            and np.broadcast_shapes(shape, one.shape) == shape
            and (one.dtype not in COMPLEX or target.dtype in COMPLEX)
        )

    other = program.tensor(choices, fits)
    code = code.format(target.name, other.name)
    written(program, code, function, kept, target, [target, other])


def see_grads(program):
    for one in [*program.leaves, *program.objects_of("retaining")]:
        if one.is_untold:
            continue
        program.see(f"{one.name}.grad", f"{one.name}.grad", one.grad)


def seeds_for(root):
    return tape.constant(np.ones_like(root.value))


@step(3)
def backward(program, choices):
    root = program.tensor(choices, lambda one: one.needs)
    retain, records = choices.below(3) > 0, choices.chance(4)
    if program.captive or (records and program.world.inference):
        raise SkipError
    seed = program.name("s")
    code = f"lib.autograd.backward([{root.name}], [{seed}]"
    code += f", retain_graph={bool(retain)}, create_graph={records}"
    program.emit(f"{seed} = lib.ones_like({root.name})")
    root.read()
    targets = None
    if choices.chance(3):
        only = choices.pick(one for one in program.leaves if is_alone(one))
        code, targets = code + f", inputs=[{only.name}]", [only.node()]
    done = program.run(
        code + ")",
        [(root.node(), seeds_for(root))],
        targets=targets,
        retain=retain,
        records=records,
    )
    if not program.over or done is not None:
        see_grads(program)
        program.see(seed, seed + ".detach()", tape.constant(np.ones_like(root.value)))


def is_alone(one):
    """A tensor to differentiate by, which is the only result of its node."""
    return one.needs and not one.has_siblings


@step(3)
def gradient(program, choices):
    root = program.tensor(choices, lambda one: one.needs)
    inputs = [program.tensor(choices, is_alone) for _ in range(1 + choices.below(2))]
    retain, records = choices.below(3) > 0, choices.below(2) == 0
    if program.captive or (records and program.world.inference):
        raise SkipError
    name = program.name()
    listed = ", ".join(one.name for one in inputs)
    code = f"{name} = do.grad({root.name}, [{listed}], {bool(retain)}, {records})"
    targets = [one.node() for one in inputs]
    found = program.run(
        code,
        [(root.node(), seeds_for(root))],
        targets=targets,
        collects=True,
        retain=retain,
        records=records,
    )
    if found is None:
        return
    for place, (one, node) in enumerate(zip(inputs, targets, strict=True)):
        grad = found.get(id(node))
        program.see(f"{name}[{place}]", f"{name}[{place}]", grad)
        if grad is not None and place == 0 and records:
            take_gradient(program, f"{name}[0]", grad, one.dtype)


def take_gradient(program, code, grad, dtype):
    """A gradient as a tensor of the program."""
    world, name = program.world, program.name()
    mode = world.grad, world.inference
    if world.inference:
        return
    world.grad = True
    try:
        made = world.fresh(name, tape.identity(grad), dtype)
    except SkipError:
        program.over = True
        return
    finally:
        world.grad, world.inference = mode
    program.emit(f"{name} = {code}")
    program.objects_of("gradients").append(made)
    made.family.born = -1  # its memory may be another gradient's too
    program.add(made)


@step()
def become_leaf(program, choices):
    """A tensor without history, of which there is no other, asks for a gradient."""
    one = program.tensor(choices, lambda one: one.is_base_alone and not one.needs)
    others = [other for other in program.pool if other.family.storage is one.family.storage]
    if len(others) > 1 or program.captive or program.functions or one.family.storage.is_inference:
        raise SkipError
    if one.family.is_used or one.family.born < 0:
        raise SkipError
    if program.world.inference or one.family.history is not None or one.dtype == "any":
        raise SkipError
    one.family.history = tape.Node(one.value.copy(), leaf=one)
    one.family.generation += 1
    program.leaves.append(one)
    program.emit(f"{one.name}.requires_grad_()")


@step()
def set_grad(program, choices):
    """A gradient that the program makes."""
    one = choices.pick(program.leaves)
    if program.captive or program.world.inference:
        raise SkipError
    one.grad = tape.constant(np.full_like(one.value, 0.5))
    program.emit(f"{one.name}.grad = lib.full_like({one.name}, 0.5)")


@step()
def clear_grads(program, choices):
    one = choices.pick(program.leaves)
    if program.captive:
        raise SkipError
    one.grad = None
    program.emit(f"{one.name}.grad = None")


@step()
def scale_grad(program, choices):
    one = choices.pick([one for one in program.leaves if one.grad is not None])
    if program.captive or one.grad.needs:
        raise SkipError
    one.grad = tape.constant(one.grad.value * 0.5)
    with program.block("with lib.no_grad():"):
        program.emit(f"{one.name}.grad.mul_(0.5)")


def finish(program):
    """See everything, then differentiate what was made last."""
    program.emit("# finish")
    for name, kept in program.objects.get("kept", {}).items():
        program.emit(f"log.see_kept({name!r})")
        for gradient in kept:
            program.note(name, gradient)
    for one in program.pool:
        if one.family.born != -1:
            program.see(one.name, one.name, one)
    roots = [one for one in program.pool if one.needs][-3:]
    if program.over or not roots:
        return
    for root in roots:
        try:
            seed = f"[lib.ones_like({root.name})]"
            code = f"lib.autograd.backward([{root.name}], {seed}, retain_graph=True)"
            program.run(code, [(root.node(), seeds_for(root))], retain=True)
        except SkipError:
            return
        if program.over:
            return
        see_grads(program)
