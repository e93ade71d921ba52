# tests/python/ops/numbers/test_nan_and_zero.py -- functions in which NaN, zeros and infinities mean
# more than a number: what is skipped gets no gradient, and nothing hides a NaN.
import math

import pytest

import ebb
from tests.python.leaves import leaf_of

F = ebb.nn.functional
NAN, INF = math.nan, math.inf


def grads(output, *inputs):
    return [one.tolist() for one in ebb.autograd.grad([output.sum()], inputs)]


@pytest.mark.parametrize("function", [ebb.fmax, ebb.fmin])
def test_of_a_number_and_nan_the_number_gets_the_gradient(function):
    x, y = leaf_of([NAN, 1.0, NAN]), leaf_of([2.0, NAN, NAN])
    assert grads(function(x, y), x, y) == [[0.0, 1.0, 0.5], [1.0, 0.0, 0.5]]


@pytest.mark.parametrize("order", [-1, -2, -0.5])
def test_a_zero_takes_the_slope_of_norms_of_negative_order(order):
    x = leaf_of([3.0, 0.0])
    assert grads(ebb.linalg.vector_norm(x, order), x) == [[0.0, 0.0]]


@pytest.mark.parametrize("p", [0.5, 1, 2, 3, INF])
def test_normalize_spreads_a_nan_over_its_row(p):
    x = leaf_of([[1.0, NAN], [3.0, 0.0]])
    made = F.normalize(x, p)
    assert made.isnan().tolist() == [[True, True], [False, False]]
    assert made[1].tolist() == pytest.approx([1.0, 0.0])
    assert ebb.autograd.grad(made.sum(), x)[0][0].isnan().all()


def test_distances_by_products_keep_nan():
    x = ebb.full((30, 2), 1.0)
    x[0, 0] = NAN
    assert ebb.cdist(x, ebb.zeros(30, 2))[:2, 0].isnan().tolist() == [True, False]


@pytest.mark.parametrize(
    ("size", "dtype"), [(1e25, ebb.float32), (1e30, ebb.bfloat16), (1e300, ebb.float64)]
)
def test_directions_of_long_vectors_do_not_overflow(size, dtype):
    x = ebb.tensor([[size / 2, size / 2]], dtype=dtype, requires_grad=True)
    y = ebb.tensor([[size, 0.0]], dtype=dtype)
    root = pytest.approx(math.sqrt(0.5), rel=4e-3 if dtype == ebb.bfloat16 else 1e-6)
    cosine = F.cosine_similarity(x, y)
    assert cosine.item() == root
    assert F.normalize(x).tolist() == [[root, root]]
    (grad,) = ebb.autograd.grad(cosine, x)
    assert (grad[0].double() * size).abs().tolist() == [root, root]


def test_equal_elements_share_the_gradient_of_nanmedian():
    x = leaf_of([1.0, NAN, 1.0, 2.0])
    assert grads(x.nanmedian(), x) == [[0.5, 0.0, 0.5, 0.0]]
    x = leaf_of([NAN, NAN])
    assert grads(x.nanmedian(), x) == [[0.5, 0.5]]


@pytest.mark.parametrize("dtype", [ebb.float16, ebb.bfloat16, ebb.float32, ebb.float64])
def test_infinite_logits_cost_nothing_where_they_are_right(dtype):
    x = ebb.tensor([INF, INF, INF, -INF, -INF, -INF], dtype=dtype, requires_grad=True)
    target = ebb.tensor([1.0, 0.5, 0.0, 0.0, 0.5, 1.0], dtype=dtype)
    loss = F.binary_cross_entropy_with_logits(x, target, reduction="none")
    assert loss.tolist() == [0, INF, INF, 0, INF, INF]
    assert grads(loss, x) == [[0, 0.5, 1, 0, -0.5, -1]]
    signs = ebb.tensor([1.0, -1.0, 1.0, -1.0, 1.0, -1.0], dtype=dtype)
    losses = F.soft_margin_loss(x, signs, reduction="none")
    assert losses.tolist() == [0, INF, 0, 0, INF, 0]


def test_zeta_is_infinite_at_all_integers_that_are_not_positive():
    q = ebb.tensor([0.0, -1.0, -7.0, -INF])
    assert ebb.special.zeta(2.0, q).tolist() == [INF] * 4


def test_acosh_has_the_slope_of_its_root_on_both_sides():
    x = leaf_of([-2.0, 2.0, 0.5, 1e30])
    (slope,) = ebb.autograd.grad(ebb.acosh(x).sum(), x, create_graph=True)
    root = 1 / math.sqrt(3)
    assert slope[:2].tolist() == pytest.approx([root, root])
    assert slope[2].isnan() and slope[3].item() == pytest.approx(1e-30)
    assert grads(slope, x)[0][:2] == pytest.approx([2 / 3**1.5, -2 / 3**1.5])


def test_the_padding_row_passes_no_tangent():
    weight, step = ebb.ones(3, 2), ebb.ones(3, 2)
    index = ebb.tensor([0, 2, 2])
    for sparse in (False, True):
        _, tangent = ebb.func.jvp(
            lambda w: F.embedding(index, w, padding_idx=2, sparse=sparse),  # noqa: B023
            (weight,),
            (step,),
        )
        assert tangent.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


# Derivatives of order 0 to 5 at 0 of what divides by its argument.
AT_ZERO = {
    "i1": (0, 1 / 2, 0, 3 / 8, 0, 5 / 16),
    "bessel_j1": (0, 1 / 2, 0, -3 / 8, 0, 5 / 16),
    "spherical_bessel_j0": (1, 0, -1 / 3, 0, 1 / 5, 0),
    "sinc": (1, 0, -(math.pi**2) / 3, 0, math.pi**4 / 5, 0),
}


@pytest.mark.parametrize("near", [0.0, 1e-9, -1e-4])
@pytest.mark.parametrize("name", AT_ZERO)
def test_derivatives_of_any_order_reach_over_a_quotient_at_0(name, near):
    x = leaf_of(near)
    found = [getattr(ebb.special, name)(x)]
    for _ in range(5):
        found += ebb.autograd.grad(found[-1], x, create_graph=True)
    wanted = pytest.approx(AT_ZERO[name], abs=200 * abs(near) + 1e-12)
    assert [one.item() for one in found] == wanted


@pytest.mark.parametrize("name", AT_ZERO)
def test_slopes_near_0_and_far_from_it_meet(name):
    for edge in (0.25, 0.5):
        x = leaf_of([edge - 1e-9, edge + 1e-9])
        found = getattr(ebb.special, name)(x)
        for order in range(4):
            (found,) = ebb.autograd.grad(found.sum(), x, create_graph=True)
            assert abs(found[0] - found[1]).item() < 1e-7 * 10**order
