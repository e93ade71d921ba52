# tests/python/ops/statistics/test_statistics.py -- places of the order, what occurs most often:
# against NumPy.
import itertools

import numpy as np
import pytest

import ebb

METHODS = ["linear", "lower", "higher", "midpoint", "nearest"]
SHARES = [0.0, 0.1, 0.25, 0.5, 0.77, 1.0]


def draw(shape, dtype="float64", nans=False):
    x = np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)
    if nans:
        x[np.random.default_rng(1).random(shape) < 0.3] = np.nan
    return x


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "shape, dim", [((1,), None), ((9,), 0), ((3, 4), None), ((3, 4), 0), ((2, 5, 3), 1)]
)
@pytest.mark.parametrize("nans", [False, True])
def test_quantiles_follow_numpy(nans, shape, dim, method):
    x = draw(shape, nans=nans)
    for q, keepdim in itertools.product([0.3, SHARES], [False, True]):
        for name in ("quantile", "nanquantile"):
            got = getattr(ebb, name)(
                ebb.tensor(x),
                q if isinstance(q, float) else ebb.tensor(q, dtype=ebb.float64),
                dim,
                keepdim,
                interpolation=method,
            )
            with np.testing.suppress_warnings() as quiet:
                quiet.filter(RuntimeWarning)
                wanted = getattr(np, name)(x, q, dim, keepdims=keepdim, method=method)
            np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-12, err_msg=name)


def test_quantiles_between_infinite_elements_are_infinite():
    x = ebb.tensor([np.inf, np.inf, -np.inf, -np.inf])
    assert x.quantile(ebb.tensor([0.1, 0.9])).tolist() == [-np.inf, np.inf]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_quantiles_of_many_elements_name_the_right_place(name):
    dtype = getattr(ebb, name)
    x = ebb.arange(70001, dtype=ebb.float32)
    got = (x % 97).to(dtype).quantile(0.999, interpolation="nearest")
    assert got.item() == 96 and got.dtype is dtype


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_nanmedian_and_nanmean_leave_nan_out(dim):
    x = draw((5, 4), nans=True)
    x[:, 1] = x[2] = np.nan
    values, indices = ebb.nanmedian(ebb.tensor(x), dim)
    lines = np.moveaxis(x, dim, -1)
    for line, value, index in zip(lines, values.tolist(), indices.tolist(), strict=True):
        kept = np.sort(line[line == line])
        wanted = kept[(len(kept) - 1) // 2] if len(kept) else np.nan
        np.testing.assert_equal(value, wanted)
        np.testing.assert_equal(line[index], wanted)
    with np.testing.suppress_warnings() as quiet:
        quiet.filter(RuntimeWarning)
        np.testing.assert_allclose(ebb.nanmean(ebb.tensor(x), dim), np.nanmean(x, dim))
    whole = np.sort(x[x == x])
    assert ebb.tensor(x).nanmedian().item() == whole[(len(whole) - 1) // 2]


def test_nan_gets_no_gradient():
    x = ebb.tensor([np.nan, 3.0, 1.0, 2.0], requires_grad=True)
    (x.nanmedian() + x.nanmean() * 3).backward()
    assert x.grad.tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32"])
@pytest.mark.parametrize(
    "shape, dim", [((), -1), ((1,), 0), ((9,), 0), ((7, 3), 0), ((2, 3, 8), 1)]
)
def test_the_mode_is_the_smallest_of_the_most_frequent(shape, dim, dtype):
    x = np.random.default_rng(0).integers(0, 3, shape).astype(dtype)
    for keepdim in (False, True):
        values, indices = ebb.mode(ebb.tensor(x), dim, keepdim)
        lines = np.moveaxis(np.atleast_1d(x), dim, -1).reshape(-1, np.atleast_1d(x).shape[dim])
        for line, value, index in zip(
            lines, values.reshape(-1).tolist(), indices.reshape(-1).tolist(), strict=True
        ):
            kinds, counts = np.unique(line, return_counts=True)
            assert value == kinds[np.argmax(counts)]
            assert index == np.flatnonzero(line == value)[-1]
        wanted = list(shape)
        if shape:
            wanted[dim : dim + 1] = [1] if keepdim else []
        assert list(values.shape) == list(indices.shape) == wanted


def test_aminmax_names_both():
    found = ebb.aminmax(ebb.tensor([[3, 1], [2, 5]]), dim=0)
    assert found.min.tolist() == [2, 1] and found.max.tolist() == [3, 5]
    assert [one.item() for one in ebb.tensor([3, 1]).aminmax()] == [1, 3]


def test_weights_of_observations_follow_numpy():
    x, counts = draw((3, 6)), np.array([1, 2, 0, 3, 1, 1])
    shares = np.abs(draw((6,))) + 0.1
    for correction in (0, 1):
        got = ebb.cov(ebb.tensor(x), correction=correction, fweights=ebb.tensor(counts),
                      aweights=ebb.tensor(shares))  # fmt: skip
        wanted = np.cov(x, ddof=correction, fweights=counts, aweights=shares)
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
    assert ebb.corrcoef(ebb.tensor([1.0, 2.0])).item() == 1.0


FLOATING = [ebb.float16, ebb.bfloat16, ebb.float32, ebb.float64]


@pytest.mark.parametrize("input", [*FLOATING, ebb.int32])
@pytest.mark.parametrize("weights", FLOATING)
def test_covariances_have_the_dtype_of_observations_and_weights_together(input, weights):
    observed, counted = ebb.arange(6).reshape(2, 3).to(input), ebb.ones(3, dtype=weights)
    found = ebb.cov(observed, aweights=counted)
    assert found.dtype == ebb.promote_types(input, weights)
    assert found.tolist() == [[1, 1], [1, 1]]
    assert ebb.cov(observed, fweights=ebb.ones(3, dtype=ebb.int64)).dtype == (
        ebb.float32 if input == ebb.int32 else input
    )
