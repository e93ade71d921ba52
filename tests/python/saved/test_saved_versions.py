# tests/python/saved/test_saved_versions.py -- what was saved is refused only if its own bytes were
# written.
"""Writes beside saved values, loops that fill buffers, and random programs against NumPy."""

import random
import re

import numpy as np
import pytest

import ebb
from tests.python.held import live, live_without_garbage
from tests.python.leaves import leaf


def written(target):
    """Writes all of `target` without a gradient."""
    with ebb.no_grad():
        target.fill_(9.0)


@pytest.mark.parametrize(
    "key",
    [
        np.s_[:, 1],
        np.s_[:, 1:],
        np.s_[1::2, 0],
        np.s_[..., 2],
    ],
)
def test_a_write_of_other_columns_leaves_what_was_saved(key):
    x, w = ebb.ones(6, 3), leaf(2.0)
    y = (x[::2, 0] * w).sum()
    written(x[key])
    y.backward()
    assert w.grad.tolist() == [3]


def test_a_write_that_meets_it_is_an_error_that_names_both_lines():
    x, w = ebb.ones(6, 4), leaf(2.0)
    y = (x[:, 0] * w).sum()
    x[:, 1] = 5.0
    x[4:, ::2] = 5.0
    lines = [test_a_write_that_meets_it_is_an_error_that_names_both_lines.__code__.co_firstlineno]
    with pytest.raises(ebb.AutogradError, match="MulBackward") as caught:
        y.backward()
    saver, writer = (int(line) for line in re.findall(r"\.py:(\d+)", str(caught.value))[:2])
    assert (saver - lines[0], writer - lines[0]) == (2, 4)


def test_a_buffer_may_be_filled_row_by_row_while_earlier_rows_are_saved():
    buffer, w = ebb.zeros(100, 3), leaf(1.5)
    with ebb.no_grad():
        buffer[0] = 1.0
    parts = []
    for row in range(1, 100):
        part = buffer[row - 1] * w
        parts.append(part.sum())
        with ebb.no_grad():
            buffer[row] = part / 1.5
    sum(parts[1:], parts[0]).backward()
    assert w.grad.item() == pytest.approx(297.0)


@pytest.mark.parametrize("order", [range(1, 50), range(49, 0, -1), range(1, 50, 3)])
def test_a_buffer_may_be_filled_column_by_column_in_any_order(order):
    buffer, w = ebb.ones(4, 50), leaf(1.0)
    total, last = ebb.zeros(1), 0
    for column in order:
        total = total + (buffer[:, last] * w).sum()
        written(buffer[:, column])
        last = column
    total.backward()
    assert w.grad.tolist() == [4 + 36 * (len(order) - 1)]


def test_a_recorded_recurrence_over_a_buffer_is_differentiated():
    w = leaf(0.9)
    buffer = ebb.zeros(120)
    buffer[0] = 1.0
    for step in range(1, 120):
        buffer[step] = buffer[step - 1] * w[0]
    buffer[119].backward()
    assert w.grad.item() == pytest.approx(119 * 0.9**118, rel=1e-4)


def test_a_grid_may_be_filled_cell_by_cell_from_its_neighbours():
    size, w = 20, leaf(1.0)
    grid = ebb.ones(size, size)
    total = ebb.zeros(1)
    for row in range(1, size):
        for column in range(1, size):
            cell = grid[row - 1, column] * w + grid[row, column - 1] * w
            total = total + cell
            with ebb.no_grad():
                grid[row, column] = 1.0
    total.sum().backward()
    assert w.grad.item() == 2 * (size - 1) ** 2


def test_sixty_four_scattered_writes_are_told_apart():
    memory, w = ebb.ones(200), leaf(1.0)
    places = list(range(1, 200, 3))[:64]
    random.Random(5).shuffle(places)
    beside = (memory[0::3] * w).sum()
    hit = (memory[places[7] : places[7] + 2] * w).sum()
    for place in places:
        written(memory[place])
    beside.backward()
    assert w.grad.item() == 67.0
    with pytest.raises(ebb.AutogradError, match=r"in place by fill_ at .*test_saved_ver"):
        hit.backward()


# --- random programs ---


def random_key(rng, shape):
    """An index of ints and slices, most of them small."""
    key = []
    for size in shape[: rng.randint(1, len(shape))]:
        start = rng.randrange(size)
        if rng.random() < 0.4:
            key.append(start)
        else:
            key.append(slice(start, rng.randint(start + 1, size), rng.randint(1, 3)))
    return tuple(key)


class Program:
    """A buffer, what was saved of it, and NumPy's account of the last write of each element."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.shape = tuple(self.rng.randint(2, 7) for _ in range(self.rng.randint(1, 4)))
        self.dims = list(range(len(self.shape)))
        self.rng.shuffle(self.dims)
        self.buffer = ebb.ones(*self.shape).permute(self.dims)
        self.last = np.zeros(self.shape, dtype=int).transpose(self.dims)
        self.clock = 0
        self.saved = []
        self.missed = self.false_alarms = self.checks = 0

    def save(self):
        key, w = random_key(self.rng, self.buffer.shape), leaf(1.0)
        self.saved.append((key, self.clock, (self.buffer[key] * w).sum()))

    def write(self, key):
        self.clock += 1
        with ebb.no_grad():
            self.buffer[key] = float(self.clock + 1)
        self.last[key] = self.clock

    def fill(self):
        """A loop over one dim, which saves on its way."""
        dim = self.rng.randrange(len(self.shape))
        places = range(self.buffer.shape[dim])
        for place in places if self.rng.random() < 0.7 else reversed(places):
            self.write((slice(None),) * dim + (place,))
            if self.rng.random() < 0.3:
                self.save()

    def check(self):
        for key, clock, result in self.saved:
            self.checks += 1
            was_written = bool((self.last[key] > clock).any())
            try:
                result.backward()
            except ebb.AutogradError:
                self.false_alarms += not was_written
            else:
                self.missed += was_written

    def run(self):
        for _ in range(self.rng.randint(1, 25)):
            self.save()
            if self.rng.random() < 0.3:
                self.fill()
            else:
                self.write(random_key(self.rng, self.buffer.shape))
        self.check()
        return self


def test_no_random_program_uses_a_value_that_was_written():
    programs = [Program(seed).run() for seed in range(150)]
    checks, missed, false_alarms = (
        sum(getattr(program, name) for program in programs)
        for name in ("checks", "missed", "false_alarms")
    )
    print(f"{checks} saved values, {missed} missed writes, {false_alarms} false alarms")
    assert missed == 0
    assert false_alarms <= checks // 200


def test_a_write_copies_only_what_was_saved_of_the_elements_written():
    buffer, w = ebb.ones(4, 1000), ebb.ones(1000, requires_grad=True)
    with ebb.autograd.graph.allow_mutation_on_saved_tensors():
        results = [row * w for row in buffer] + [buffer[:, :250] * w[:250]]
        before = live_without_garbage()
        buffer[1].fill_(5.0)  # saved as a row, and as part of a block
        assert 8000 <= live() - before < 8000 + 2000
        before = live_without_garbage()
        buffer[1].fill_(7.0)
        assert live() - before < 1000
        buffer[2:].zero_()
        assert 8000 <= live() - before < 8000 + 2000
    buffer.fill_(9.0)
    sum(one.sum() for one in results).backward()
    assert w.grad.tolist() == [8.0] * 250 + [4.0] * 750
