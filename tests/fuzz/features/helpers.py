# tests/fuzz/features/helpers.py -- what drawn programs call: `log` and `do`, for ebb and for torch.
#
# Log keeps what a program sees, and what hooks are given; a block that must fail drops what was
# seen inside of it. Helpers are what a program would otherwise write out: custom functions,
# modules, threads, packing. Nothing here imports a library.
"""The log and the helpers of drawn programs."""

from __future__ import annotations

import contextlib
import copy
import pickle
import threading


class PlannedError(Exception):
    """What programs raise themselves."""


class OverError(Exception):
    """A run that might fail did: what follows is not known."""


class Log:
    def __init__(self, lib):
        self.lib, self.seen, self.kept = lib, [], {}

    def see(self, key, tensor):
        self.seen.append((key, self.picture(tensor)))

    @staticmethod
    def picture(tensor):
        if tensor is None:
            return None
        name = str(tensor.dtype).rpartition(".")[2]
        return name, tensor.requires_grad, tensor.detach().tolist()

    def hook(self, key, answer):
        def call(gradient):
            self.see(key, gradient)
            return answer(gradient)

        return call

    def pre(self, hook):
        def call(gradients):
            answer = hook(gradients[0])
            return None if answer is None else (answer,)

        return call

    def once(self, register, hook):
        def call(gradient):
            handle.remove()
            return hook(gradient)

        handle = register(call)
        return handle

    def fail(self, gradient):
        raise PlannedError

    def adding(self, key):
        return lambda grad_inputs, grad_outputs: self.see(key, grad_outputs[0])

    def several(self, key):
        def call(gradients):
            for gradient in gradients:
                self.see(key, gradient)

        return call

    def keep(self, key):
        self.kept[key] = []
        return lambda gradient: self.kept[key].append(gradient)

    def see_kept(self, key):
        for gradient in self.kept[key]:
            self.see(key, gradient)

    def leaf(self, key, clears):
        def call(leaf):
            self.see(key, leaf.grad)
            if clears:
                leaf.grad = None

        return call

    @contextlib.contextmanager
    def must_fail(self, is_quiet):
        before = len(self.seen)
        try:
            yield
        except (RuntimeError, ValueError, TypeError, PlannedError) as error:
            if type(error).__name__ == "InternalError":
                raise
            del self.seen[before:]
            if not is_quiet:
                self.seen.append(("raised", None))
        else:
            self.seen.append(("passed", None))

    @contextlib.contextmanager
    def may_fail(self):
        before = len(self.seen)
        self.seen.append(("may", None))
        try:
            yield
        except RuntimeError as error:
            if type(error).__name__ == "InternalError":
                raise
            del self.seen[before:]
            self.seen.append(("gave up", None))
            raise OverError from error

    def went_well(self):
        self.seen.append(("well", None))

    @contextlib.contextmanager
    def planned(self):
        with contextlib.suppress(PlannedError):
            yield

    def raise_planned(self):
        raise PlannedError


def functions_of(lib):
    """Custom functions whose gradient is the derivative."""
    base = lib.autograd.Function

    class Product(base):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y.conj(), g * x.conj()

    class TwoResults(base):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, one, other):
            return one * 2 + other * 3

    class Dirty(base):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Tanh(base):
        @staticmethod
        def forward(ctx, x):
            y = x.tanh()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * (1 - y * y).conj()

    return {one.__name__: one.apply for one in (Product, TwoResults, Dirty, Tanh)}


def odd_functions_of(lib):
    """Custom functions that have another gradient, or differentiate in their forward."""
    base = lib.autograd.Function

    class Doubled(base):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Other(Doubled):
        """A gradient that is not the derivative."""

        @staticmethod
        def backward(ctx, g):
            return g * 10

    class Fails(Doubled):
        """Raises in backward."""

        @staticmethod
        def backward(ctx, g):
            raise PlannedError

    class Inner(base):
        """Differentiates inside of forward."""

        @staticmethod
        def forward(ctx, x):
            with lib.enable_grad():
                inner = x.detach().requires_grad_()
                lib.utils.checkpoint.checkpoint(
                    lambda t: t.sin(), inner, use_reentrant=False
                ).backward(lib.ones_like(inner))
            ctx.save_for_backward(x)
            return inner.grad

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return -(g * x.sin().conj())

    return {one.__name__: one.apply for one in (Other, Fails, Inner)}


def modules_of(lib):
    """Modules, whose classes pickle finds."""
    nn = lib.nn

    class Affine(nn.Module):
        """Scales and moves, and counts its calls."""

        def __init__(self, weight, bias):
            super().__init__()
            self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)
            self.register_buffer("calls", lib.zeros((), dtype=lib.float32))

        def forward(self, x):
            with lib.no_grad():
                self.calls += 1
            return x * self.weight + self.bias

    class Tied(nn.Module):
        """Two that share their weight."""

        def __init__(self, weight, one, other):
            super().__init__()
            self.one, self.two = Affine(weight, one), Affine(weight, other)
            self.two.weight = self.one.weight

        def forward(self, x):
            return self.two(self.one(x).tanh())

    class Twice(nn.Module):
        """A parametrization."""

        def forward(self, x):
            return x * 2

    for one in (Affine, Tied, Twice):
        one.__module__, one.__qualname__ = __name__, f"{lib.__name__}_{one.__name__}"
        globals()[one.__qualname__] = one
    return {"Affine": Affine, "Tied": Tied, "Twice": Twice}


KINDS = {}  # the modules of each library


class Do:
    """Helpers that need the library."""

    def __init__(self, lib):
        self.lib = lib
        if lib not in KINDS:
            KINDS[lib] = functions_of(lib) | odd_functions_of(lib) | modules_of(lib)
        self.__dict__.update(KINDS[lib])

    def grad(self, root, inputs, retain, records):
        return self.lib.autograd.grad(
            [root],
            inputs,
            [self.lib.ones_like(root)],
            retain_graph=retain,
            create_graph=records,
            allow_unused=True,
        )

    def pack_nothing(self):
        return self.lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)

    def pack_copy(self):
        return self.lib.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t)

    def pack_list(self):
        tensor = self.lib.tensor
        return self.lib.autograd.graph.saved_tensors_hooks(
            lambda t: (t.tolist(), t.dtype, t.shape),
            lambda kept: tensor(kept[0], dtype=kept[1]).reshape(kept[2]),
        )

    def pickled(self, thing):
        return pickle.loads(pickle.dumps(thing))

    def copied(self, thing):
        return copy.deepcopy(thing)

    def loaded(self, things, workers=0):
        loader = self.lib.utils.data.DataLoader(things, batch_size=len(things), num_workers=workers)
        return next(iter(loader))

    def twin(self, module):
        """A module of the same kind with other numbers, into which the first is loaded."""
        twin = copy.deepcopy(module)
        with self.lib.no_grad():
            for one in (*twin.parameters(), *twin.buffers()):
                one.zero_()
                one.grad = None
        twin.load_state_dict(pickle.loads(pickle.dumps(module.state_dict())))
        return twin

    def reloaded(self, optimizer, parameters):
        """Another optimizer of the same kind, which goes on where the first stopped."""
        other = type(optimizer)(parameters, lr=7.0)
        other.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
        return other

    def clipped(self, parameters):
        self.lib.nn.utils.clip_grad_norm_(parameters, 0.5)

    def doubled(self, module):
        self.lib.nn.utils.parametrize.register_parametrization(module, "weight", self.Twice())

    @staticmethod
    def scaled_input(module, inputs):
        return (inputs[0] * 2,)

    @staticmethod
    def scaled_output(module, inputs, output):
        return output * 0.5

    @staticmethod
    def scaled_before(module, grads):
        return (grads[0] * 3,)

    @staticmethod
    def scaled_after(module, grad_input, grad_output):
        return tuple(one if one is None else one * 2 for one in grad_input)

    def checkpoint(self, function, *tensors):
        return self.lib.utils.checkpoint.checkpoint(function, *tensors, use_reentrant=False)

    def keep_products(self):
        lib = self.lib
        name = lib.matmul if lib.__name__ == "ebb" else lib.ops.aten.mm.default
        return lib.utils.checkpoint.create_selective_checkpoint_contexts([name])

    def selective(self, function, *tensors):
        return self.lib.utils.checkpoint.checkpoint(
            function, *tensors, use_reentrant=False, context_fn=self.keep_products
        )

    def elsewhere(self, function):
        """What the function returns on another thread, which has modes of its own."""
        results, failures = [], []

        def work():
            try:
                results.append(function())
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
        if failures:
            raise failures[0]
        return results[0]

    def in_threads(self, log, roots):
        """Runs of the roots' graphs at one time; what hooks see comes in any order."""
        failures, lib, before = [], self.lib, len(log.seen)

        def work(root):
            try:
                lib.autograd.backward([root], [lib.ones_like(root)], retain_graph=True)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(root,)) for root in roots]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        if failures:
            raise failures[0]
        log.seen[before:] = sorted(log.seen[before:], key=sorting)


def sorting(entry):
    """An order of what was seen that does not hang on roundings."""
    key, picture = entry
    return key, "" if picture is None else repr([round_nested(picture[2])])


def round_nested(value):
    if isinstance(value, list):
        return [round_nested(one) for one in value]
    if isinstance(value, complex):
        return round(value.real, 1) + 0.0, round(value.imag, 1) + 0.0
    return round(value, 1) + 0.0
