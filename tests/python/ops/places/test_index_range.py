# tests/python/ops/places/test_index_range.py -- indices out of range among many: what is told of
# them, and that what was to be written in place stays as it was.
import numpy as np
import pytest

import ebb

WRITES = {
    "index_add_": lambda x, i: x.index_add_(0, i, ebb.ones(i.numel())),
    "index_copy_": lambda x, i: x.index_copy_(0, i, ebb.ones(i.numel())),
    "index_fill_": lambda x, i: x.index_fill_(0, i, 1),
    "scatter_": lambda x, i: x.scatter_(0, i, ebb.ones(i.numel())),
    "scatter_add_": lambda x, i: x.scatter_add_(0, i, ebb.ones(i.numel())),
}


def indices(values, is_strided):
    """The numbers, dense or every other one of a tensor."""
    if not is_strided:
        return ebb.from_numpy(values)
    room = np.zeros(2 * len(values), np.int64)
    room[::2] = values
    return ebb.from_numpy(room)[::2]


@pytest.mark.parametrize("is_strided", [False, True])
@pytest.mark.parametrize("count", [1, 63, 64, 65, 200, 4097, 20_000])
def test_one_wrong_index_is_found_wherever_it_is(count, is_strided):
    """Three times as many places as indices: they are looked at before anything is written."""
    size = 3 * count
    right = np.random.default_rng(count).integers(0, size, count)
    x = ebb.arange(float(size))
    for position in sorted({0, count // 2, count - 1}):
        for wrong in (-1, size, 2**62, -(2**63), 2**63 - 1):
            values = right.copy()
            values[position] = wrong
            match = rf"got {wrong} at position \[{position}\]"
            with pytest.raises(IndexError, match=match):
                x.index_add_(0, indices(values, is_strided), ebb.ones(count))
    assert np.array_equal(x.numpy(), np.arange(size, dtype="float32"))
    x.index_add_(0, indices(right, is_strided), ebb.ones(count))
    wanted = np.arange(size) + np.bincount(right, minlength=size)
    assert np.array_equal(x.numpy(), wanted)


@pytest.mark.parametrize("count", [64, 4096, 40_000])
@pytest.mark.parametrize("name", WRITES)
def test_few_places_are_put_back_after_a_wrong_index(name, count):
    """Many indices for each place: what is written is kept meanwhile."""
    for x in (ebb.arange(10.0) - 5, (ebb.arange(20.0) - 9)[::2]):
        before = x.tolist()
        values = np.random.default_rng(count).integers(0, 10, count)
        values[-2] = 10
        with pytest.raises(IndexError, match=rf"{name}: .*got 10 at position \[{count - 2}\]"):
            WRITES[name](x, ebb.from_numpy(values))
        assert x.tolist() == before
        values[-2] = 0
        WRITES[name](x, ebb.from_numpy(values))
        assert x.tolist() != before


def test_rows_and_columns_are_put_back():
    index = ebb.from_numpy(np.array([0, 1] * 500 + [7]))
    for dim, shape in ((0, (1001, 2)), (1, (2, 1001))):
        x = ebb.tensor([[1.0, 2.0], [3.0, 4.0]])
        with pytest.raises(IndexError, match=r"got 7 at position \[1000\]"):
            x.index_add_(dim, index, ebb.ones(*shape))
        assert x.tolist() == [[1, 2], [3, 4]]
        x.index_add_(dim, index[:-1], ebb.ones(*(min(one, 1000) for one in shape)))
        assert x.tolist() == [[501, 502], [503, 504]]


def test_a_wrong_index_leaves_a_saved_tensor_usable():
    weight = ebb.ones(2, requires_grad=True)
    kept = ebb.tensor([2.0, 3.0])
    loss = (weight * kept).sum()
    with pytest.raises(IndexError):
        kept.index_add_(0, ebb.full((64,), 2), ebb.ones(64))
    loss.backward()
    assert weight.grad.tolist() == [2, 3]
