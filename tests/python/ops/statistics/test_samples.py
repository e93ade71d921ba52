# tests/python/ops/statistics/test_samples.py -- histogram, histogramdd and gradient against
# NumPy's.
import numpy as np
import pytest

import ebb
from ebb.errors import DTypeError, IndexError, ShapeError, ValueError

FLOATING = ["float16", "bfloat16", "float32", "float64"]
BINS = [
    {"bins": 1},
    {"bins": 7},
    {"bins": 5, "range": (-1.0, 0.5)},
    {"bins": 3, "range": (2.0, 2.0)},
    {"bins": [-2.0, -0.5, -0.5, 0.25, 3.0]},
]


def drawn(*shape):
    return np.random.default_rng(3).normal(size=shape)


def tensors(options):
    """The same options with tensors of edges."""
    bins = options["bins"]
    return options | (
        {} if isinstance(bins, int) else {"bins": ebb.tensor(bins, dtype=ebb.float64)}
    )


@pytest.mark.parametrize("options", BINS, ids=str)
@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("shape", [(200,), (5, 0), (), (4, 5, 6)], ids=str)
def test_histogram_counts_as_numpy_does(options, density, shape):
    values, weight = drawn(*shape), np.random.default_rng(4).uniform(size=shape)
    for weights in (None, weight):
        with np.errstate(invalid="ignore"):
            wanted, edges = np.histogram(values, density=density, weights=weights, **options)
        given = None if weights is None else ebb.tensor(weights, dtype=ebb.float64)
        got = ebb.histogram(
            ebb.tensor(values, dtype=ebb.float64), **tensors(options), density=density, weight=given
        )
        np.testing.assert_allclose(got.hist.numpy(), wanted, rtol=1e-12)
        np.testing.assert_allclose(got.bin_edges.numpy(), edges, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("dtype", FLOATING)
def test_counts_of_narrow_dtypes_are_exact(dtype):
    values = ebb.zeros(3000).to(getattr(ebb, dtype))[::1]
    got = values.histogram(2, range=(0.0, 1.0))
    assert got.hist.dtype == got.bin_edges.dtype == values.dtype
    assert got.hist.tolist() == [ebb.tensor(3000.0).to(values.dtype).item(), 0]


def test_what_is_outside_or_nan_counts_nowhere_and_the_last_edge_counts():
    values = ebb.tensor([[0.0, 1.0, 2.0], [np.nan, np.inf, -1.0]]).t()  # strided
    got = ebb.histogram(values, ebb.tensor([0.0, 1.0, 2.0]))
    assert got.hist.tolist() == [1, 2] and not got.hist.requires_grad


@pytest.mark.parametrize(
    "options",
    [{"bins": 3}, {"bins": [2, 4]}, {"bins": [2, 3], "range": (-1.0, 1.0, 0.0, 2.0)}],
    ids=str,
)
@pytest.mark.parametrize("density", [False, True])
def test_histogramdd_counts_as_numpy_does(options, density):
    points, weight = drawn(50, 2), np.random.default_rng(4).uniform(size=50)
    ends = options.get("range")
    pairs = {"range": (ends[:2], ends[2:])} if ends else {}
    wanted, edges = np.histogramdd(
        points, options["bins"], density=density, weights=weight, **pairs
    )
    for shape in ((50, 2), (5, 10, 2)):
        got = ebb.histogramdd(
            ebb.tensor(points.reshape(shape)),
            **options,
            density=density,
            weight=ebb.tensor(weight.reshape(shape[:-1])),
        )
        np.testing.assert_allclose(got.hist.numpy(), wanted, rtol=1e-12)
        for one, other in zip(got.bin_edges, edges, strict=True):
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-14, atol=1e-15)


def test_histogramdd_takes_edges_of_each_dim():
    points, edges = drawn(60, 3), ([-1.0, 0.0, 1.0], [-2.0, 2.0], [0.0, 0.5, 0.75, 2.0])
    wanted, _ = np.histogramdd(points, [np.array(one) for one in edges])
    given = [ebb.tensor(one, dtype=ebb.float64) for one in edges]
    assert ebb.histogramdd(ebb.tensor(points), given).hist.tolist() == wanted.tolist()


REFUSED = {
    "histogram: bins must be at least 1, got 0": lambda x: ebb.histogram(x, 0),
    "histogram: range must be finite and in order, got from 2.0 to 1.0": lambda x: ebb.histogram(
        x, 3, range=(2, 1)
    ),
    "histogram: samples must be finite": lambda x: ebb.histogram(x * np.inf, 3),
    "histogram: range needs two numbers": lambda x: ebb.histogram(x, x, range=(0, 1)),
    "histogram: bins must be edges in order": lambda x: ebb.histogram(x, x.flip(0)),
    "histogramdd: bins needs one entry for each of 2 dims, got 3": lambda x: ebb.histogramdd(
        x.reshape(2, 2), [1, 2, 3]
    ),
    "histogramdd: range needs 4 numbers": lambda x: ebb.histogramdd(
        x.reshape(2, 2), [1, 2], range=[0, 1]
    ),
    "gradient: edge_order must be 1 or 2, got 3": lambda x: ebb.gradient(x, edge_order=3),
    "gradient: dim must name each dim once": lambda x: ebb.gradient(x.reshape(2, 2), dim=[0, -2]),
    "gradient: spacing needs one entry for each of 1 dims, got 2": lambda x: ebb.gradient(
        x, spacing=[1, 2]
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_wrong_numbers_are_refused_by_name(text):
    with pytest.raises(ValueError, match=text):
        REFUSED[text](ebb.tensor([1.0, 2.0, 3.0, 4.0]))


def test_wrong_dtypes_and_shapes_are_refused_by_name():
    x = ebb.ones(4)
    with pytest.raises(DTypeError, match="histogram: input must have a real floating dtype"):
        ebb.histogram(x.long(), 3)
    with pytest.raises(DTypeError, match="histogram: weight must have the dtype of input"):
        ebb.histogram(x, 3, weight=x.double())
    with pytest.raises(ShapeError, match="histogram: weight needs shape"):
        ebb.histogram(x, 3, weight=x[:2])
    with pytest.raises(ShapeError, match="histogram: bins needs 1 dim of at least 2 edges"):
        ebb.histogram(x, x[:1])
    with pytest.raises(DTypeError, match="histogram: bins must be int or Tensor, got float"):
        ebb.histogram(x, 2.5)
    with pytest.raises(ShapeError, match="histogramdd: input needs at least 2 dims"):
        ebb.histogramdd(x, [3])
    with pytest.raises(DTypeError, match="gradient: input must be a tensor of numbers"):
        ebb.gradient(x > 0)
    with pytest.raises(ShapeError, match="gradient: dim 0 needs at least 3 samples"):
        ebb.gradient(x[:2], edge_order=2)
    with pytest.raises(ShapeError, match="gradient: spacing needs 4 coordinates for dim 0"):
        ebb.gradient(x, spacing=[x[:3]])
    with pytest.raises(IndexError, match="gradient: dim 1 is out of range"):
        ebb.gradient(x, dim=1)


SPACINGS = [1, 0.5, [0.5, 2.0, 3.0], "coordinates", "mixed"]


def spacing_of(kind, shape):
    """Spacing for ebb, and the same for NumPy."""
    if not isinstance(kind, str):
        return kind, [kind] * len(shape) if not isinstance(kind, list) else kind
    places = [np.sort(drawn(size + dim)[:size]) for dim, size in enumerate(shape)]
    if kind == "mixed":
        places[1] = 0.25
    given = [ebb.tensor(one) if isinstance(one, np.ndarray) else one for one in places]
    return given, places


@pytest.mark.parametrize("kind", SPACINGS, ids=str)
@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
def test_slopes_are_those_of_numpy(kind, edge_order, dtype):
    values = (10 * drawn(3, 6, 4)).astype(dtype) * (1 + 2j if dtype == "complex128" else 1)
    given, places = spacing_of(kind, values.shape)
    wanted = np.gradient(values, *places, edge_order=edge_order)
    got = ebb.gradient(ebb.tensor(values), spacing=given, edge_order=edge_order)
    assert isinstance(got, tuple) and len(got) == 3
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=2e-5 if "64" not in dtype else 2e-4)


def test_two_samples_a_dim_without_size_and_strides():
    x = ebb.tensor([[1.0, 4.0], [3.0, 9.0], [2.0, 2.0]]).t()
    wanted = np.gradient(x.numpy(), axis=0)
    assert ebb.gradient(x, dim=0)[0].tolist() == wanted.tolist()
    assert ebb.gradient(x, dim=-2, spacing=[ebb.tensor([0.0, 1.0])])[0].tolist() == wanted.tolist()
    assert ebb.gradient(ebb.zeros(0, 3), dim=[1])[0].shape == (0, 3)
    assert ebb.gradient(x, dim=[1, 0])[1].tolist() == wanted.tolist()


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_reach_samples_and_coordinates(edge_order, dtype):
    values = drawn(3, 5).astype(dtype) * (1 if dtype == "float64" else 1 - 0.5j)
    x = ebb.tensor(values, requires_grad=True)
    place = ebb.tensor([0.0, 0.5, 2.0, 2.25, 4.0], dtype=ebb.float64, requires_grad=True)

    def uneven(x, place):
        return ebb.gradient(x, dim=1, spacing=[place], edge_order=edge_order)

    def even(x):
        return ebb.gradient(x, spacing=0.5, edge_order=edge_order)

    assert ebb.autograd.gradcheck(uneven, (x, place)) and ebb.autograd.gradcheck(even, (x,))
    assert ebb.autograd.gradgradcheck(uneven, (x, place))


@pytest.mark.parametrize("density", [False, True])
def test_histograms_have_the_derivative_to_weights(density):
    x, weight = ebb.tensor(drawn(9)), ebb.rand(9, dtype=ebb.float64, requires_grad=True)
    points = x.reshape(3, 3)

    def counts(weight):
        flat = ebb.histogram(x, 4, weight=weight, density=density).hist
        return flat, ebb.histogramdd(points, 2, weight=weight[:3], density=density).hist

    assert ebb.autograd.gradcheck(counts, (weight,), check_forward_ad=True)


@pytest.mark.parametrize("name", ["histogram", "histogramdd"])
def test_derivatives_of_histograms_to_samples_are_refused(name):
    x = ebb.tensor(drawn(4, 2), requires_grad=True)
    for found in getattr(ebb, name)(x, 2):
        first = found if isinstance(found, ebb.Tensor) else found[0]
        with pytest.raises(ebb.errors.NotImplementedError, match=f"^{name}: the derivative to"):
            first.sum().backward()
