# tests/python/nn/weights/test_orthogonal.py -- weights that stay orthogonal.
import itertools

import numpy as np
import pytest

import ebb
from ebb import nn
from ebb.nn.utils.parametrizations import orthogonal

SHAPES = [(3, 3), (5, 2), (2, 4), (2, 4, 3), (1, 1)]
MAPS = ["matrix_exp", "cayley", "householder"]
CASES = list(itertools.product(SHAPES, MAPS, [True, False]))


def holder(weight):
    module = nn.Module()
    module.weight = nn.Parameter(weight)
    return module


def drawn(shape, dtype=ebb.float64):
    ebb.manual_seed(0)
    return ebb.randn(shape, dtype=dtype)


def assert_orthogonal(weight):
    a = weight.detach().numpy()
    a = a if a.shape[-2] >= a.shape[-1] else a.swapaxes(-1, -2)
    products = np.conj(a.swapaxes(-1, -2)) @ a
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(a.shape[-1]), products.shape),
                               atol=1e-12)  # fmt: skip


@pytest.mark.parametrize("shape, kind, trivial", CASES)
def test_a_weight_stays_orthogonal_while_it_is_trained(shape, kind, trivial):
    module = orthogonal(holder(drawn(shape)), "weight", kind, use_trivialization=trivial)
    optimizer = ebb.optim.SGD(module.parameters(), lr=0.1)
    before = module.weight.detach()
    for _ in range(3):
        optimizer.zero_grad()
        (module.weight * drawn(shape).cos()).sum().backward()
        optimizer.step()
        assert_orthogonal(module.weight)
    assert shape == (1, 1) or not ebb.allclose(module.weight, before)


@pytest.mark.parametrize("kind", ["matrix_exp", "cayley"])
def test_a_complex_weight_is_unitary(kind):
    module = orthogonal(holder(drawn((4, 3), ebb.complex128)), "weight", kind)
    with ebb.no_grad():
        module.parametrizations.weight.original.add_(drawn((4, 3), ebb.complex128))
    assert_orthogonal(module.weight)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_orthogonal_weight_begins_as_it_was(shape):
    weight = nn.init.orthogonal_(ebb.empty(shape[-2:], dtype=ebb.float64)).expand(shape).clone()
    module = orthogonal(holder(weight), "weight", "householder", use_trivialization=False)
    np.testing.assert_allclose(module.weight.detach().numpy(), weight.numpy(), atol=1e-12)


def test_another_weight_begins_as_its_orthogonal_factor():
    weight = drawn((3, 3))
    q, r = np.linalg.qr(weight.numpy())
    found = orthogonal(holder(weight)).weight
    np.testing.assert_allclose(found.detach().numpy(), q * np.sign(np.diag(r)), atol=1e-12)


def test_reflections_are_those_below_the_diagonal():
    module = orthogonal(holder(drawn((3, 2))), use_trivialization=False)
    with ebb.no_grad():
        module.parametrizations.weight.original.copy_(
            ebb.tensor([[1.0, 9.0], [2.0, -1.0], [3.0, 4.0]], dtype=ebb.float64)
        )
    product = np.eye(3)
    for vector in ([1.0, 2.0, 3.0], [0.0, 1.0, 4.0]):
        v = np.array(vector)[:, None]
        product = product @ (np.eye(3) - 2 * v @ v.T / (v.T @ v))
    np.testing.assert_allclose(module.weight.detach().numpy(), product[:, :2] * [1.0, -1.0])


def test_assigning_sets_the_weight():
    module = orthogonal(holder(drawn((4, 2))))
    value = nn.init.orthogonal_(ebb.empty(4, 2, dtype=ebb.float64))
    module.weight = value
    np.testing.assert_allclose(module.weight.detach().numpy(), value.numpy(), atol=1e-12)


def test_what_cannot_be_orthogonal_is_refused():
    with pytest.raises(ebb.errors.ShapeError, match="needs a matrix or several, got \\[3\\]"):
        orthogonal(holder(drawn((3,))))
    with pytest.raises(ebb.errors.ValueError, match="cayley, householder, got 'qr'"):
        orthogonal(holder(drawn((3, 3))), "weight", "qr")
    with pytest.raises(ebb.errors.DTypeError, match="householder needs real matrices"):
        orthogonal(holder(drawn((3, 3), ebb.complex64)), "weight", "householder")
    with pytest.raises(ebb.errors.ValueError, match="needs the name of a parameter"):
        orthogonal(nn.Linear(2, 2), "wait")
    module = orthogonal(holder(drawn((3, 3))), "weight", "cayley", use_trivialization=False)
    with pytest.raises(NotImplementedError, match="cayley needs use_trivialization=True"):
        module.weight = ebb.eye(3, dtype=ebb.float64)
