# tests/python/ops/places/test_sets.py -- which values there are and how often, against NumPy.
import itertools

import numpy as np
import pytest

import ebb

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
SHAPES = [(0,), (), (1,), (9,), (3, 4), (2, 3, 4), (0, 3), (3, 0), (500,)]


def draw(shape, dtype, seed=0):
    return np.random.default_rng(seed).integers(0, 4, shape).astype(dtype)


def check(got, wanted):
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(one.numpy(), other)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_unique_elements_with_their_places_and_counts(shape, dtype):
    x = draw(shape, dtype)
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(shape)
    t = ebb.tensor(x)
    got = ebb.unique(t, return_inverse=True, return_counts=True)
    check(got, (values, inverse, counts))
    assert got[0].dtype is t.dtype and got[1].dtype is got[2].dtype is ebb.int64
    check([t.unique()], [values])
    check(t.unique(return_inverse=True), (values, inverse))
    check(t.unique(False, False, True), (values, counts))


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool"])
@pytest.mark.parametrize("shape", [(4,), (6, 2), (2, 3, 4), (40, 3), (0, 3), (1, 2)])
def test_unique_slices_along_a_dim(shape, dtype):
    x = draw(shape, dtype) // 2
    for dim in range(-len(shape), len(shape)):
        wanted = np.unique(x, return_inverse=True, return_counts=True, axis=dim)
        check(
            ebb.unique(ebb.tensor(x), return_inverse=True, return_counts=True, dim=dim),
            (wanted[0], wanted[1].reshape(-1), wanted[2]),
        )


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "uint32"])
@pytest.mark.parametrize("shape", SHAPES)
def test_runs_of_equal_elements(shape, dtype):
    x = np.sort(draw(shape, dtype), axis=None).reshape(shape)
    x = x[::-1] if x.ndim and len(x) else x
    groups = [list(group) for _, group in itertools.groupby(x.reshape(-1).tolist())]
    values = np.array([group[0] for group in groups], x.dtype)
    inverse = [number for number, group in enumerate(groups) for _ in group]
    t = ebb.tensor(np.ascontiguousarray(x))
    check(
        ebb.unique_consecutive(t, return_inverse=True, return_counts=True),
        (values, np.array(inverse, np.int64).reshape(shape), [len(group) for group in groups]),
    )


def test_runs_of_equal_slices():
    x = ebb.tensor([[1, 1, 2, 1], [3, 3, 3, 3]])
    check(
        x.unique_consecutive(return_inverse=True, return_counts=True, dim=1),
        ([[1, 2, 1], [3, 3, 3]], [0, 0, 1, 2], [2, 1, 1]),
    )


def test_every_nan_is_a_value_of_its_own():
    x = ebb.tensor([np.nan, 1.0, np.nan, -np.inf])
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(values, [-np.inf, 1, np.nan, np.nan])
    assert inverse.tolist() == [2, 1, 3, 0] and counts.tolist() == [1, 1, 1, 1]
    assert x[::2].unique_consecutive().numel() == 2


def test_sets_read_any_layout():
    x = ebb.tensor([[2.0, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(x.t().unique().numpy(), [1, 2])
    big = ebb.arange(20).reshape(4, 5)[:, ::2]
    np.testing.assert_array_equal(big.unique(), np.unique(big.numpy()))


@pytest.mark.parametrize("pair", list(itertools.product(["int32", "float64", "bool"], repeat=2)))
def test_membership_of_other_dtypes(pair):
    x, others = draw((3, 5), pair[0]), draw((4,), pair[1], 1)
    for invert in (False, True):
        got = ebb.isin(ebb.tensor(x), ebb.tensor(others), invert=invert)
        np.testing.assert_array_equal(got, np.isin(x, others, invert=invert))


def test_nan_is_among_nothing():
    x = ebb.tensor([np.nan, np.inf, 1.0])
    assert ebb.isin(x, ebb.tensor([np.nan, np.inf])).tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("minlength", [0, 3, 9])
def test_counts_of_numbers(minlength, dtype):
    x = draw(60, dtype)
    got = ebb.bincount(ebb.tensor(x), minlength=minlength)
    np.testing.assert_array_equal(got, np.bincount(x, minlength=minlength))
    assert got.dtype is ebb.int64
    assert (
        ebb.bincount(ebb.zeros(0, dtype=ebb.int64), minlength=minlength).tolist() == [0] * minlength
    )


@pytest.mark.parametrize("kind, sums", [("float32", "float32"), ("int64", "float64")])
def test_weights_are_added_where_their_number_occurs(kind, sums):
    x, weights = draw(60, "int64"), draw(60, kind, 1)
    got = ebb.bincount(ebb.tensor(x), ebb.tensor(weights), 6)
    np.testing.assert_array_equal(got, np.bincount(x, weights, 6))
    assert got.dtype is getattr(ebb, sums)


def test_weights_get_gradients():
    weights = ebb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    ebb.bincount(ebb.tensor([2, 0, 2]), weights)[2].backward()
    assert weights.grad.tolist() == [1, 0, 1]


@pytest.mark.parametrize("dim", [None, 0])
@pytest.mark.parametrize("function", [ebb.unique, ebb.unique_consecutive])
def test_derivatives_of_sets_are_refused_where_they_are_asked_for(function, dim):
    x = ebb.tensor([2.0, 1.0, 1.0], requires_grad=True)
    values, inverse = function(x, return_inverse=True, dim=dim)
    assert values.requires_grad and not inverse.requires_grad
    text = f"{function.__name__}: the derivative to `input` is not implemented"
    with pytest.raises(ebb.errors.NotImplementedError, match=text):
        values.sum().backward()
    assert not function(x.detach(), dim=dim).requires_grad
