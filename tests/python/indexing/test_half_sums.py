# tests/python/indexing/test_half_sums.py -- what meets in one place adds up in float32.
import numpy as np
import pytest

import ebb

HALF = [ebb.bfloat16, ebb.float16]
# Sizes of what is indexed, its dim, sizes of the index: several sums at once, parts of out that
# are summed one after the other, and pieces of threads.
SCATTERED = [
    ((), 0, ()),
    ((5,), 0, (700,)),
    ((7, 9), 0, (40, 6)),
    ((7, 9), 1, (5, 300)),
    ((3, 4, 5), 1, (3, 90, 5)),
    ((2, 3, 4, 5), -1, (2, 2, 4, 70)),
    ((2, 3, 4, 5), 0, (90, 3, 2, 5)),
    ((300000, 8), 0, (5000, 8)),
    ((3000000,), 0, (40000,)),
    ((4, 300000), 1, (4, 20000)),
]
ROWS = [((6,), 0, 900), ((4, 1300), 0, 90), ((2, 5, 33), 1, 800), ((3, 70), 1, 40), ((9, 0), 0, 3)]


@pytest.fixture(params=[1, 3], autouse=True)
def threads(request):
    ebb.set_num_threads(request.param)


def drawn(shape, dtype, seed):
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return ebb.tensor(values).to(dtype)


def wanted(x, index, dim, src, alpha=1.0):
    """The sums by NumPy, which adds in the order of the index too."""
    at = [np.asarray(each) for each in np.indices(index.shape, sparse=True)]
    at[dim] = index
    sums = np.full(x.shape, -0.0, np.float32)
    np.add.at(
        sums, tuple(at), np.float32(alpha) * src.float().numpy()[tuple(map(slice, index.shape))]
    )
    return (x.float() + ebb.tensor(sums)).to(x.dtype)


def same_bits(got, want):
    bits = [each.float().contiguous().numpy().view(np.int32) for each in (got, want)]
    np.testing.assert_array_equal(*bits)


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize(("shape", "dim", "places"), SCATTERED, ids=str)
def test_scattered_sums_are_rounded_once(shape, dim, places, dtype):
    x, src = drawn(shape, dtype, 1), drawn(places, dtype, 2)
    below = shape[dim] if shape else 1
    index = (
        np.random.default_rng(3).integers(0, below, places) // 3
    )  # some places often, some never
    want = (
        wanted(x.reshape(-1), index.reshape(-1), 0, src.reshape(-1))
        if shape == ()
        else wanted(x, index, dim, src)
    )
    same_bits(x.scatter_add(dim, ebb.tensor(index), src), want.reshape(shape))
    if len(shape) == 2:  # in place, in another layout, from every second element
        turned = x.t().contiguous().t()
        spaced = ebb.stack([src, src], -1)[..., 0]
        same_bits(turned.scatter_add_(dim, ebb.tensor(index), spaced), want)


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize(("shape", "dim", "count"), ROWS, ids=str)
@pytest.mark.parametrize("alpha", [1, 0.3])
def test_added_slices_are_rounded_once(shape, dim, count, alpha, dtype):
    sizes = (*shape[:dim], count, *shape[dim + 1 :])
    x, src = drawn(shape, dtype, 1), drawn(sizes, dtype, 2)
    index = np.random.default_rng(3).integers(0, shape[dim], count) // 2
    everywhere = index.reshape([-1 if each == dim else 1 for each in range(len(shape))])
    factor = float(np.float32(alpha))
    want = wanted(x, np.broadcast_to(everywhere, sizes), dim, src, factor)
    same_bits(x.index_add(dim, ebb.tensor(index), src, alpha=alpha), want)


@pytest.mark.parametrize("dtype", HALF, ids=str)
def test_a_gradient_counts_every_use_of_a_row(dtype):
    uses = {
        "embedding": lambda x, i: ebb.nn.functional.embedding(i, x),
        "x[index]": lambda x, i: x[i],
        "index_select": lambda x, i: x.index_select(0, i),
        "gather": lambda x, i: x.gather(0, i[:, None].expand(-1, 4)),
    }
    index = ebb.zeros(8192, dtype=ebb.int64)
    for name, use in uses.items():
        x = ebb.ones([3, 4], dtype=dtype, requires_grad=True)
        use(x, index).sum().backward()
        assert x.grad.tolist() == [[8192.0] * 4, [0.0] * 4, [0.0] * 4], name


@pytest.mark.parametrize("dtype", HALF, ids=str)
def test_minus_zero_and_nan_stay(dtype):
    x = ebb.tensor([-0.0, -0.0, float("nan"), float("inf")], dtype=dtype)
    src = ebb.tensor([-0.0, 0.0, 1.0, -1.0], dtype=dtype)
    got = x.scatter_add(0, ebb.arange(4), src).float().numpy()
    assert np.signbit(got[0])
    assert not np.signbit(got[1])
    assert np.isnan(got[2])
    assert np.isposinf(got[3])
