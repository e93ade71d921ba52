# tests/python/ops/places/test_segments.py -- segment_reduce beside slices, hash_tensor beside
# NumPy.
import itertools
import math

import numpy as np
import pytest

import ebb

RANDOM = np.random.default_rng(11)
REDUCTIONS = {
    "sum": (np.sum, 0.0),
    "mean": (lambda x, axis: x.mean(axis) if x.shape[axis] else x.sum(axis) + math.nan, math.nan),
    "prod": (np.prod, 1.0),
    "max": (lambda x, axis: np.max(x, axis, initial=-math.inf), -math.inf),
    "min": (lambda x, axis: np.min(x, axis, initial=math.inf), math.inf),
}


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("lengths", [[7], [2, 0, 5], [0, 3, 1, 3], [1] * 7, [0, 7, 0]])
@pytest.mark.parametrize("shape", [(7,), (7, 3), (7, 2, 0)])
def test_each_segment_is_reduced(reduce, lengths, shape):
    data = RANDOM.normal(size=shape)
    ends = [0, *itertools.accumulate(lengths)]
    of = REDUCTIONS[reduce][0]
    wanted = np.stack([of(data[low:high], 0) for low, high in itertools.pairwise(ends)])
    by_lengths = ebb.segment_reduce(ebb.tensor(data), reduce, lengths=ebb.tensor(lengths))
    by_offsets = ebb.segment_reduce(ebb.tensor(data), reduce, offsets=ebb.tensor(ends))
    np.testing.assert_allclose(by_lengths.numpy(), wanted, rtol=1e-12)
    np.testing.assert_array_equal(by_offsets.numpy(), by_lengths.numpy())


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_along_another_axis_each_slice_has_lengths_of_its_own(reduce):
    data, lengths = RANDOM.normal(size=(2, 5, 3)), [[2, 3], [5, 0]]
    found = ebb.segment_reduce(ebb.tensor(data), reduce, lengths=ebb.tensor(lengths), axis=-2)
    for place, row in enumerate(lengths):
        one = ebb.segment_reduce(ebb.tensor(data[place]), reduce, lengths=ebb.tensor(row))
        np.testing.assert_array_equal(found[place].numpy(), one.numpy())


def test_a_segment_may_start_with_a_number():
    data, lengths = ebb.tensor([1.0, 4.0]), ebb.tensor([0, 2])
    assert ebb.segment_reduce(data, "max", lengths=lengths, initial=3.0).tolist() == [3.0, 4.0]
    assert ebb.segment_reduce(data, "mean", lengths=lengths, initial=1.0).tolist() == [1.0, 3.0]


def test_gradients_reach_the_data():
    data = ebb.tensor(RANDOM.normal(size=(6, 2)), requires_grad=True)
    for reduce in REDUCTIONS:
        assert ebb.autograd.gradcheck(
            lambda x, name=reduce: ebb.segment_reduce(x, name, lengths=ebb.tensor([2, 4])), data
        )


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x, n: ebb.segment_reduce(x, "sum", lengths=n(2)), ValueError, "cover all 3 places"),
        (lambda x, n: ebb.segment_reduce(x, "sum", lengths=n(4, -1)), ValueError, "negative"),
        (lambda x, n: ebb.segment_reduce(x, "sum"), ValueError, "needs lengths or offsets"),
        (lambda x, n: ebb.segment_reduce(x, "any", lengths=n(3)), ValueError, "reduce must be"),
        (lambda x, n: ebb.segment_reduce(x, "sum", lengths=n(3), axis=1), IndexError, "axis 1"),
        (lambda x, n: ebb.segment_reduce(x, "sum", lengths=x), TypeError, "int64 or int32"),
        (lambda x, n: ebb.segment_reduce(n(1), "sum", lengths=n(1)), TypeError, "floating dtype"),
        (lambda x, n: ebb.segment_reduce(x, "sum", lengths=n([3])), ValueError, "shape of data"),
        (
            lambda x, n: ebb.segment_reduce(x, "sum", indices=n(0)),
            NotImplementedError,
            "indices None",
        ),
    ],
)
def test_what_is_no_segment_is_refused(call, error, text):
    with pytest.raises(error, match=f"segment_reduce: .*{text}"):
        call(ebb.ones(3), lambda *values: ebb.tensor(list(values)))


def bits_of(values):
    kind = np.float64 if values.dtype.kind == "f" else np.int64
    return values.astype(kind).view(np.uint64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8, np.bool_])
@pytest.mark.parametrize("dim", [(), 0, -1, (0, 2)])
def test_bits_are_joined_by_exclusive_or(dtype, dim):
    values = (RANDOM.normal(size=(3, 4, 5)) * 10).astype(dtype)
    axes = tuple(range(3)) if dim == () else dim
    for keepdim in (False, True):
        wanted = np.bitwise_xor.reduce(bits_of(values), axis=axes, keepdims=keepdim)
        found = ebb.hash_tensor(ebb.tensor(values), dim, keepdim=keepdim)
        assert found.dtype is ebb.uint64
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_a_hash_is_pytorchs_and_of_nothing_zero():
    assert ebb.tensor([1.0, 2.0, 3.0]).hash_tensor().item() == 4609434218613702656
    assert ebb.hash_tensor(ebb.ones(0, 2), 0).tolist() == [0, 0]
    with pytest.raises(TypeError, match="hash_tensor: input"):
        ebb.hash_tensor(ebb.ones(2, dtype=ebb.complex64))
    with pytest.raises(ValueError, match="mode must be 0"):
        ebb.hash_tensor(ebb.ones(2), mode=1)
