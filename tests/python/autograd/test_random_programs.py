# tests/python/autograd/test_random_programs.py -- random programs of 5 to 30 ops have right
# derivatives.
#
# First and second ones agree with finite differences; however they are asked for, they are bitwise
# the same. A program is drawn anew from its seed whenever it runs, so each run does the same.
# Results that may grow go through tanh. In-place ops work on copies, some through an index.
import random

import numpy as np
import pytest

import ebb

SHAPES = ((3, 4), (4,), (), (2, 3, 4))
LOOSE = {"fast_mode": True, "atol": 1e-6, "rtol": 1e-5}


def small(x):
    return x.tanh()


def any_dim(rng, x):
    return rng.randrange(-x.ndim, x.ndim)


def pick(rng, pool, min_dims=0):
    fitting = [x for x in pool if x.ndim >= min_dims and x.numel() > 0]
    return rng.choice(fitting)


def partner(rng, pool, x):
    """Another tensor that broadcasts with x, or x itself."""
    fitting = [y for y in pool if y.shape == x.shape or y.ndim == 0 or y.shape == x.shape[-1:]]
    return rng.choice(fitting or [x])


def binary(rng, pool):
    x = pick(rng, pool)
    y = partner(rng, pool, x)
    kind = rng.randrange(5)
    if kind == 0:
        return x + y
    if kind == 1:
        return x - 0.7 * y
    if kind == 2:
        return small(x * y)
    if kind == 3:
        return small(x / (y * y + 0.5))
    return ebb.where(x > 0.1, x, y * 0.5)


def unary(rng, pool):
    x = pick(rng, pool)
    functions = (
        lambda x: -x,
        lambda x: small(x).exp(),
        lambda x: (x * x + 0.3).log(),
        lambda x: x.tanh(),
        lambda x: x.relu() + 0.1 * x,
        lambda x: 1.0 / (x * x + 1.0),
        lambda x: 2.0 - x,
    )
    return rng.choice(functions)(x)


def reduce(rng, pool):
    x = pick(rng, pool, 1)
    dim, keepdim = any_dim(rng, x), rng.random() < 0.5
    kind = rng.randrange(5)
    if kind == 0:
        return small(x.sum(dim, keepdim))
    if kind == 1:
        return x.mean()
    if kind == 2:
        return x.max(dim, keepdim)[0]
    if kind == 3:
        return x.log_softmax(dim)
    return x.softmax(dim)


def shape(rng, pool):
    x = pick(rng, pool, 1)
    kind = rng.randrange(6)
    if kind == 0:
        return x.reshape(-1)
    if kind == 1:
        return x.transpose(any_dim(rng, x), any_dim(rng, x))
    if kind == 2:
        return x[..., ::2]
    if kind == 3:
        return x[0]
    if kind == 4:
        return x.unsqueeze(0).expand([2, *x.shape])
    return x.permute(list(range(x.ndim))[::-1]).contiguous()


def join(rng, pool):
    x = pick(rng, pool, 1)
    if rng.random() < 0.5:
        return ebb.cat([x, small(x), x], any_dim(rng, x))
    dim = any_dim(rng, x)
    parts = x.split(max(1, x.shape[dim] // 2), dim)
    return parts[rng.randrange(len(parts))]


def index(rng, pool):
    x = pick(rng, pool, 1)
    dim = any_dim(rng, x)
    chosen = ebb.tensor([rng.randrange(x.shape[dim]) for _ in range(3)])
    taken = x.index_select(dim, chosen)
    return taken if rng.random() < 0.5 else x.index_add(dim, chosen, small(taken))


def product(rng, pool):
    x = pick(rng, pool, 2)
    return small(x @ x.transpose(-1, -2))


def inplace(rng, pool):
    x = pick(rng, pool, 1)
    y = partner(rng, pool, x)
    out = x.clone()
    kind = rng.randrange(5)
    if kind == 0:
        out.mul_(small(y))
    elif kind == 1:
        out.add_(y, alpha=0.5)
    elif kind == 2:
        out[0] = 0.5
    elif kind == 3:
        out[..., 1:] = small(x[..., :1]) * 0.3
    else:
        out.tanh_()
    return out


KINDS = (binary, binary, unary, unary, reduce, shape, join, index, product, inplace)


def run(seed, inputs):
    """The outputs of a program."""
    rng = random.Random(seed)
    pool = list(inputs)
    for _ in range(rng.randrange(5, 31)):
        result = rng.choice(KINDS)(rng, pool)
        if result.numel() <= 200:
            pool.append(result)
    total = sum(small(x).sum() * (0.3 + 0.1 * k) for k, x in enumerate(pool[-4:]))
    return total + sum(x.sum() * 0.01 for x in inputs)


def make_inputs(seed):
    rng = np.random.default_rng(seed)
    return [ebb.tensor(rng.uniform(-1, 1, s)).requires_grad_() for s in SHAPES]


def check_program(seed):
    inputs = make_inputs(seed)
    first = ebb.autograd.grad([run(seed, inputs)], inputs)
    again = ebb.autograd.grad([run(seed, inputs)], inputs, create_graph=True)
    run(seed, inputs).backward()
    for leaf, one, two in zip(inputs, first, again, strict=True):
        assert leaf.grad.numpy().tobytes() == one.numpy().tobytes()
        assert two.detach().numpy().tobytes() == one.numpy().tobytes()
    assert ebb.autograd.gradcheck(lambda *given: run(seed, given), inputs, **LOOSE)
    assert ebb.autograd.gradgradcheck(lambda *given: run(seed, given), inputs, **LOOSE)


@pytest.mark.parametrize("seed", range(60))
def test_a_random_program_has_right_derivatives(seed):
    check_program(seed)


@pytest.mark.long
@pytest.mark.parametrize("hundred", range(10))
def test_a_thousand_random_programs_have_right_derivatives(hundred):
    for seed in range(1000 + hundred * 100, 1100 + hundred * 100):
        check_program(seed)
