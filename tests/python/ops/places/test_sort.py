# tests/python/ops/places/test_sort.py -- sorts of long lines, with ties, NaN and signed zeros;
# searches; running sums of long lines.
import math

import numpy as np
import pytest

import ebb

RNG = np.random.default_rng(8)
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
SHAPES = ((1,), (255,), (257,), (70000,), (3, 1000), (1000, 3), (4, 300, 2))


def stable_order(values, dim, descending):
    if descending:
        flipped = np.argsort(np.flip(values, dim), dim, kind="stable")
        return np.flip(values.shape[dim] - 1 - flipped, dim)
    return np.argsort(values, dim, kind="stable")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sorts_are_stable_for_every_dtype_and_size(dtype, shape):
    low = 0 if dtype in ("bool", "uint8") else -100
    values = RNG.integers(low, 2 if dtype == "bool" else 100, shape)
    x = ebb.tensor(values).to(getattr(ebb, dtype))
    for dim in range(len(shape)):
        for descending in (False, True):
            order = stable_order(values, dim, descending)
            found = x.sort(dim, descending)
            assert (found.indices.numpy() == order).all()
            assert (found.values.numpy() == np.take_along_axis(values, order, dim)).all()
            count = min(5, shape[dim])
            top = x.topk(count, dim, descending)
            assert (top.indices.numpy() == np.take(order, range(count), dim)).all()
            assert (x.argsort(dim, descending).numpy() == order).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("size", [20, 1000])
def test_random_floats_sort_like_numpy(dtype, size):
    x = ebb.tensor(RNG.standard_normal((3, size))).to(getattr(ebb, dtype))
    wide = x.double().numpy()
    assert (x.sort().values.double().numpy() == np.sort(wide)).all()
    assert (x.sort(0, True).values.double().numpy() == -np.sort(-wide, 0)).all()


def test_nan_is_largest_and_zeros_are_equal():
    x = ebb.tensor([math.nan, 0.0, -math.inf, -0.0, math.inf, -math.nan, 1.0])
    assert x.argsort().tolist() == [2, 1, 3, 6, 4, 0, 5]
    assert x.argsort(descending=True).tolist() == [0, 5, 4, 6, 1, 3, 2]
    assert x.topk(2).indices.tolist() == [0, 5]
    assert x.kthvalue(1).indices.item() == 2
    assert math.copysign(1, x.sort().values[2].item()) == -1


def test_a_median_with_nan_is_nan():
    x = ebb.tensor([[3.0, math.nan, 1.0], [3.0, 2.0, 1.0]], requires_grad=True)
    assert math.isnan(x.median().item())
    assert math.isnan(ebb.zeros(0).median().item()) and math.isnan(
        ebb.zeros(0, 2).nanmedian().item()
    )
    found = x.median(1)
    assert math.isnan(found.values[0].item()) and found.indices.tolist() == [1, 1]
    assert found.values[1].item() == 2
    assert ebb.autograd.grad([x.median()], [x])[0].tolist() == [[0, 1, 0], [0, 0, 0]]
    even = ebb.tensor([4.0, 1.0, 3.0, 2.0])
    assert even.median().item() == 2


def test_gradients_go_where_the_elements_were():
    x = ebb.tensor([[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]], requires_grad=True)
    weight = ebb.tensor([1.0, 10.0, 100.0])
    grads = ebb.autograd.grad([(x.sort(1, True).values * weight).sum()], [x])
    assert grads[0].tolist() == [[1.0, 100.0, 10.0], [10.0, 1.0, 100.0]]
    grads = ebb.autograd.grad([(x.topk(2, 1).values * weight[:2]).sum()], [x])
    assert grads[0].tolist() == [[1.0, 0.0, 10.0], [10.0, 1.0, 0.0]]


@pytest.mark.parametrize("right", [False, True])
def test_searches_match_numpy(right):
    edges = np.sort(RNG.integers(0, 20, 12)).astype(np.float32)
    values = RNG.integers(-2, 22, (5, 7)).astype(np.float32)
    wanted = np.searchsorted(edges, values, "right" if right else "left")
    found = ebb.searchsorted(ebb.tensor(edges), ebb.tensor(values), right=right)
    assert (found.numpy() == wanted).all() and found.dtype == ebb.int64
    found = ebb.bucketize(ebb.tensor(values), ebb.tensor(edges), right=right, out_int32=True)
    assert (found.numpy() == wanted).all() and found.dtype == ebb.int32
    lines = np.sort(RNG.integers(0, 20, (5, 9)), 1).astype(np.float32)
    found = ebb.searchsorted(ebb.tensor(lines), ebb.tensor(values), right=right).numpy()
    for line, row, got in zip(lines, values, found, strict=True):
        assert (got == np.searchsorted(line, row, "right" if right else "left")).all()
    assert ebb.searchsorted(ebb.zeros(0), ebb.ones(2)).tolist() == [0, 0]


@pytest.mark.parametrize("shape", [(200001,), (3, 70000), (70000, 3), (5, 6, 70)])
def test_running_sums_of_long_lines_are_accurate(shape):
    values = RNG.standard_normal(shape).astype(np.float32)
    x = ebb.tensor(values, requires_grad=True)
    for dim in range(len(shape)):
        out = x.cumsum(dim)
        wanted = np.cumsum(values.astype(np.float64), dim)
        np.testing.assert_allclose(out.detach().numpy(), wanted, rtol=1e-6, atol=1e-4)
        (found,) = ebb.autograd.grad([out.sum()], [x])
        counts = np.arange(shape[dim], 0, -1, dtype=np.float64)
        shaped = counts.reshape([-1 if one == dim else 1 for one in range(len(shape))])
        np.testing.assert_allclose(found.numpy(), np.broadcast_to(shaped, shape), rtol=1e-6)


def test_scans_of_a_single_number_are_itself():
    x = ebb.tensor(3.0, requires_grad=True)
    assert x.cumsum(0).item() == x.cumprod(-1).item() == 3.0
    assert ebb.autograd.grad([x.cumprod(0)], [x])[0].item() == 1.0


def test_derivatives_of_a_running_product_with_zeros_are_exact():
    x = ebb.tensor([2.0, 0.0, 3.0, 0.0, 5.0], dtype=ebb.float64, requires_grad=True)
    assert ebb.autograd.gradcheck(lambda v: v.cumprod(0), [x])
    assert ebb.autograd.gradgradcheck(lambda v: v.cumprod(0), [x])


LONG = {
    "float32": lambda rng, n: rng.standard_normal(n).astype("f4"),
    "float64": lambda rng, n: rng.standard_normal(n),
    "NaN": lambda rng, n: np.where(rng.random(n) > 0.9, np.nan, rng.integers(0, 5, n)),
    "zeros": lambda rng, n: rng.choice(np.array([0, -0.0, np.nan, -1e-45, 2], "f4"), n),
    "equal": lambda rng, n: np.zeros(n, "f4"),
    "int32": lambda rng, n: rng.integers(-(2**31), 2**31, n).astype("i4"),
    "few": lambda rng, n: rng.integers(0, 3, n),
    "int64": lambda rng, n: rng.integers(-(2**62), 2**62, n),
    "int16": lambda rng, n: rng.integers(-3000, 3000, n).astype("i2"),
    "int8": lambda rng, n: rng.integers(-100, 100, n).astype("i1"),
    "uint8": lambda rng, n: rng.integers(0, 200, n).astype("u1"),
    "bool": lambda rng, n: rng.random(n) > 0.5,
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("count", [300, 1024, 1025, 3000, 33000, 70000])
def test_long_lines_are_sorted_and_searched_as_in_numpy(name, count):
    array = LONG[name](np.random.default_rng(count), count)
    x = ebb.tensor(array)
    order = np.argsort(array, kind="stable")
    values, indices = x.sort()
    assert np.array_equal(indices.numpy(), order)
    assert np.array_equal(values.numpy(), array[order], equal_nan=array.dtype.kind == "f")
    descending = x.sort(descending=True).indices.tolist()
    for k in (1, 10, count // 3, count - 1):
        assert x.topk(k, largest=False).indices.tolist() == order[:k].tolist()
        assert x.topk(k).indices.tolist() == descending[:k]
        assert x.kthvalue(k).indices.item() == order[k - 1]
    is_nan = array != array
    middle = np.argmax(is_nan) if is_nan.any() else order[(count - 1) // 2]
    assert x.median(0).indices.item() == middle
    pairs = np.stack([array, array[::-1]], 1)
    lines = ebb.tensor(pairs)  # strided
    assert np.array_equal(lines.sort(0).indices.numpy(), np.argsort(pairs, 0, kind="stable"))
    assert lines.median(0).indices[0].item() == middle
    for k in (1, count // 3, count):
        places = np.argsort(pairs, 0, kind="stable")[k - 1]
        assert lines.kthvalue(k, 0).indices.tolist() == places.tolist()


# Longer lines are cut into buckets by the digits of their keys: see sort_buckets.h.
BUCKETED = 300_000
LINES = {
    "random": lambda n: RNG.standard_normal(n),
    "few values": lambda n: RNG.integers(-3, 4, n) * 0.1,
    "nan and zeros": lambda n: RNG.choice([np.nan, -0.0, 0.0, np.inf, -1.5], n),
    "one far off": lambda n: np.where(np.arange(n) == n // 3, 1e300, 1 + RNG.random(n)),
    "equal high digits": lambda n: 1 + RNG.integers(0, 50, n) * 2.0**-52 + (np.arange(n) % 2),
    "clusters": lambda n: RNG.integers(1, 21, n) * 3.7 + RNG.integers(0, 50, n) * 2.0**-45,
    "sorted": lambda n: np.sort(RNG.standard_normal(n)),
    "equal": lambda n: np.full(n, 7.25),
}


@pytest.mark.parametrize("name", LINES)
def test_very_long_lines_are_sorted_in_buckets_as_in_numpy(name):
    values = LINES[name](BUCKETED)
    x = ebb.tensor(values)
    for descending in (False, True):
        order = stable_order(values, 0, False)
        if descending:
            order = np.lexsort((np.arange(BUCKETED), -values))
            order = np.concatenate(
                [np.flatnonzero(np.isnan(values)), order[~np.isnan(values[order])]]
            )
        found, indices = ebb.sort(x, descending=descending)
        assert np.array_equal(indices.numpy(), order)
        assert np.array_equal(found.numpy(), values[order], equal_nan=True)
        assert np.array_equal(ebb.argsort(x, descending=descending).numpy(), order)
        wanted = BUCKETED - 7
        found, indices = ebb.topk(x, wanted, largest=descending)
        assert np.array_equal(indices.numpy(), order[:wanted])


@pytest.mark.parametrize("bits", [3, 20, 40, 62])
def test_very_long_columns_of_integers_are_sorted_in_buckets(bits):
    values = RNG.integers(-(2**bits), 2**bits, (BUCKETED, 2))
    for tensor in (ebb.tensor(values), ebb.tensor(np.ascontiguousarray(values.T)).T):
        found, indices = ebb.sort(tensor, 0)
        order = np.argsort(values, 0, kind="stable")
        assert np.array_equal(indices.numpy(), order)
        assert np.array_equal(found.numpy(), np.take_along_axis(values, order, 0))


@pytest.mark.parametrize("dtype", ["float16", "int32", "float32"])
def test_short_numbers_are_sorted_in_buckets_as_well(dtype):
    values = (RNG.standard_normal(2_200_000) * 1000).astype(dtype)
    found, indices = ebb.sort(ebb.tensor(values))
    order = np.argsort(values, kind="stable")
    assert np.array_equal(indices.numpy(), order)
    assert np.array_equal(found.numpy(), values[order])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("shape", "dim"), [((100000,), 0), ((3, 50000), 1), ((50000, 3), 0)])
def test_logsumexp_of_long_lines_agrees_with_numpy(dtype, shape, dim):
    x = ebb.randn(*shape).to(getattr(ebb, dtype))
    wanted = np.log(np.exp(x.double().numpy()).sum(dim))
    rtol = 1e-3 if dtype == "float16" else 1e-6
    assert np.allclose(x.logsumexp(dim).double().numpy(), wanted, rtol=rtol)


def few_of_many(dtype, count, kind):
    """Elements with many ties, in a rising or a falling line, or drawn."""
    steps = np.arange(count)
    values = {"rising": steps, "falling": -steps, "drawn": RNG.integers(-count, count, count)}[kind]
    values = values // 3 if dtype.startswith("float") else values % 100
    return ebb.tensor(values.copy()).to(getattr(ebb, dtype))


@pytest.mark.parametrize("kind", ["rising", "falling", "drawn"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize(("count", "wanted"), [(66, 1), (65, 2), (201, 100), (5000, 40)])
def test_the_first_few_of_many_are_those_of_a_stable_sort(kind, dtype, count, wanted):
    x = few_of_many(dtype, count, kind)
    lines = ebb.stack([x, x.flip(0)], 1)  # strided
    for largest in (True, False):
        for line in (x, lines[:, 1]):
            order = line.sort(descending=largest, stable=True)[1][:wanted]
            values, places = line.topk(wanted, largest=largest)
            assert places.tolist() == order.tolist()
            assert values.tolist() == line[order].tolist()
    several = lines.topk(wanted, 0)[1]
    assert several[:, 0].tolist() == x.topk(wanted)[1].tolist()


def test_the_first_few_of_lines_of_one_value_nan_or_infinity():
    for value in (0.0, math.inf, -math.inf, math.nan):
        x = ebb.full([300], value)
        for largest in (True, False):
            assert x.topk(5, largest=largest)[1].tolist() == [0, 1, 2, 3, 4]
    x = ebb.arange(300.0)
    x[[7, 290]] = math.nan
    x[100] = -math.inf
    assert x.topk(3)[1].tolist() == [7, 290, 299]
    assert x.topk(3, largest=False)[1].tolist() == [100, 0, 1]


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32"])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 1000])
def test_searches_of_lines_of_any_length_are_numpys(dtype, count):
    edges = ebb.tensor(np.sort(RNG.integers(0, 50, count))).to(getattr(ebb, dtype))
    wanted = ebb.tensor(RNG.integers(-1 if dtype != "uint8" else 0, 52, 97)).to(edges.dtype)
    for side in ("left", "right"):
        found = ebb.searchsorted(edges, wanted, side=side)
        assert found.tolist() == np.searchsorted(edges.numpy(), wanted.numpy(), side).tolist()
    lines = ebb.stack([edges, edges + 1])
    found = ebb.searchsorted(lines, ebb.stack([wanted, wanted]))
    for line, places in zip(lines, found, strict=True):
        assert places.tolist() == np.searchsorted(line.numpy(), wanted.numpy()).tolist()


def test_searches_find_places_of_nan_infinities_and_zeros():
    edges = ebb.tensor([-math.inf, -0.0, 0.0, 1.0, math.inf, math.nan])
    wanted = ebb.tensor([-math.inf, -0.0, 0.0, math.inf, math.nan])
    assert ebb.searchsorted(edges, wanted).tolist() == [0, 1, 1, 4, 5]
    assert ebb.searchsorted(edges, wanted, right=True).tolist() == [1, 3, 3, 5, 6]
