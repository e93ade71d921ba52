# tests/python/nn/layers/test_grid.py -- images seen through a grid: what the rows of the table
# leave out.
import numpy as np
import pytest

import ebb
from ebb import nn

F = nn.functional


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_the_identity_map_shows_the_image_itself(corners, mode):
    x = ebb.randn(2, 3, 5, 4, dtype=ebb.float64)
    theta = ebb.tensor([[[1.0, 0, 0], [0, 1.0, 0]]] * 2, dtype=ebb.float64)
    grid = F.affine_grid(theta, [2, 3, 5, 4], align_corners=corners)
    got = F.grid_sample(x, grid, mode, align_corners=corners)
    np.testing.assert_allclose(got.numpy(), x.numpy(), atol=1e-12)


def test_an_element_of_weight_zero_counts_for_nothing():
    x = ebb.tensor([[[[1.0, float("inf"), 2.0]]]])
    grid = ebb.tensor([[[[-1.0, 0.0], [1.0, 0.0]]]])
    assert F.grid_sample(x, grid, align_corners=True).tolist() == [[[[1.0, 2.0]]]]


def test_places_that_are_no_numbers_read_nothing_else():
    x = ebb.ones(1, 1, 2, 2)
    grid = ebb.tensor([[[[float("nan"), 0.0], [float("inf"), 0.0], [0.0, 0.0]]]])
    for mode in ("bilinear", "nearest", "bicubic"):
        assert F.grid_sample(x, grid, mode, "border")[0, 0, 0, 2].item() == 1.0


def test_the_gradient_of_the_nearest_element_with_respect_to_the_grid_is_zero():
    x = ebb.randn(1, 2, 3, 3, requires_grad=True)
    grid = (ebb.rand(1, 2, 2, 2) - 0.5).requires_grad_()
    F.grid_sample(x, grid, "nearest").sum().backward()
    assert x.grad.sum().item() == pytest.approx(8.0)
    assert grid.grad is not None and not grid.grad.any()


def test_a_grid_without_places_gives_nothing():
    assert F.grid_sample(ebb.ones(2, 3, 4, 4), ebb.ones(2, 0, 5, 2)).shape == (2, 3, 0, 5)
