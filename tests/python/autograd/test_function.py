# tests/python/autograd/test_function.py -- custom functions: both styles, what they mark, save and
# refuse.
import functools
import threading

import pytest

import ebb
from ebb.autograd import Function, grad, once_differentiable
from tests.python.autograd.function_support import Cube, Square, make
from tests.python.leaves import leaf
from tests.python.threads import on_threads


class Scale(Function):
    """The second style, with a default and a keyword."""

    @staticmethod
    def forward(x, factor=2.0, *, unused=None):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.inputs = inputs
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


def test_backward_of_the_class_is_used():
    x = leaf(2.0)
    y = Cube.apply(x)
    assert y.grad_fn.name() == "CubeBackward" and y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [12.0]


def test_backward_is_recorded_for_the_next_derivative():
    x = leaf(2.0)
    (first,) = grad(Cube.apply(x).sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x, create_graph=True)
    (third,) = grad(second.sum(), x)
    assert [first.item(), second.item(), third.item()] == [12.0, 12.0, 6.0]


def test_gradcheck_passes_for_both_orders():
    x = ebb.tensor([0.5, -1.5], dtype=ebb.float64, requires_grad=True)
    assert ebb.autograd.gradcheck(Cube.apply, (x,))
    assert ebb.autograd.gradgradcheck(Cube.apply, (x,))


class ScaleSimply(Function):
    @staticmethod
    def forward(x, factor=2.0):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.given = inputs, output
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


@pytest.mark.parametrize(
    ("call", "factor"),
    [
        (lambda x: ScaleSimply.apply(x), 2.0),
        (lambda x: ScaleSimply.apply(x, 3.0), 3.0),
        (lambda x: ScaleSimply.apply(x, factor=4.0), 4.0),
        (lambda x: ScaleSimply.apply(factor=5.0, x=x), 5.0),
    ],
)
def test_second_style_binds_defaults_and_keywords(call, factor):
    x = leaf(1.0)
    y = call(x)
    y.sum().backward()
    assert x.grad.tolist() == [factor]


def scale(x, factor=2.0):
    return x * factor


class ScaleCallable:
    def __call__(self, x, factor=2.0):
        return x * factor


FORWARDS = {
    "static method": staticmethod(scale),
    "class method": classmethod(lambda cls, x, factor=2.0: x * factor),
    "partial": functools.partial(scale),
    "callable": ScaleCallable(),
    "bound method": ScaleCallable().__call__,
}


@pytest.mark.parametrize("kind", FORWARDS)
def test_second_style_binds_defaults_of_any_callable(kind):
    made = type("Scaled", (ScaleSimply,), {"forward": FORWARDS[kind]})
    for arguments, named, factor in [((), {}, 2.0), ((3.0,), {}, 3.0), ((), {"factor": 4.0}, 4.0)]:
        x = leaf(1.0)
        made.apply(x, *arguments, **named).sum().backward()
        assert x.grad.tolist() == [factor]


def test_second_style_takes_a_forward_without_a_signature():
    made = type("Largest", (ScaleSimply,), {"forward": max})  # max() tells nobody its parameters
    made.setup_context = staticmethod(lambda ctx, inputs, output: setattr(ctx, "factor", 1.0))
    x = leaf(1.0)
    made.apply(x, leaf(0.5)).sum().backward()
    assert x.grad.tolist() == [1.0]
    with pytest.raises(TypeError, match=r"apply: needs a forward\(\) with a signature, got"):
        made.apply(x, key=abs)


def test_setup_context_gets_all_inputs_and_the_output():
    seen = []

    def setup_context(ctx, inputs, output):
        seen.append((inputs, output))

    made = make(lambda x, n=7: (x * n, n), lambda ctx, g, n: (g * 7, None))
    made.setup_context = staticmethod(setup_context)
    x = leaf(1.0)
    out = made.apply(x)
    inputs, output = seen[0]
    assert inputs[0] is x and inputs[1] == 7
    assert output[0] is out[0] and output[1] == 7


def test_first_style_refuses_keywords():
    with pytest.raises(
        TypeError, match=r"Cube.apply: needs arguments by position, got 'x' by name"
    ):
        Cube.apply(x=leaf(1.0))


def test_keyword_only_arguments_are_refused():
    with pytest.raises(TypeError, match="keyword-only"):
        Scale.apply(leaf(1.0), unused=3)


def test_forward_runs_without_recording():
    seen = []

    def forward(ctx, x):
        seen.append((ebb.is_grad_enabled(), (x * 2).requires_grad))
        return x * 2

    made = make(forward, lambda ctx, g: g * 2)
    assert made.apply(leaf(1.0)).requires_grad
    assert seen == [(False, False)]
    with ebb.no_grad():
        assert not made.apply(leaf(1.0)).requires_grad
    assert not made.apply(ebb.tensor([1.0])).requires_grad


def test_any_outputs_are_passed_on_and_get_no_gradient():
    seen = []

    def backward(ctx, *grads):
        seen.append(grads)
        return grads[0] * 2

    made = make(lambda ctx, x: (x * 2, "text", None, 5), backward)
    x = leaf(1.0)
    y, text, none, five = made.apply(x)
    assert (text, none, five) == ("text", None, 5)
    y.sum().backward()
    assert seen[0][1:] == (None, None, None) and x.grad.tolist() == [2.0]


def test_lists_of_tensors_are_not_tracked():
    made = make(lambda ctx, xs: xs[0] * 2, lambda ctx, g: None)
    assert not made.apply([leaf(1.0)]).requires_grad
    made = make(lambda ctx, x: [x * 2], lambda ctx, g: None)
    (y,) = made.apply(leaf(1.0))
    assert not y.requires_grad


def test_no_tensors_at_all():
    made = make(lambda ctx, a, b: a + b, lambda ctx, g: None)
    assert made.apply(1, 2) == 3
    assert make(lambda ctx: None).apply() is None


def test_non_tensor_arguments_take_none():
    made = make(lambda ctx, x, n, y: x * n + y, lambda ctx, g: (g * 3, None, g))
    x, y = leaf(1.0), leaf(2.0)
    made.apply(x, 3, y).sum().backward()
    assert x.grad.tolist() == [3.0] and y.grad.tolist() == [1.0]
    wrong = make(lambda ctx, x, n: x * n, lambda ctx, g: (g, g))
    with pytest.raises(ValueError, match="gradient 1 must be None"):
        wrong.apply(leaf(1.0), 3).sum().backward()


def test_many_arguments_and_outputs():
    made = make(
        lambda ctx, *xs: tuple(x * 2 for x in xs), lambda ctx, *grads: tuple(g * 2 for g in grads)
    )
    xs = [leaf(float(i)) for i in range(100)]
    ys = made.apply(*xs)
    sum(ys[1:], ys[0]).sum().backward()
    assert [x.grad.item() for x in xs] == [2.0] * 100


def test_the_same_tensor_as_two_arguments():
    made = make(lambda ctx, a, b: a * b, lambda ctx, g: (g * 10, g * 100))
    x = leaf(1.0)
    made.apply(x, x).sum().backward()
    assert x.grad.tolist() == [110.0]


def test_the_same_tensor_returned_twice():
    def forward(ctx, x):
        y = x * 2
        return y, y

    made = make(forward, lambda ctx, a, b: a * 2 + b * 2)
    x = leaf(1.0)
    first, second = made.apply(x)
    assert first is second
    (first + second).sum().backward()
    assert x.grad.tolist() == [4.0]


def test_an_input_returned_as_it_is_becomes_a_view():
    made = make(lambda ctx, x: x, lambda ctx, g: g * 5)
    x = leaf(1.0)
    y = made.apply(x)
    assert y is not x and y.data_ptr() == x.data_ptr() and y.grad_fn.name() == "MadeBackward"
    y.sum().backward()
    assert x.grad.tolist() == [5.0] and x.is_leaf
    with ebb.no_grad():
        assert made.apply(x) is not x


def test_an_input_returned_twice_makes_two_views():
    made = make(lambda ctx, x: (x, x), lambda ctx, a, b: a * 2 + b * 3)
    x = leaf(1.0)
    a, b = made.apply(x)
    assert a is not b
    (a + b).sum().backward()
    assert x.grad.tolist() == [5.0]


def test_needs_input_grad_tells_what_is_wanted():
    seen = []

    def forward(ctx, x, n, y):
        seen.append(ctx.needs_input_grad)
        return x * y

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, g

    x, y = leaf(1.0), leaf(2.0)
    out = make(forward, backward).apply(x, 5, y).sum()
    out.backward(retain_graph=True)
    grad(out, y)
    assert seen == [(True, False, True), (True, False, True), (False, False, True)]


class CubeBySquare(Function):
    @staticmethod
    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(square)
        return square * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] * 3


class CubeByAttribute(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.squares = [x * x]
        return ctx.squares[0] * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.squares[0] * 3


@pytest.mark.parametrize("cube", [CubeBySquare, CubeByAttribute])
def test_an_intermediate_gives_an_error_and_no_wrong_number(cube):
    x = leaf(2.0)
    y = cube.apply(x).sum()
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [12.0]
    (first,) = grad(y, x, create_graph=True)
    assert first.tolist() == [12.0]
    with pytest.raises(RuntimeError, match="computed inside forward"):
        grad(first.sum(), x)
    assert grad(first.sum(), first)[0].item() == 1.0


def test_constants_inputs_and_outputs_on_ctx_are_exact():
    def forward(ctx, x, c):
        ctx.x, ctx.c, ctx.y = x, c, x.exp()
        return ctx.y

    def backward(ctx, g):
        return g * ctx.y * ctx.c, None

    x, c = leaf(0.0), ebb.tensor([1.0])
    (first,) = grad(make(forward, backward).apply(x, c).sum(), x, create_graph=True)
    assert grad(first.sum(), x)[0].tolist() == [1.0]


def test_a_saved_tensor_with_its_own_history_keeps_it():
    w = leaf(3.0)

    def forward(ctx, x):
        ctx.save_for_backward(w)
        return x * w

    x = leaf(2.0)
    made = make(forward, lambda ctx, g: g * ctx.saved_tensors[0])
    (first,) = grad(made.apply(x).sum(), x, create_graph=True)
    assert grad(first.sum(), w)[0].tolist() == [1.0]


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        assert not ebb.is_grad_enabled()
        return g * ctx.saved_tensors[0] * 2


def test_once_differentiable_refuses_the_second_derivative():
    x = leaf(3.0)
    (first,) = grad(Once.apply(x).sum() + (x * x).sum(), x, create_graph=True)
    assert first.tolist() == [12.0]
    with pytest.raises(RuntimeError, match=r"OnceBackward: .*once_differentiable"):
        grad(first.sum(), x)


def test_nones_behind_the_last_gradient_are_ignored():
    x = leaf(1.0)
    made = make(lambda ctx, x: x * 2, lambda ctx, g: (g * 2, None, None))
    made.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_gradients_take_the_dtype_of_their_input():
    x = leaf(1.0)
    made = make(lambda ctx, x: x * 2, lambda ctx, g: ebb.ones(1, dtype=ebb.float64))
    made.apply(x).sum().backward()
    assert x.grad.dtype == ebb.float32


def test_backward_inside_backward():
    w = leaf(1.0)

    def backward(ctx, g):
        with ebb.enable_grad():
            (w * 3).sum().backward()
        return g

    x = leaf(1.0)
    make(lambda ctx, x: x * 1, backward).apply(x).sum().backward()
    assert w.grad.tolist() == [3.0] and x.grad.tolist() == [1.0]


def test_grad_mode_in_backward_follows_create_graph():
    seen = []

    def backward(ctx, g):
        seen.append(ebb.is_grad_enabled())
        return g * 2

    x = leaf(1.0)
    y = make(lambda ctx, x: x * 2, backward).apply(x).sum()
    grad(y, x, retain_graph=True)
    grad(y, x, create_graph=True)
    assert seen == [False, True]


def test_threads_run_one_graph_at_the_same_time():
    x = leaf(2.0)
    y = Cube.apply(x).sum()
    results = []

    def work():
        for _ in range(50):
            results.append(grad(y, x, retain_graph=True)[0].item())

    on_threads(*[work] * 4)
    assert results == [12.0] * 200


def test_another_python_thread_runs_during_backward():
    ran = threading.Event()
    thread = threading.Thread(target=ran.set)

    def backward(ctx, g):
        thread.start()
        assert ran.wait(120)
        return g

    make(lambda ctx, x: x * 1, backward).apply(leaf(1.0)).sum().backward()
    thread.join()


def test_vmap_attributes_are_accepted():
    made = make(
        lambda ctx, x: x * 2, lambda ctx, g: g * 2, vmap=staticmethod(lambda info, dims, x: None)
    )
    assert made.generate_vmap_rule is False
    made.generate_vmap_rule = True
    assert made.apply(leaf(1.0)).item() == 2.0


def test_classmethods_and_inheritance():
    class Base(Function):
        factor = 2

        @classmethod
        def forward(cls, ctx, x):
            return x * cls.factor

        @classmethod
        def backward(cls, ctx, g):
            return g * cls.factor

    class Derived(Base):
        factor = 7

    x = leaf(1.0)
    y = Derived.apply(x)
    y.sum().backward()
    assert y.item() == 7.0 and x.grad.tolist() == [7.0]


def test_saved_tensors_hooks_pack_what_a_function_saves():
    x, packed = ebb.tensor([3.0], requires_grad=True), []
    hooks = ebb.autograd.graph.saved_tensors_hooks(
        lambda value: packed.append(1) or value.numpy().copy(), ebb.from_numpy
    )
    with hooks:
        y = Square.apply(x)
    (first,) = ebb.autograd.grad(y, x, create_graph=True)
    first.backward()
    assert (len(packed), first.item(), x.grad.item()) == (1, 6.0, 2.0)
