# tests/python/ops/test_blocks.py -- formulas of large tensors, made block by block
# (ebb/autograd/history/gradients/in_blocks.h), cannot be told from those made at once.

from functools import partial

import pytest

import ebb
from ebb.utils.checkpoint import checkpoint
from tests.fuzz.rows.temporaries import memory_of
from tests.python.held import live, live_without_garbage
from tests.python.threads import on_threads

LARGE = (1 << 19) + 7


def made(x):
    return [x.nan_to_num(), x.angle(), ebb.isclose(x, x + 1e-9)]


def test_a_result_made_in_blocks_has_version_0():
    assert [one._version for one in made(ebb.ones(LARGE))] == [0, 0, 0]


def test_several_threads_make_the_same_blocks():
    x = ebb.randn(LARGE)
    wanted = made(x)
    found = {}

    def work(number):
        found[number] = made(x)

    on_threads(*(partial(work, number) for number in range(4)))
    for each in found.values():
        assert all(ebb.equal(got, one) for got, one in zip(each, wanted, strict=True))
    assert len(found) == 4


@pytest.mark.nosan
def test_a_formula_that_fails_within_a_block_leaves_nothing_behind():
    x = ebb.ones(LARGE)
    before = live_without_garbage()
    failed = 0
    for successes in range(40):
        ebb._C._fail_allocation_after(successes, False)
        try:
            x.nan_to_num()
        except MemoryError:
            failed += 1
        finally:
            ebb._C._fail_allocation_after(-1, False)
    assert failed > 3
    assert memory_of(x.nan_to_num).results >= 4 * LARGE
    assert live() - before < 1 << 18


def test_a_checkpoint_of_a_formula_in_blocks_gives_the_same_gradient():
    x = ebb.randn(LARGE).requires_grad_()
    target = ebb.ones(LARGE)

    def loss(t):
        return ebb.nn.functional.kl_div(t * t, target, reduction="sum")

    (wanted,) = ebb.autograd.grad(loss(x), x)
    (got,) = ebb.autograd.grad(checkpoint(loss, x), x)
    assert ebb.equal(got, wanted)
