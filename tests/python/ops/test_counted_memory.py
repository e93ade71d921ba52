# tests/python/ops/test_counted_memory.py -- what ops need on the way is counted.
#
# A call may take memory for its own book-keeping, as large as an operand. It comes from the
# allocator, so that memory_stats() tells of it and the limit on memory holds for it.

import numpy as np
import pytest

import ebb
from tests.fuzz.rows.temporaries import memory_of

ROWS = 1 << 18


@pytest.fixture(autouse=True)
def one_thread():
    ebb.set_num_threads(1)


@pytest.mark.nosan  # sanitizers serve memory themselves, uncounted
@pytest.mark.parametrize("positions", [ROWS, 16 * ROWS])
def test_the_order_of_an_index_is_counted(positions):
    index = ebb.arange(ROWS).flip(0)
    narrow = {"dtype": ebb.bfloat16}  # rows so short of wider types are added as they come
    rows, into = ebb.ones(ROWS, 1, **narrow), ebb.zeros(positions, 1, **narrow)
    taken = memory_of(lambda: into.index_add_(0, index, rows)).temporaries
    assert taken >= 3 * 8 * ROWS  # a copy of the index, its order, and where each run begins


@pytest.mark.parametrize("width", [3, 128])
@pytest.mark.parametrize("positions", [300, 1 << 16])
def test_rows_of_one_place_are_added_in_their_order(positions, width):
    rng = np.random.default_rng(positions)
    index = rng.integers(0, 300, 20_000) * (positions // 300)
    rows = rng.standard_normal((len(index), width)).astype("f4")
    wanted = np.zeros((positions, width), "f4")
    np.add.at(wanted, index, rows)
    found = ebb.zeros(positions, width).index_add(0, ebb.tensor(index), ebb.tensor(rows))
    assert np.array_equal(found.numpy(), wanted)
    last = np.zeros((positions, width), "f4")
    last[index] = rows
    found = ebb.zeros(positions, width).index_copy(0, ebb.tensor(index), ebb.tensor(rows))
    assert np.array_equal(found.numpy(), last)


POOLS = {
    "max_pool1d": lambda x: ebb.nn.functional.max_pool1d(x, 2, stride=1),
    "avg_pool1d": lambda x: ebb.nn.functional.avg_pool1d(x, 2, stride=1),
    "adaptive_avg_pool1d": lambda x: ebb.nn.functional.adaptive_avg_pool1d(x, ROWS),
    "adaptive_max_pool1d": lambda x: ebb.nn.functional.adaptive_max_pool1d(x, ROWS),
}


@pytest.mark.nosan
@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS)
def test_the_windows_of_a_pool_are_counted(pool):
    image = ebb.ones(1, 1, ROWS)
    assert memory_of(lambda: pool(image)).temporaries >= 32 * (ROWS - 1)


@pytest.mark.nosan
def test_the_places_of_a_sparse_tensor_are_counted():
    index = ebb.arange(ROWS).flip(0).unsqueeze(0)
    tensor = ebb.sparse_coo_tensor(index, ebb.ones(ROWS), (ROWS,))
    taken = memory_of(tensor.coalesce).temporaries
    assert taken >= 4 * 8 * ROWS  # the places, their order, those that differ, and what is where
