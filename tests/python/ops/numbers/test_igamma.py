# tests/python/ops/numbers/test_igamma.py -- the incomplete gamma function far from the rows' small
# numbers, and the derivative that it does not have.
import math
import operator

import numpy as np
import pytest

import ebb
from ebb.autograd.forward_ad import dual_level, make_dual
from ebb.errors import NotImplementedError
from tests.python.ops.reference import igamma as reference_igamma

INF = math.inf
ROWS = [(ebb.igamma, 0), (ebb.igammac, 1)]
each = pytest.mark.parametrize(("function", "part"), ROWS, ids=["igamma", "igammac"])


def points():
    """Shapes of all sizes, and values in the middle, on both sides and in the tails."""
    shapes = [1e-20, 1e-5, 0.01, 0.3, 0.999, 1.0, 1.05, 3.5, 19.9, 20.0, 77.7, 199.9, 200.0, 5e3]
    ratios = [1e-3, 0.4, 0.69, 0.71, 0.95, 1.0, 1.04, 1.29, 1.31, 2.0, 5.0]
    small = [1e-12, 1e-4, 0.2, 0.5, 0.7, 1.0, 1.09, 1.11, 2.5]
    pairs = [(a, a * ratio) for a in shapes for ratio in ratios]
    pairs += [(a, x) for a in shapes if a < 4 for x in small]
    return np.array(pairs).T


@each
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_of_all_regimes_are_within_two_units_in_the_last_place(function, part, dtype):
    shape, value = points().astype(dtype)
    got = function(ebb.from_numpy(shape), ebb.from_numpy(value)).numpy()
    pairs = zip(shape.tolist(), value.tolist(), strict=True)
    wanted = np.array([reference_igamma.shares(*pair)[part] for pair in pairs])
    is_normal = wanted >= np.finfo(dtype).tiny
    assert is_normal.sum() > 100
    error = np.abs(got.astype(np.float64) - wanted) / np.spacing(wanted.astype(dtype))
    assert error[is_normal].max() <= 2
    assert (got[~is_normal] <= np.finfo(dtype).tiny).all()


@each
def test_the_ends_are_those_of_scipy(function, part):
    nan = math.nan
    shape = ebb.tensor([0.0, 0.0, 0.0, 2.0, 2.0, INF, INF, INF, -1.0, 1.0, 1e30, 1e30])
    value = ebb.tensor([0.0, 1.0, INF, 0.0, INF, 0.0, 5.0, INF, 1.0, -1.0, 1.0, 1e31])
    below = np.array([nan, 1, 1, 0, 1, 0, 0, nan, nan, nan, 0, 1])
    np.testing.assert_array_equal(function(shape, value).numpy(), [below, 1 - below][part])


@pytest.mark.parametrize(
    ("name", "slope_at_one"),
    [
        ("igamma", math.exp(-1) / math.gamma(1.5)),
        ("igammac", -math.exp(-1) / math.gamma(1.5)),
        ("special.zeta", -1.5 * 1.341487257250917),
    ],
)
def test_a_derivative_that_is_not_there_is_refused_by_name(name, slope_at_one):
    function = operator.attrgetter(name)(ebb)
    shape = ebb.tensor([1.5, 2.5], requires_grad=True)
    value = ebb.tensor([1.0, 2.0], requires_grad=True)
    text = rf"{name}: the derivative to `input` is not implemented"
    with pytest.raises(NotImplementedError, match=text):
        function(shape, value).sum().backward()
    with pytest.raises(NotImplementedError, match=text):
        function(shape.clone(), value).sum().backward()
    with dual_level(), pytest.raises(NotImplementedError, match=text):
        function(make_dual(shape.detach(), ebb.ones(2)), value.detach())
    (slope,) = ebb.autograd.grad(function(shape, value).sum(), value)
    assert slope[0].item() == pytest.approx(slope_at_one)


def test_integers_and_half_types_compute_in_wider_ones():
    assert ebb.igamma(ebb.tensor([2]), ebb.tensor([3])).dtype == ebb.float32
    for dtype in (ebb.float16, ebb.bfloat16):
        got = ebb.igammac(ebb.tensor(2.0, dtype=dtype), ebb.tensor([[3.0]], dtype=dtype))
        assert got.dtype == dtype and got.shape == (1, 1)
        assert got.item() == pytest.approx(4 * math.exp(-3), rel=4e-3)
