# tests/python/distributions/test_gaussian.py -- normal vectors: forms of the covariance, densities,
# samples, divergences.
import math

import numpy as np
import pytest

import ebb
from ebb import distributions as D

F64 = ebb.float64
LOC = ebb.tensor([0.5, -1.0, 2.0], dtype=F64)
FACTOR = ebb.tensor([[1.5, 0, 0], [0.3, 0.8, 0], [-0.7, 0.2, 1.1]], dtype=F64)
COVARIANCE = FACTOR @ FACTOR.mT
PRECISION = ebb.linalg.inv(COVARIANCE)
FORMS = {
    "covariance_matrix": COVARIANCE,
    "precision_matrix": PRECISION,
    "scale_tril": FACTOR,
}
W = ebb.tensor([[1.0, 0.5], [-0.3, 0.2], [0.7, 1.1]], dtype=F64)
DIAGONAL = ebb.tensor([0.5, 1.5, 0.8], dtype=F64)


def density(x, loc, covariance):
    """Return the logarithm of the density, by NumPy."""
    difference = x - loc
    distance = difference @ np.linalg.inv(covariance) @ difference
    return -0.5 * (distance + np.linalg.slogdet(2 * math.pi * covariance)[1])


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_covariance_gives_one_distribution(form):
    one = D.MultivariateNormal(LOC, **{form: FORMS[form]})
    assert one.batch_shape == () and one.event_shape == (3,)
    for name, expected in FORMS.items():
        assert ebb.allclose(getattr(one, name), expected)
    x = ebb.tensor([[1.0, 2.0, -0.5], [0.0, 0.0, 0.0]], dtype=F64)
    expected = [density(row, LOC.numpy(), COVARIANCE.numpy()) for row in x.numpy()]
    np.testing.assert_allclose(one.log_prob(x).numpy(), expected, rtol=1e-12)
    entropy = 0.5 * np.linalg.slogdet(2 * math.pi * math.e * COVARIANCE.numpy())[1]
    np.testing.assert_allclose(one.entropy().item(), entropy, rtol=1e-12)
    np.testing.assert_allclose(one.variance.numpy(), np.diag(COVARIANCE.numpy()), rtol=1e-12)
    assert one.mean is one.mode is one.loc


def low_rank():
    return D.LowRankMultivariateNormal(LOC, W, DIAGONAL)


def test_a_covariance_of_low_rank_gives_what_the_whole_matrix_gives():
    one = low_rank()
    whole = D.MultivariateNormal(LOC, W @ W.mT + DIAGONAL.diag_embed())
    x = ebb.randn(5, 3, dtype=F64)
    assert ebb.allclose(one.log_prob(x), whole.log_prob(x))
    assert ebb.allclose(one.entropy(), whole.entropy())
    for name in ("variance", "covariance_matrix", "precision_matrix", "scale_tril"):
        assert ebb.allclose(getattr(one, name), getattr(whole, name))


@pytest.mark.parametrize("make", [low_rank, lambda: D.MultivariateNormal(LOC, COVARIANCE)])
def test_samples_have_the_mean_and_the_covariance(make):
    ebb.manual_seed(1)
    one = make()
    x = one.sample([40000]).numpy()
    np.testing.assert_allclose(x.mean(0), LOC.numpy(), atol=0.04)
    np.testing.assert_allclose(np.cov(x.T), one.covariance_matrix.numpy(), atol=0.08)


@pytest.mark.parametrize("kind", [D.MultivariateNormal, D.LowRankMultivariateNormal])
def test_parameters_broadcast_to_a_batch(kind):
    matrices = (W, DIAGONAL) if kind is D.LowRankMultivariateNormal else (COVARIANCE,)
    one = kind(LOC.expand(4, 1, 3), *(m.expand(2, *m.shape) for m in matrices))
    assert one.batch_shape == (4, 2) and one.event_shape == (3,)
    x = one.rsample([5])
    assert x.shape == (5, 4, 2, 3) and one.log_prob(x).shape == (5, 4, 2)
    wide = one.expand([6, 4, 2])
    assert wide.sample().shape == (6, 4, 2, 3) and wide.entropy().shape == (6, 4, 2)
    assert ebb.equal(wide.log_prob(x[0])[2], one.log_prob(x[0]))
    assert wide.covariance_matrix.shape == (6, 4, 2, 3, 3)
    assert ebb.allclose(one.log_prob(x)[0, 0, 0], kind(LOC, *matrices).log_prob(x[0, 0, 0]))


def test_densities_and_samples_have_gradients():
    x = ebb.randn(2, 3, dtype=F64)
    leaves = [one.clone().requires_grad_() for one in (LOC, FACTOR)]

    def by_factor(loc, factor):
        ebb.manual_seed(3)
        one = D.MultivariateNormal(loc, scale_tril=factor.tril())
        return one.log_prob(x), one.rsample([2]), one.entropy()

    assert ebb.autograd.gradcheck(by_factor, leaves)

    def by_rank(loc, factor, diagonal):
        ebb.manual_seed(3)
        one = D.LowRankMultivariateNormal(loc, factor, diagonal)
        return one.log_prob(x), one.rsample([2]), one.entropy()

    leaves = [one.clone().requires_grad_() for one in (LOC, W, DIAGONAL)]
    assert ebb.autograd.gradcheck(by_rank, leaves)


@pytest.mark.parametrize("wide", ["value", "loc", "matrix"])
def test_the_density_has_the_wider_dtype_of_parameters_and_value(wide):
    given = {"loc": ebb.zeros(2), "matrix": 2 * ebb.eye(2), "value": ebb.ones(2)}
    given[wide] = given[wide].double()
    found = D.MultivariateNormal(given["loc"], given["matrix"]).log_prob(given["value"])
    assert found.dtype is ebb.float64
    assert found.item() == pytest.approx(-0.5 - math.log(4 * math.pi), rel=1e-7)


def test_what_is_no_covariance_is_refused():
    with pytest.raises(ValueError, match="MultivariateNormal: needs exactly one of covariance_m"):
        D.MultivariateNormal(LOC)
    with pytest.raises(ValueError, match=r"scale_tril must satisfy LowerCholesky\(\)"):
        D.MultivariateNormal(LOC, scale_tril=-FACTOR)
    with pytest.raises(ValueError, match=r"covariance_matrix must satisfy PositiveDefinite\(\)"):
        D.MultivariateNormal(LOC, -COVARIANCE)
    with pytest.raises(ValueError, match=r"got loc \[\] and covariance_matrix \[3, 3\]"):
        D.MultivariateNormal(ebb.tensor(1.0), COVARIANCE)
    with pytest.raises(ValueError, match="needs a row of cov_factor for each element of loc"):
        D.LowRankMultivariateNormal(LOC, W[:2], DIAGONAL)
