# tests/python/ops/test_cat_nothing.py -- cat() of tensors of shape [0], which go with any others,
# as in PyTorch: programs begin a list with one.
import pytest

import ebb

NOTHING = [(0,), (0, 2), (2, 0), (1, 0), (0, 0)]


@pytest.mark.parametrize("where", ["first", "between", "last", "twice"])
@pytest.mark.parametrize("dim", [0, 1, -1, -2])
@pytest.mark.parametrize("dtype", [ebb.float32, ebb.float64, ebb.complex64])
def test_values_and_gradients_are_those_of_the_others(where, dim, dtype):
    parts = [ebb.rand(2, 3, dtype=dtype, requires_grad=True) for _ in range(2)]
    nothing = [ebb.empty(0, dtype=dtype, requires_grad=True) for _ in range(2)]
    listed = {
        "first": [nothing[0], *parts],
        "between": [parts[0], nothing[0], parts[1]],
        "last": [*parts, nothing[0]],
        "twice": [nothing[0], parts[0], nothing[1], parts[1]],
    }[where]
    got, wanted = ebb.cat(listed, dim), ebb.cat(parts, dim)
    assert got.tolist() == wanted.tolist()
    seed = ebb.rand_like(wanted.detach())
    found = ebb.autograd.grad(got, [*parts, nothing[0]], seed)
    expected = ebb.autograd.grad(wanted, parts, seed)
    assert [one.tolist() for one in found[:2]] == [one.tolist() for one in expected]
    assert found[2].shape == (0,)
    out = ebb.empty(wanted.shape, dtype=dtype)
    with ebb.no_grad():
        assert ebb.cat(listed, dim, out=out).tolist() == wanted.tolist()


def test_second_derivatives_and_tangents_pass():
    x, nothing = ebb.ones(2, 2, dtype=ebb.float64), ebb.empty(0, dtype=ebb.float64)
    x.requires_grad_()
    assert ebb.autograd.gradgradcheck(lambda t: ebb.cat([nothing, t * t * t], 1), x)
    _, tangent = ebb.func.jvp(lambda t: ebb.cat([nothing, t], 1), (x.detach(),), (x.detach(),))
    assert tangent.tolist() == [[1, 1], [1, 1]]


def test_its_dtype_counts_and_its_device():
    joined = ebb.cat([ebb.empty(0), ebb.ones(2, 3, dtype=ebb.int64)])
    assert joined.dtype is ebb.float32 and joined.shape == (2, 3)
    meta = ebb.cat([ebb.empty(0, device="meta"), ebb.empty(2, 3, device="meta")], 1)
    assert meta.is_meta and meta.shape == (2, 3)
    with pytest.raises(ebb.Error, match="cat"):
        ebb.cat([ebb.empty(0, device="meta"), ebb.ones(2, 3)], 1)


def test_alone_they_are_joined_as_they_are():
    nothing = ebb.empty(0)
    assert ebb.cat([nothing, nothing]).shape == (0,)
    assert ebb.cat([nothing, ebb.ones(2)]).tolist() == [1, 1]
    with pytest.raises(IndexError, match="cat: dim must be"):
        ebb.cat([nothing, nothing], 1)


@pytest.mark.parametrize("shape", [one for one in NOTHING if one not in ((0,),)], ids=str)
def test_other_empty_ones_must_fit(shape):
    other = ebb.ones(3, 4, 5)
    with pytest.raises(ValueError, match=r"cat: shapes must agree but for dim 0, got \[3, 4, 5\]"):
        ebb.cat([other, ebb.empty(shape)])


def test_one_place_is_not_nothing():
    with pytest.raises(ValueError, match=r"got \[1\] at position 0 and \[2, 3\] at position 1"):
        ebb.cat([ebb.ones(1), ebb.ones(2, 3)])
    with pytest.raises(ValueError, match=r"tensors\[1\] needs at least 1 dims"):
        ebb.cat([ebb.empty(0), ebb.tensor(1.0)])
