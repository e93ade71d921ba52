# tests/python/ops/linalg/test_distance.py -- distances at coinciding points, by product and by
# difference.
import numpy as np
import pytest

import ebb


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_the_gradient_of_a_distance_of_0_is_0(p):
    x = ebb.tensor([[1.0, 2.0], [1.0, 2.0]], dtype=ebb.float64, requires_grad=True)
    (grad,) = ebb.autograd.grad(ebb.cdist(x, x.detach(), p).sum(), x)
    assert grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    (grad,) = ebb.autograd.grad(ebb.pdist(x, p).sum(), x)
    assert grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_product_gives_gradients_of_0_to_coinciding_points():
    x = ebb.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=ebb.float64, requires_grad=True)
    found = ebb.cdist(x, x.detach(), compute_mode="use_mm_for_euclid_dist")
    assert found.diagonal().tolist() == [0.0, 0.0]
    (grad,) = ebb.autograd.grad(found.diagonal().sum(), x, create_graph=True)
    assert grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(("rows", "columns"), [(25, 25), (26, 3), (3, 26), (70, 40)])
def test_many_rows_take_a_product_and_give_the_same(rows, columns):
    x, y = ebb.randn(rows, 7, dtype=ebb.float64), ebb.randn(columns, 7, dtype=ebb.float64)
    exact = ebb.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    np.testing.assert_allclose(ebb.cdist(x, y).numpy(), exact.numpy(), rtol=1e-12)


def test_renorm_leaves_the_place_of_its_tensor():
    x = ebb.tensor([[3.0, 4.0], [0.3, 0.4]])
    assert x.renorm_(2, 0, 1.0) is x
    np.testing.assert_allclose(x.norm(dim=1).numpy(), [1.0, 0.5], rtol=1e-6)


def test_running_extrema_name_their_results():
    found = ebb.tensor([1.0, 3.0, 3.0, 2.0, float("nan"), 9.0]).cummax(0)
    assert found.indices.tolist() == [0, 1, 2, 2, 4, 4]
    assert found.values.tolist()[:4] == [1.0, 3.0, 3.0, 3.0]
    assert all(value != value for value in found.values.tolist()[4:])


def test_many_rows_of_a_half_type_keep_distances_whose_squares_it_cannot_hold():
    x = (300 * ebb.arange(30).reshape(30, 1)).to(ebb.float16)
    assert ebb.cdist(x, x)[0].tolist() == x[:, 0].tolist()


@pytest.mark.parametrize("rows", [3, 40])
def test_points_of_two_dtypes_are_refused_for_few_rows_and_many(rows):
    with pytest.raises(TypeError, match="cdist: x1 and x2 need one dtype"):
        ebb.cdist(ebb.ones(rows, 2), ebb.ones(rows, 2, dtype=ebb.float64))


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, ebb.inf])
def test_points_without_coordinates_are_0_apart(p):
    points = ebb.zeros(3, 0, requires_grad=True)
    assert ebb.cdist(points, points, p).tolist() == [[0.0] * 3] * 3
    assert ebb.pdist(points, p).tolist() == [0.0] * 3
    (ebb.cdist(points, points, p).sum() + ebb.pdist(points, p).sum()).backward()
    assert points.grad.shape == (3, 0)
