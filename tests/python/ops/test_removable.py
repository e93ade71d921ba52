# tests/python/ops/test_removable.py -- derivatives of functions whose formula divides 0 by 0.
import math

import pytest

import ebb
from tests.python.leaves import leaf_of

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
