# tests/python/autograd/test_views_random.py -- random programs of views and in-place writes against
# the same programs written with functions only.
#
# The reference knows no views: a tensor in memory is a row of elements, a view of it a table of
# places in that row, made by NumPy from the same indexing. Reading gathers, writing scatters into a
# new row. Both programs are differentiated twice.
"""In-place programs against functional ones."""

import random

import numpy as np
import pytest

import ebb


class Memory:
    """One base: the real tensor, and the row of elements that the reference has for it."""

    def __init__(self, real, row):
        self.real = real
        self.row = row


class Part:
    """A base or a view: the real tensor, and which places of the row it shows."""

    def __init__(self, memory, real, places, can_be_written=True):
        self.memory = memory
        self.real = real
        self.places = places
        self.can_be_written = can_be_written

    def read(self):
        flat = ebb.tensor(self.places.reshape(-1).copy())
        return self.memory.row.index_select(0, flat).reshape(self.places.shape)

    def write(self, value):
        flat = ebb.tensor(self.places.reshape(-1).copy())
        value = value.expand(self.places.shape).reshape(-1)
        self.memory.row = self.memory.row.index_copy(0, flat, value)


def make_memory(rng, inputs):
    """A base of each kind: recorded, plain, and plain in another order of memory."""
    places = np.arange(12).reshape(3, 4)
    kind = rng.choice(["recorded", "plain", "columns first", "result of a view"])
    x = rng.choice(inputs)
    if kind == "recorded":
        real, row = x * 2, (x * 2).reshape(-1)
    elif kind == "plain":
        real, row = ebb.ones(3, 4, dtype=ebb.float64), ebb.ones(12, dtype=ebb.float64)
    elif kind == "columns first":
        values = np.asfortranarray(np.arange(12.0).reshape(3, 4) / 10)
        real, row = ebb.from_numpy(values), ebb.tensor(values.reshape(-1).copy())
    else:
        real = (x.t() * 3).t().clone().reshape(3, 4)
        row = ((x.t() * 3).t().clone()).reshape(-1)
    return Part(Memory(real, row), real, places)


def make_views(rng, part):
    """A view of a part, or several, by one op."""
    real, places = part.real, part.places
    if places.size == 0:
        return []
    ndim = places.ndim

    def one(view, shown, can_be_written=part.can_be_written):
        return [Part(part.memory, view, shown, can_be_written)]

    kind = rng.randrange(8)
    if kind == 0 and ndim >= 1:
        axis = rng.randrange(ndim)
        start, step = rng.randrange(places.shape[axis]), rng.choice([1, 2])
        key = (slice(None),) * axis + (slice(start, None, step),)
        return one(real[key], places[key])
    if kind == 1 and ndim >= 1:
        axis = rng.randrange(ndim)
        at = rng.randrange(places.shape[axis])
        return one(real.select(axis, at), places.take(at, axis))
    if kind == 2 and ndim >= 2:
        return one(real.transpose(0, -1), np.swapaxes(places, 0, -1))
    if kind == 3:
        try:
            return one(real.view(-1), places.reshape(-1))
        except ValueError:
            return []
    if kind == 4 and ndim >= 1 and places.shape[0] >= 2:
        return [
            Part(part.memory, view, shown, part.can_be_written)
            for view, shown in zip(real.unbind(0), places, strict=True)
        ]
    if kind == 5 and ndim >= 1 and places.shape[-1] >= 2:
        shown = np.split(places, [1], axis=-1)
        views = real.split([1, places.shape[-1] - 1], -1)
        return [
            Part(part.memory, a, b, part.can_be_written) for a, b in zip(views, shown, strict=True)
        ]
    if kind == 6 and ndim == 2:
        return one(real.diagonal(), np.diagonal(places))
    if kind == 7:
        return one(
            real.expand(2, *places.shape), np.broadcast_to(places, (2, *places.shape)), False
        )
    return []


def write(rng, part, parts, inputs):
    """One in-place op on a part, in both programs."""
    now = part.read()
    source = rng.choice(parts)
    w = rng.choice(inputs)[0, 0]
    kind = rng.randrange(8)
    if kind == 0:
        part.real.mul_(w)
        part.write(now * w)
    elif kind == 1:
        part.real.add_(source.real.clone().sin().sum())
        part.write(now + source.read().sin().sum())
    elif kind == 2:
        part.real.fill_(0.5)
        part.write(now * 0 + 0.5)
    elif kind == 3:
        part.real.copy_(source.real.sum() * w)
        part.write((source.read().sum() * w).expand(part.places.shape))
    elif kind == 4 and part.places.ndim >= 1:
        part.real[0] = w * 2
        part.write(ebb.cat([(now[:1] * 0 + w * 2), now[1:]]))
    elif kind == 5:
        part.real.sin_()
        part.write(now.sin())
    elif kind == 6:
        mask = np.array([rng.random() < 0.5 for _ in range(part.places.size)], bool)
        mask = ebb.tensor(mask.reshape(part.places.shape))
        part.real.masked_fill_(mask, -1.0)
        part.write(ebb.where(mask, ebb.tensor(-1.0, dtype=ebb.float64), now))
    else:
        part.real.zero_()
        part.write(now * 0)


def run(seed):
    """Both programs; returns what each computed, as a list of tensors."""
    rng = random.Random(seed)
    values = np.random.default_rng(seed)
    inputs = [ebb.tensor(values.uniform(-0.5, 0.5, (3, 4)), requires_grad=True) for _ in range(3)]
    parts = [make_memory(rng, inputs) for _ in range(2)]
    for _ in range(rng.randrange(4, 16)):
        if rng.random() < 0.5:
            parts += make_views(rng, rng.choice(parts))
        else:
            part = rng.choice(parts)
            if part.can_be_written and part.places.size and abs(part.real.detach()).max() < 4:
                write(rng, part, parts, inputs)
    return inputs, [part.real for part in parts], [part.read() for part in parts]


def derivatives(outputs, inputs, seed):
    """First and second derivatives of a curved function of the outputs."""
    values = np.random.default_rng(seed)
    loss = ebb.zeros((), dtype=ebb.float64)
    for output in outputs:
        weight = ebb.tensor(values.uniform(-1, 1, tuple(output.shape)))
        loss = loss + (output * output * weight).sum() + (output * weight).sum()
    none = [ebb.zeros(3, 4, dtype=ebb.float64)] * 3
    if not loss.requires_grad:
        return none, none
    first = ebb.autograd.grad(loss, inputs, create_graph=True, materialize_grads=True)
    curved = sum(((one * one).sum() for one in first[1:]), (first[0] * first[0]).sum())
    if not curved.requires_grad:
        return first, none
    return first, ebb.autograd.grad(curved, inputs, materialize_grads=True)


def assert_close(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), 1e-9, 1e-9)


@pytest.mark.parametrize("block", range(10))
def test_programs_with_writes_agree_with_functional_ones(block):
    for seed in range(block * 30, block * 30 + 30):
        inputs, real, expected = run(seed)
        assert_close(real, expected)
        first, second = derivatives(real, inputs, seed)
        first_expected, second_expected = derivatives(expected, inputs, seed)
        assert_close(first, first_expected)
        assert_close(second, second_expected)


def replay(seed, outputs):
    """A function of three tensors that runs the real program of a seed on them."""

    def program(*inputs):
        rng = random.Random(seed)
        parts = [make_memory(rng, inputs) for _ in range(2)]
        for _ in range(6):
            parts += make_views(rng, rng.choice(parts))
            part = rng.choice(parts)
            if part.can_be_written and part.places.size:
                write(rng, part, parts, inputs)
        return [part.real * 1.0 for part in parts if part.real.requires_grad][:outputs]

    return program


@pytest.mark.parametrize("seed", range(8))
def test_programs_with_writes_pass_gradcheck_and_gradgradcheck(seed):
    values = np.random.default_rng(seed)
    inputs = [ebb.tensor(values.uniform(-0.3, 0.3, (3, 4)), requires_grad=True) for _ in range(3)]
    program = replay(seed, 3)
    if not program(*inputs):
        pytest.skip("nothing in this program requires a gradient")
    assert ebb.autograd.gradcheck(program, inputs)
    assert ebb.autograd.gradgradcheck(program, inputs)
