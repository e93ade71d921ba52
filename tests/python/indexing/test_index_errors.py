# tests/python/indexing/test_index_errors.py -- an index out of range is named with its place,
# wherever it is found: by the kernel that reads it, before a write in place, or where nothing is
# read at all.
import numpy as np
import pytest

import ebb

COUNT = 100_000
WRONG = 70_000


@pytest.fixture(params=[1, 3])
def threads(request):
    ebb.set_num_threads(request.param)


def wrong_at(place, count=COUNT):
    index = np.arange(count) % 7
    index[place] = 7
    return ebb.tensor(index)


CALLS = {
    "gather": lambda i: ebb.gather(ebb.zeros(7), 0, i),
    "index_select": lambda i: ebb.zeros(7).index_select(0, i),
    "scatter_add": lambda i: ebb.zeros(7).scatter_add(0, i, ebb.ones(COUNT)),
    "scatter": lambda i: ebb.zeros(7).scatter(0, i, ebb.ones(COUNT)),
    "index_add": lambda i: ebb.zeros(7).index_add(0, i, ebb.ones(COUNT)),
    "index_add of rows": lambda i: ebb.zeros(7, 3).index_add(0, i, ebb.ones(COUNT, 3)),
    "index_copy of rows": lambda i: ebb.zeros(7, 3).index_copy(0, i, ebb.ones(COUNT, 3)),
    "index_fill": lambda i: ebb.zeros(7).index_fill(0, i, 2.0),
    "embedding": lambda i: ebb.nn.functional.embedding(i, ebb.zeros(7, 3)),
    "nll_loss": lambda i: ebb.nn.functional.nll_loss(ebb.zeros(COUNT, 7), i),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_error_names_the_value_and_its_place(name, threads):
    with pytest.raises(IndexError, match=rf"got 7 at position \[{WRONG}\]"):
        CALLS[name](wrong_at(WRONG))


def test_what_is_written_in_place_stays_as_it_was(threads):
    out = ebb.zeros(7)
    index, ones = wrong_at(WRONG), ebb.ones(COUNT)
    for write in (
        lambda: out.scatter_add_(0, index, ones),
        lambda: out.index_add_(0, index, ones),
        lambda: out.index_fill_(0, index, 2.0),
        lambda: out.index_put_([index], ones),
    ):
        with pytest.raises(IndexError, match="7"):
            write()
    assert out.tolist() == [0] * 7


@pytest.mark.parametrize(
    "read",
    [
        lambda i: ebb.zeros(7, 0).index_select(0, i),
        lambda i: ebb.nn.functional.embedding(i, ebb.zeros(7, 0)),
        lambda i: ebb.zeros(7, 0).index_add(0, i, ebb.zeros(3, 0)),
        lambda i: ebb.zeros(7, 0).index_fill(0, i, 1.0),
    ],
)
def test_an_index_of_slices_without_elements_is_looked_at(read):
    with pytest.raises(IndexError, match=r"got 7 at position \[1\]"):
        read(wrong_at(1, 3))


@pytest.mark.parametrize("dtype", [ebb.float32, ebb.float16, ebb.bfloat16], ids=str)
def test_no_place_is_right_where_there_is_none(dtype, threads):
    index, ones = ebb.zeros(COUNT, dtype=ebb.int64), ebb.ones(COUNT, dtype=dtype)
    for add in (ebb.scatter_add, ebb.index_add):
        with pytest.raises(IndexError, match="index must be at least 0 and below 0"):
            add(ebb.zeros(0, dtype=dtype), 0, index, ones)
