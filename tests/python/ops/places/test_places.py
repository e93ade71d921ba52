# tests/python/ops/places/test_places.py -- windows, coordinates, searches and tensors made by
# others, where a row of the table cannot say what is wanted. Numbers are NumPy's.
"""unfold, where, searchsorted, repeat_interleave, and functions that make tensors."""

import numpy as np
import pytest

import ebb


def test_windows_are_a_view_whose_gradients_add_up():
    x = ebb.arange(5.0, requires_grad=True)
    windows = x.unfold(0, 3, 1)
    assert windows._base is x and windows.stride() == (1, 1)
    (windows * windows).sum().backward()
    assert x.grad.tolist() == [0.0, 4.0, 12.0, 12.0, 8.0]
    columns = ebb.arange(12.0).reshape(3, 4).t()
    wanted = np.lib.stride_tricks.sliding_window_view(columns.numpy(), 2, 1)[:, ::1]
    assert columns.unfold(1, 2, 1).tolist() == wanted.tolist()
    doubles = ebb.rand(2, 6, dtype=ebb.float64, requires_grad=True)
    assert ebb.autograd.gradcheck(lambda a: a.unfold(1, 3, 2).sin(), doubles)
    assert ebb.autograd.gradgradcheck(lambda a: a.unfold(-1, 3, 2).sin(), doubles)
    with pytest.raises(ebb.ShapeError, match=r"^unfold: size must be from 0 to 5"):
        x.unfold(0, 6, 1)


def test_where_takes_a_method_numbers_and_a_condition_alone():
    x = ebb.tensor([[1.0, -2.0], [0.0, 4.0]])
    assert x.where(x > 0, 0).tolist() == [[1.0, 0.0], [0.0, 4.0]]
    assert ebb.where(x > 0, 1, 2).dtype == ebb.int64
    assert ebb.where(x > 0, 1.0, 2).tolist() == [[1.0, 2.0], [2.0, 1.0]]
    rows, columns = ebb.where(x)
    assert (rows.tolist(), columns.tolist()) == ([0, 0, 1], [0, 1, 1])


def test_searches_take_a_side_a_sorter_and_numbers():
    line = ebb.tensor([3, 1, 2, 2])
    order = line.argsort()
    edges = line[order]
    for side in ("left", "right"):
        wanted = np.searchsorted(edges.numpy(), [0, 2, 5], side).tolist()
        values = ebb.tensor([0, 2, 5])
        assert ebb.searchsorted(edges, values, side=side).tolist() == wanted
        assert ebb.searchsorted(line, values, side=side, sorter=order).tolist() == wanted
        assert ebb.searchsorted(edges, 2, side=side).item() == wanted[1]
    assert ebb.bucketize(2, edges, right=True).item() == 3


def test_repeats_by_a_tensor():
    x = ebb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    out = x.repeat_interleave(ebb.tensor([2, 1]), 0, output_size=3)
    assert out.tolist() == [[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]]
    out.sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0], [1.0, 1.0]]
    assert ebb.repeat_interleave(ebb.tensor([1, 0, 3])).tolist() == [0, 2, 2, 2]
    with pytest.raises(
        ebb.errors.ValueError, match="output_size must be the sum of repeats, 4, got 3"
    ):
        x.detach().repeat_interleave(2, 0, output_size=3)


def test_numbers_on_a_logarithmic_scale_and_ranges_that_include_their_end():
    np.testing.assert_allclose(ebb.logspace(-1, 2, 7).numpy(), np.logspace(-1, 2, 7), rtol=1e-6)
    assert ebb.logspace(0, 3, 4, base=2, dtype=ebb.int64).tolist() == [1, 2, 4, 8]
    assert ebb.range(1, 2, 0.5).tolist() == [1.0, 1.5, 2.0]
    assert ebb.range(3, 1, -1, dtype=ebb.int64).tolist() == [3, 2, 1]
    with pytest.raises(ebb.errors.ValueError, match=r"^range: needs a step that leads to end"):
        ebb.range(0, 3, -1)


@pytest.mark.parametrize(("row", "col", "offset"), [(3, 4, 0), (4, 2, 1), (2, 5, -1), (0, 3, 0)])
def test_places_of_triangles(row, col, offset):
    for name in ("tril_indices", "triu_indices"):
        found = getattr(ebb, name)(row, col, offset)
        assert found.tolist() == [list(a) for a in getattr(np, name)(row, offset, col)]
        assert found.dtype == ebb.int64 and found.is_contiguous()


def test_powers_of_a_vector():
    x = ebb.tensor([2.0, 3.0])
    assert ebb.vander(x, 3).tolist() == np.vander([2.0, 3.0], 3).tolist()
    assert ebb.vander(x, 3, increasing=True).tolist() == np.vander([2.0, 3.0], 3, True).tolist()


def test_memory_with_strides_of_its_own():
    x = ebb.empty_strided((2, 3), (1, 4), dtype=ebb.float64, requires_grad=True)
    assert x.stride() == (1, 4) and x.is_leaf and not x._is_view()
    assert ebb.empty_strided((2, 0), (5, 1)).shape == (2, 0)
    assert ebb.empty_permuted((2, 3, 4), (0, 2, 1)).stride() == (12, 1, 3)
    like = x.detach().new_empty_strided((2,), (3,))
    assert like.dtype == ebb.float64 and like.stride() == (3,)
    with pytest.raises(ebb.errors.ValueError, match=r"^empty_permuted: physical_layout must name"):
        ebb.empty_permuted((2, 3), (0, 0))


def test_shapes_broadcast_without_tensors():
    assert ebb.broadcast_shapes((3, 1), 4, (1, 1, 1)) == (1, 3, 4)
    assert ebb.broadcast_shapes() == () and ebb.broadcast_shapes((0,), (1,)) == (0,)
    with pytest.raises(ebb.ShapeError, match=r"^broadcast_shapes: shapes must broadcast together"):
        ebb.broadcast_shapes((2,), (3,))


def test_bytes_are_seen_as_another_dtype():
    x = ebb.tensor([[1.0, -2.0], [0.5, 3.0]])
    for dtype, numpy_dtype in ((ebb.int32, "i4"), (ebb.uint8, "u1"), (ebb.float64, "f8")):
        assert x.view(dtype).tolist() == x.numpy().view(numpy_dtype).tolist()
    bits = x.view(ebb.int32)
    bits[0, 0] = 0
    assert x[0, 0].item() == 0.0 and bits.view(ebb.float32).equal(x)
    assert x[:, 1:].view(ebb.int16).shape == (2, 2)
    assert ebb.ones(2, requires_grad=True).view(ebb.float32).requires_grad is False
    with pytest.raises(ebb.ShapeError, match=r"^view: float64 needs a last size that its bytes"):
        x[:, 1:].view(ebb.float64)


LINES = ((), (1,), (9,), (40_000,))
TABLES = ((1, 1), (7, 1), (1, 7), (300, 200), (200, 3, 70), (0, 3), (3, 0))


@pytest.mark.parametrize("shape", (*LINES, *TABLES), ids=str)
@pytest.mark.parametrize("share", (0.0, 0.02, 0.6, 1.0))
def test_what_is_not_zero_is_found_in_every_shape(shape, share):
    values = np.random.default_rng(3).random(shape) < share
    x = ebb.tensor(values)
    assert np.array_equal(x.nonzero().numpy(), np.argwhere(values))
    if values.ndim > 1:
        assert np.array_equal(x.mT.nonzero().numpy(), np.argwhere(np.swapaxes(values, -1, -2)))


@pytest.mark.parametrize("dtype", [ebb.bool, ebb.uint8, ebb.int16, ebb.int64])
def test_sum_to_size_sums_integers_to_int64(dtype):
    ones = ebb.ones(300, dtype=dtype)
    assert ones.sum_to_size(1).tolist() == [300] and ones.sum_to_size(1).dtype == ebb.int64
    assert ones.sum_to_size(300).dtype == dtype
