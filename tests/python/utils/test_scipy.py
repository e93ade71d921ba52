# tests/python/utils/test_scipy.py -- what SciPy's minimisers are given.
#
# SciPy is not installed here: a stand-in takes Newton steps with what it gets, so that wrong
# gradients or products do not end at the minimum.
import sys
import types

import numpy as np
import pytest

import ebb
from ebb.utils.scipy import minimize


def newton(fun, x0, method=None, jac=None, hessp=None, callback=None, **options):
    """Minimise by Newton steps if there are products, by small steps without."""
    assert x0.dtype == np.float64 and x0.ndim == 1
    x = x0.copy()
    for _ in range(60):
        grad = fun(x)[1] if jac else np.array([(fun(x + e) - fun(x - e)) / 2e-6
                                               for e in 1e-6 * np.eye(x.size)])  # fmt: skip
        if hessp is None:
            x = x - 0.1 * grad
        else:
            x = x - np.linalg.solve(np.array([hessp(x, e) for e in np.eye(x.size)]), grad)
        if callback:
            callback(x)
    return types.SimpleNamespace(x=x, options=options, method=method)


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch):
    optimize = types.ModuleType("scipy.optimize")
    optimize.minimize = newton
    package = types.ModuleType("scipy")
    package.optimize = optimize
    monkeypatch.setitem(sys.modules, "scipy", package)
    monkeypatch.setitem(sys.modules, "scipy.optimize", optimize)


def bowl(x, y, center):
    return (
        (x - center).square().sum() + (y * y * y * y).sum() + (y - 1).exp().sum() + y[0, 0] * x[0]
    )


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"])
def test_newton_methods_get_exact_products(method):
    steps = []
    start = [ebb.zeros(2, dtype=ebb.float64), ebb.zeros(1, 2, dtype=ebb.float64)]
    found = minimize(bowl, start, (3.0,), method, callback=steps.append, tol=0.1)
    x, y = (part.requires_grad_() for part in found.x)
    for grad in ebb.autograd.grad(bowl(x, y, 3.0), [x, y]):
        assert grad.abs().max().item() < 1e-9
    assert len(steps) == 60 and [list(p.shape) for p in steps[0]] == [[2], [1, 2]]
    assert found.options == {"tol": 0.1} and found.method == method


@pytest.mark.parametrize("method", [None, "BFGS", "Nelder-Mead", "powell"])
def test_other_methods_get_gradients_or_values(method):
    found = minimize(lambda x: (x - 2).square().sum(), ebb.zeros(3, 2), method=method)
    assert found.x.dtype is ebb.float32 and list(found.x.shape) == [3, 2]
    np.testing.assert_allclose(found.x.numpy(), 2.0, atol=1e-4)


def test_what_a_function_does_not_use_has_no_slope():
    start = [ebb.ones(1, dtype=ebb.float64), ebb.ones(1, dtype=ebb.float64)]
    found = minimize(lambda x, y: (x * x).sum(), start)
    assert found.x[0].item() == pytest.approx(0, abs=1e-4) and found.x[1].item() == 1.0


def test_wrong_arguments_are_refused(monkeypatch):
    with pytest.raises(ebb.errors.DTypeError, match="minimize: needs x0 as a floating Tensor"):
        minimize(lambda x: x, [1.0])
    with pytest.raises(ebb.errors.DTypeError, match="a Tensor of one element"):
        minimize(lambda x: x, ebb.zeros(2))
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(NotImplementedError, match="minimize: needs the package scipy, got none"):
        minimize(lambda x: x.sum(), ebb.zeros(2))
