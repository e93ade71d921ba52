# tests/python/indexing/test_index_more.py -- what an index puts together; elements by their place.
import numpy as np
import pytest

import ebb

REDUCES = ["sum", "prod", "mean", "amax", "amin"]


def slow(x, index, src, reduce, include_self):
    """Return the result along dim 0, and for each place how many elements share an extremum."""
    out = x.copy()
    for at in np.ndindex(x.shape):
        given = [src[(i, *at[1:])] for i in range(len(index)) if index[(i, *at[1:])] == at[0]]
        if not given:
            continue
        values = np.array([x[at], *given] if include_self else given)
        out[at] = getattr(np, reduce)(values)
    return out


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCES)
def test_ties_nan_and_infinities_are_joined_as_numpy_does(reduce, include_self):
    rng = np.random.default_rng(3)
    x, src = (rng.choice([0.0, 1, 2, -1, np.inf, np.nan], n) for n in [(4, 50), (9, 50)])
    index = rng.integers(0, 4, (9, 50))
    with np.errstate(invalid="ignore"):
        wanted = slow(x, index, src, reduce, include_self)
    t = ebb.tensor(x)
    got = t.scatter_reduce(0, ebb.tensor(index), ebb.tensor(src), reduce, include_self=include_self)
    np.testing.assert_allclose(got, wanted, rtol=1e-12)
    assert (
        t.scatter_reduce_(0, ebb.tensor(index), ebb.tensor(src), reduce, include_self=include_self)
        is t
    )
    np.testing.assert_array_equal(t, got)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "bfloat16", "float16"])
@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_extrema_of_every_dtype_reach_its_ends(reduce, dtype):
    kind = getattr(ebb, dtype)
    info = ebb.iinfo(kind) if dtype[0] in "iu" else ebb.finfo(kind)
    x = ebb.tensor([1, 1], dtype=kind)
    src = ebb.tensor([info.min, info.max], dtype=kind)
    got = x.scatter_reduce(0, ebb.tensor([0, 0]), src, reduce, include_self=False)
    assert got.tolist() == [info.max if reduce == "amax" else info.min, 1]


def test_equal_extrema_share_the_gradient():
    x = ebb.tensor([2.0, 0.0], requires_grad=True)
    src = ebb.tensor([2.0, 1.0, 2.0, -1.0], requires_grad=True)
    x.scatter_reduce(0, ebb.tensor([0, 0, 0, 1]), src, "amax").sum().backward()
    np.testing.assert_allclose(x.grad, [1 / 3, 1])
    np.testing.assert_allclose(src.grad, [1 / 3, 0, 1 / 3, 0])


def test_products_have_gradients_at_zeros():
    x = ebb.tensor([2.0, 3.0, 5.0], requires_grad=True)
    src = ebb.tensor([0.0, 4.0, 0.0, 0.0, 7.0], requires_grad=True)
    index = ebb.tensor([0, 0, 1, 1, 2])
    x.scatter_reduce(0, index, src, "prod").sum().backward()
    assert x.grad.tolist() == [0, 0, 7]
    assert src.grad.tolist() == [8, 0, 0, 0, 5]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_any_number_of_threads_joins_alike(threads):
    src, index = ebb.randn([100000]), ebb.randint(0, 50, [100000])
    ebb.set_num_threads(threads)
    got = [ebb.ones(50).scatter_reduce(0, index, src, one).tolist() for one in REDUCES]
    ebb.set_num_threads(1)
    wanted = [ebb.ones(50).scatter_reduce(0, index, src, one).tolist() for one in REDUCES]
    assert got == wanted


def test_places_count_in_row_major_order_from_either_end():
    x = ebb.arange(12).reshape(3, 4).t()
    index = ebb.tensor([[0, -1], [5, -12]])
    flat = x.numpy().reshape(-1)
    np.testing.assert_array_equal(x.take(index), flat[index.numpy()])
    y = x.clone()
    assert y.put_(index, -ebb.ones([2, 2], dtype=ebb.int64)) is y
    flat = flat.copy()
    flat[index.numpy()] = -1
    np.testing.assert_array_equal(y.numpy().reshape(-1), flat)


@pytest.mark.parametrize("shape", [(3, 4), (4,), (1, 1)])
def test_masked_places_take_elements_in_their_order(shape):
    mask = np.random.default_rng(0).random(shape) < 0.5
    x, source = np.zeros((3, 4)), np.arange(1.0, 13)
    wanted = x.copy()
    wanted[np.broadcast_to(mask, x.shape)] = source[: np.broadcast_to(mask, x.shape).sum()]
    t, s = ebb.tensor(x), ebb.tensor(source, requires_grad=True)
    got = t.masked_scatter(ebb.tensor(mask), s)
    np.testing.assert_array_equal(got.detach(), wanted)
    got.sum().backward()
    assert s.grad.sum().item() == np.broadcast_to(mask, x.shape).sum()
    t.masked_scatter_(ebb.tensor(mask), s.detach())
    np.testing.assert_array_equal(t, wanted)


def test_writing_in_place_keeps_the_gradient_of_what_was_there():
    x = ebb.tensor([3.0, 4.0], requires_grad=True)
    y = x * 1
    y.scatter_reduce_(0, ebb.tensor([0, 0]), ebb.tensor([2.0, 5.0]), "prod")
    y.sum().backward()
    assert x.grad.tolist() == [10, 1]
