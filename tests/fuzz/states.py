# tests/fuzz/states.py -- programs whose hooks do hostile things in the middle of a run.
#
# A case draws a small graph (views, writes in place, custom functions, checkpoints, packed values),
# puts hooks of all kinds on it, each with a drawn action (ACTIONS), and runs it. Anything may be
# raised but InternalError, and whatever happened, modes are as they were and a plain backward() is
# right afterwards. Run as a program, since a fault may end the process: it prints each case's
# number before it runs it. `python -m tests.fuzz.states SEED COUNT` runs the cases of a seed,
# `... FILE` the case of a blob (drawing.py).
import functools
import gc
import sys
import threading
import warnings
from pathlib import Path

import ebb
from ebb.autograd import Function, grad, graph, queue_callback
from ebb.utils.checkpoint import checkpoint
from tests.fuzz import drawing, seeds

ACTIONS = {}
KINDS = {}
ACTIONS_PER_CASE = 30


def action(function):
    ACTIONS[function.__name__] = function
    return function


def kind(function):
    KINDS[function.__name__] = function
    return function


class ExpectedError(Exception):
    """What a hostile hook raises."""


class Program:
    """One case: its tensors, and what hooks may still do."""

    def __init__(self, rng):
        self.rng = rng
        self.left = ACTIONS_PER_CASE
        self.leaves = [ebb.rand(2, 3).requires_grad_() for _ in range(3)]
        self.pool = list(self.leaves)
        self.handles = []
        self.done = []

    def tensor(self):
        pool = self.pool or [ebb.ones(2, 3, requires_grad=True)]
        return self.rng.choice(pool if self.rng.random() < 0.5 else pool[-3:])

    def act(self, *given):
        """Do something hostile. `given`: what the hook was called with."""
        if self.left <= 0:
            return None
        self.left -= 1
        name = self.rng.choice(list(ACTIONS))
        self.done.append(name)
        try:
            return ACTIONS[name](self, *given)
        except Exception as error:
            refuse_internal(error)
            if self.rng.random() < 0.3:
                raise

    def hook(self):
        """A function that acts, and returns what it likes."""
        returns = self.rng.random() < 0.4
        times = self.rng.choice([1, 2, 3])

        def hostile(*given):
            result = None
            for _ in range(times):
                result = self.act(*given)
            return result if returns else None

        return hostile

    def add_hook(self):
        handle = KINDS[self.rng.choice(list(KINDS))](self, self.tensor())
        if handle is not None:
            self.handles.append(handle)

    def compute(self):
        """One more result."""
        operation = self.rng.choice(OPERATIONS)
        one, other = self.tensor(), self.tensor()
        result = operation(self, one, other)
        if result.shape == (2, 3):
            self.pool.append(result)
        return result

    def run(self):
        """Differentiate a result, in some way."""
        root = self.tensor()
        how = self.rng.random()
        keeps, records = self.rng.random() < 0.5, self.rng.random() < 0.3
        if how < 0.5:
            root.sum().backward(retain_graph=keeps or records, create_graph=records)
        elif how < 0.6:
            root.sum().backward(retain_graph=keeps, inputs=[self.tensor(), self.tensor()])
        else:
            inputs = [self.tensor() for _ in range(self.rng.choice([1, 3]))]
            grads = grad(
                root.sum(), inputs, retain_graph=keeps, create_graph=records, allow_unused=True
            )
            self.pool += [one for one in grads if one is not None and one.shape == (2, 3)]


class Hostile(Function):
    @staticmethod
    def forward(ctx, x, y, program):
        ctx.program = program
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        ctx.program.act(g)
        x, y = ctx.saved_tensors
        ctx.program.act(g)
        return g * y, g * x, None


def write(program, one, other):
    return (one * 1).mul_(other)


def write_view(program, one, other):
    whole = one * 2
    whole[0].mul_(other[1])
    return whole


def packed(program, one, other):
    hook = program.hook()

    def unpack(value):
        hook(value)
        return value

    with graph.saved_tensors_hooks(lambda value: value, unpack):
        return one * other.sin()


def checkpointed(program, one, other):
    def function(x):
        program.act(x)
        return (x * other).sin()

    return checkpoint(function, one, early_stop=program.rng.random() < 0.5)


def checkpointed_alone(program, one, other):
    return checkpoint(lambda: (one * other).tanh())


OPERATIONS = [
    lambda program, one, other: one * other,
    lambda program, one, other: one + other,
    lambda program, one, other: one.sin(),
    lambda program, one, other: ebb.stack(list(one.unbind(0))),
    lambda program, one, other: one @ other.t() @ other,
    lambda program, one, other: ebb.where(one > other, one, other * 2),
    lambda program, one, other: one.expand(2, 2, 3)[1],
    lambda program, one, other: Hostile.apply(one, other, program),
    write,
    write_view,
    packed,
    checkpointed,
    checkpointed_alone,
]


@kind
def on_tensor(program, tensor):
    return tensor.register_hook(program.hook())


@kind
def on_leaf(program, tensor):
    leaf = program.rng.choice(program.leaves or [tensor])
    return leaf.register_post_accumulate_grad_hook(program.hook())


@kind
def after_node(program, tensor):
    node = tensor.grad_fn
    return node and node.register_hook(program.hook())


@kind
def before_node(program, tensor):
    node = tensor.grad_fn
    return node and node.register_prehook(program.hook())


@kind
def on_accumulator(program, tensor):
    leaf = program.rng.choice(program.leaves or [tensor])
    return graph.get_gradient_edge(leaf).node.register_hook(program.hook())


@kind
def on_several(program, tensor):
    mode = program.rng.choice(["all", "any"])
    tensors = [tensor, program.tensor()]
    return graph.register_multi_grad_hook(tensors, program.hook(), mode=mode)


@kind
def on_saved_value(program, tensor):
    names = [name for name in dir(tensor.grad_fn) if name.startswith("_raw_saved_")]
    if names:
        raw = getattr(tensor.grad_fn, program.rng.choice(names))
        hook = program.hook()
        raw.register_hooks(lambda value: value, lambda value: hook(value) or value)


@kind
def on_module(program, tensor):
    module = ebb.nn.Linear(3, 3)
    module.register_full_backward_hook(program.hook())
    module.register_full_backward_pre_hook(program.hook())
    program.pool.append(module(tensor))


@action
def pass_on(program, *given):
    return given[0] if given else None


@action
def change(program, *given):
    return given[0] * 2 if given and isinstance(given[0], ebb.Tensor) else None


@action
def answer_nonsense(program, *given):
    return program.rng.choice(
        [7, "gradient", ebb.ones(5), (None, None, None), ebb.ones(2, 3).int()]
    )


@action
def detach_in_place(program, *given):
    program.tensor().detach_()


@action
def freeze(program, *given):
    program.rng.choice(program.leaves or program.pool).requires_grad_(False)


@action
def thaw(program, *given):
    for leaf in program.leaves:
        leaf.requires_grad_()


@action
def register(program, *given):
    program.add_hook()


@action
def remove(program, *given):
    if program.handles:
        program.handles.pop(program.rng.randrange(len(program.handles))).remove()


@action
def remove_all(program, *given):
    while program.handles:
        program.handles.pop().remove()


@action
def differentiate(program, *given):
    program.run()


@action
def differentiate_in_a_thread(program, *given):
    def work():
        try:
            program.run()
        except Exception as error:
            refuse_internal(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)


@action
def call_back(program, *given):
    queue_callback(lambda: program.act() and None)


@action
def fail(program, *given):
    raise ExpectedError


@action
def write_silently(program, *given):
    with ebb.no_grad():
        program.tensor().add_(1)


@action
def write_recorded(program, *given):
    with ebb.enable_grad():
        program.tensor().mul_(program.tensor())


@action
def write_given(program, *given):
    for one in given:
        if isinstance(one, ebb.Tensor):
            one.mul_(2)


@action
def exchange_data(program, *given):
    program.tensor().data = ebb.rand(2, 3)


@action
def set_grad(program, *given):
    leaf = program.tensor()
    leaf.grad = program.rng.choice([None, ebb.ones(2, 3), leaf.detach()])


@action
def retain(program, *given):
    program.tensor().retain_grad()


@action
def forget_results(program, *given):
    del program.pool[3:]


@action
def forget_leaves(program, *given):
    program.leaves.clear()
    del program.pool[:3]


@action
def collect(program, *given):
    gc.collect()


@action
def compute(program, *given):
    with ebb.enable_grad():
        program.compute()


@action
def change_modes(program, *given):
    program.rng.choice([ebb.no_grad, ebb.enable_grad, ebb.inference_mode])().__enter__()


@action
def set_mode(program, *given):
    ebb.set_grad_enabled(program.rng.random() < 0.5)


@action
def look(program, *given):
    tensor = program.tensor()
    str(tensor.grad_fn), tensor.grad_fn and tensor.grad_fn.list_saved(), str(ebb.graph(tensor))
    graph.current_graph_task_execution_order()


@action
def look_at_values(program, *given):
    node = program.tensor().grad_fn
    for name in dir(node):
        if name.startswith("saved_"):
            getattr(node, name)


@action
def call_node(program, *given):
    tensor = program.tensor()
    node = graph.get_gradient_edge(tensor).node
    node(ebb.ones(2, 3))


def refuse_internal(error):
    """An InternalError, or one that it was made of, is a fault."""
    while error is not None:
        if isinstance(error, (ebb.errors.InternalError, SystemError)):
            raise AssertionError(f"{type(error).__name__}: {error}") from error
        error = error.__cause__ or error.__context__


def attempt(step):
    try:
        step()
    except Exception as error:
        refuse_internal(error)


def check_ordinary():
    """Everything is as it was: modes, and what backward() computes."""
    assert ebb.is_grad_enabled() and not ebb.is_inference_mode_enabled()
    assert graph.current_graph_task_id() == -1
    x = ebb.tensor([1.0, 2.0], requires_grad=True)
    y = x * x * x
    (y * y.detach()).sum().backward()
    assert x.grad.tolist() == [3.0, 96.0], x.grad
    assert grad((x * x).sum(), x)[0].tolist() == [2.0, 4.0]


def cases(seed, count):
    """The blobs of a seed."""
    return drawing.sample("states", count, functools.partial(seeds.generator, seed))


def run_case(blob):
    rng = drawing.Draws(blob)
    ebb.manual_seed(rng.getrandbits(16))
    program = Program(rng)
    steps = [program.compute] * 3 + [program.compute, program.add_hook, program.add_hook] * 4
    for step in steps:
        with ebb.enable_grad():  # a function that is checkpointed may change the caller's modes
            attempt(step)
    for _ in range(3):
        attempt(program.run)
        check_ordinary()
    program.pool.clear()
    check_ordinary()
    return program.done


def main(blobs):
    warnings.simplefilter("ignore")
    unraisable = []
    sys.unraisablehook = lambda seen: unraisable.append(seen.exc_value)
    for number, blob in enumerate(blobs):
        print("case", number, flush=True)
        run_case(blob)
        for error in unraisable:
            refuse_internal(error)
        unraisable.clear()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main([Path(sys.argv[1]).read_bytes()])
    else:
        main(cases(*map(int, sys.argv[1:])))
