# tests/python/func/test_transform_pairs.py -- each transform of each other one, beside double
# backward.
#
# A transform makes a function of a tensor into another one of the same shapes. Each is written
# twice: by ebb.func, and by what it means, in plain calls of autograd.grad() with create_graph. The
# function uses a parameter that is no argument, so that what a transform does to history outside of
# it shows: the gradients of results by the parameter and by the point are compared too.
"""Pairs and triples of transforms, over a function with a captured parameter."""

import dataclasses
import functools
import itertools
from collections.abc import Callable

import pytest

import ebb
from ebb import func
from ebb.utils.checkpoint import checkpoint
from tests.cases import each_of

POINT = [[0.3, -0.7], [1.1, 0.4]]


def weights(like, seed=0.0):
    """Numbers without a pattern, in the shape of a tensor."""
    count = like.numel()
    return (1.3 * ebb.arange(count, dtype=ebb.float64) + 0.5 + seed).sin().reshape(like.shape)


def mixed(found, like):
    """All that was found, mixed to the shape of the point."""
    rows = weights(ebb.zeros(like.numel(), found.numel()), 0.2)
    return (rows @ found.reshape(-1)).reshape(like.shape)


def total(f):
    return lambda x: (f(x) * weights(x, 0.7)).sum()


class Squared(ebb.autograd.Function):
    """A square with rules of its own."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad

    @staticmethod
    def jvp(ctx, tangent):
        return 2 * ctx.saved_tensors[0] * tangent


def under(mode):
    def transform(f):
        def run(x):
            with mode():
                return f(x)

        return run

    return transform


def jacobian(f, x):
    """What it means: a backward pass for each element of the result."""
    with ebb.enable_grad():
        inner = x if x.requires_grad else x.detach().requires_grad_()
        inner = inner.view(inner.shape)
        y = f(inner)
        zeros = ebb.zeros(*y.shape, *x.shape, dtype=x.dtype)
        if not y.requires_grad:
            return zeros
        seeds = ebb.eye(y.numel(), dtype=x.dtype).reshape(-1, *y.shape)
        (found,) = ebb.autograd.grad(
            y, inner, seeds, create_graph=True, allow_unused=True, is_grads_batched=True
        )
    return zeros if found is None else found.reshape(zeros.shape)


def along(f, x):
    """The Jacobian times a direction."""
    return (
        (jacobian(f, x) * weights(x)).sum(dim=tuple(range(-x.ndim, 0)))
        if x.ndim
        else (jacobian(f, x) * weights(x))
    )


def by_rows(f):
    def run(x):
        _, back = func.vjp(f, x)
        unit = ebb.eye(x.numel(), dtype=x.dtype).reshape(-1, *x.shape)
        return mixed(func.vmap(back)(unit)[0], x)

    return run


def by_columns(f):
    def run(x):
        _, push = func.linearize(f, x)
        unit = ebb.eye(x.numel(), dtype=x.dtype).reshape(-1, *x.shape)
        return mixed(func.vmap(push, out_dims=-1)(unit), x)

    return run


@dataclasses.dataclass(frozen=True)
class Transform:
    by_func: Callable
    by_meaning: Callable
    is_forward: bool = False  # by tangents, which no_grad leaves alone
    cuts: bool = False


def same(f):
    return f


def of_jacobian(f):
    return lambda x: mixed(jacobian(f, x), x)


def of_gradient(f):
    return lambda x: jacobian(total(f), x)


TRANSFORMS = {
    "grad": Transform(lambda f: func.grad(total(f)), of_gradient),
    "grad_and_value": Transform(
        lambda f: lambda x: sum(func.grad_and_value(total(f))(x)),
        lambda f: lambda x: jacobian(total(f), x) + total(f)(x),
    ),
    "vjp": Transform(lambda f: lambda x: func.vjp(f, x)[1](weights(x, 0.7))[0], of_gradient),
    "jvp": Transform(
        lambda f: lambda x: func.jvp(f, (x,), (weights(x),))[1],
        lambda f: lambda x: along(f, x),
        True,
    ),
    "jacrev": Transform(lambda f: lambda x: mixed(func.jacrev(f)(x), x), of_jacobian),
    "jacfwd": Transform(lambda f: lambda x: mixed(func.jacfwd(f)(x), x), of_jacobian, True),
    "hessian": Transform(
        lambda f: lambda x: mixed(func.hessian(total(f))(x), x),
        lambda f: of_jacobian(of_gradient(f)),
    ),
    "linearize": Transform(
        lambda f: lambda x: func.linearize(f, x)[1](weights(x)),
        lambda f: lambda x: along(f, x),
        True,
    ),
    "vmap": Transform(func.vmap, lambda f: lambda x: ebb.stack([f(one) for one in x])),
    "vmap_of_vjp": Transform(by_rows, of_jacobian),
    "vmap_of_push": Transform(by_columns, of_jacobian, True),
    "checkpoint": Transform(lambda f: lambda x: checkpoint(f, x, use_reentrant=False), same),
    "autocast": Transform(under(lambda: ebb.autocast("cpu", dtype=ebb.bfloat16)), same),
    "Function": Transform(lambda f: lambda x: Squared.apply(f(x)), lambda f: lambda x: f(x) * f(x)),
    "no_grad": Transform(under(ebb.no_grad), lambda f: lambda x: f(x).detach(), cuts=True),
    "inference_mode": Transform(
        under(ebb.inference_mode), lambda f: lambda x: f(x).detach(), cuts=True
    ),
}


def base(scale):
    return lambda x: x.sin() * scale + 0.3 * x**3 * x.sum()


def outcome(make, wants_point, wants_scale):
    """The numbers of a function at the point, and their gradients by point and parameter."""
    x = ebb.tensor(POINT, dtype=ebb.float64, requires_grad=wants_point)
    scale = ebb.tensor(0.8, dtype=ebb.float64, requires_grad=wants_scale)
    found = make(base(scale))(x)
    wanted = [one for one in (x, scale) if one.requires_grad]
    if not (wanted and found.requires_grad):
        return found, [ebb.zeros_like(one) for one in wanted]
    seeds = weights(found, 0.1)
    return found, ebb.autograd.grad(found, wanted, seeds, materialize_grads=True)


def check(names, wants):
    """A transform of others, the outermost first, gives what they mean, and its history."""
    found, grads = outcome(by_func_of(names), *wants)
    right, right_grads = outcome(meaning_of(names), *wants)
    pairs = [(found, right), *zip(grads, right_grads, strict=True)]
    assert all(ebb.allclose(one, other, rtol=1e-9, atol=1e-9) for one, other in pairs), pairs


def by_func_of(names):
    transforms = [TRANSFORMS[name].by_func for name in names]
    return lambda f: functools.reduce(lambda made, one: one(made), reversed(transforms), f)


def meaning_of(names):
    *outer, last = [TRANSFORMS[name] for name in names]
    # Within what goes by tangents no_grad cuts nothing but history.
    if last.cuts and outer[-1].is_forward:
        return lambda f: lambda x: outer[-1].by_meaning(f)(x).detach()
    transforms = [one.by_meaning for one in (*outer, last)]
    return lambda f: functools.reduce(lambda made, one: one(made), reversed(transforms), f)


REQUIRING = list(itertools.product((False, True), repeat=2))  # the point, the parameter
PAIRS = list(itertools.product(TRANSFORMS, repeat=2))
TRIPLES = [
    names
    for names in itertools.product(
        [name for name, one in TRANSFORMS.items() if not one.cuts], repeat=3
    )
    if names.count("vmap") < 3 and names[:2] != ("vmap", "vmap")
]


@each_of([(*pair, wants) for pair in PAIRS for wants in REQUIRING], lambda outer, *_: outer)
def test_a_transform_of_another_gives_what_it_means_and_its_history(outer, inner, wants):
    check((outer, inner), wants)


def test_three_transforms_within_each_other_give_what_they_mean():
    for number, names in enumerate(TRIPLES[::13]):
        check(names, REQUIRING[number % 4])


@pytest.mark.long
def test_any_three_transforms_within_each_other_give_what_they_mean():
    for names, wants in itertools.product(TRIPLES, REQUIRING):
        check(names, wants)
