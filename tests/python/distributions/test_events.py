# tests/python/distributions/test_events.py -- distributions of vectors and matrices, and of numbers
# that SciPy does not know: against SciPy's numbers, sums and integrals.
import math

import numpy as np
import pytest

import ebb
from ebb import distributions as D

F64 = ebb.float64


def t(*values):
    return ebb.tensor(values if len(values) > 1 else values[0], dtype=F64)


SHAPES = t(0.5, 2.0, 3.5)
WEIGHTS = t(0.2, 0.3, 0.5)
COVARIANCE = t([[2.0, 0.3], [0.3, 1.0]])
# From SciPy 1.17.1: logarithms of densities, then the entropy, then the variance.
DIRICHLET = (0.8820313980015224, -2.0582311419371573)
MULTINOMIAL = (-2.0024805005437063, -7.223836825955617, 2.790656747469692)
WISHART = (-5.931200235741868, 7.547917751436309, [[36.0, 9.405], [9.405, 9.0]])


def test_a_dirichlet_has_the_density_and_moments_of_scipy():
    one = D.Dirichlet(SHAPES)
    assert one.batch_shape == () and one.event_shape == (3,)
    np.testing.assert_allclose(one.log_prob(t(0.2, 0.3, 0.5)).item(), DIRICHLET[0], rtol=1e-12)
    np.testing.assert_allclose(one.entropy().item(), DIRICHLET[1], rtol=1e-12)
    np.testing.assert_allclose(one.mean.numpy(), SHAPES.numpy() / 6)
    mean = SHAPES.numpy() / 6
    np.testing.assert_allclose(one.variance.numpy(), mean * (1 - mean) / 7)
    ebb.manual_seed(1)
    x = one.sample([20000]).numpy()
    np.testing.assert_allclose(x.mean(0), mean, atol=0.006)
    np.testing.assert_allclose(x.var(0), mean * (1 - mean) / 7, atol=0.001)
    np.testing.assert_allclose(one.mode.numpy(), [0, 1 / 3.5, 2.5 / 3.5])
    with pytest.raises(ValueError, match="Dirichlet: concentration needs at least one dim"):
        D.Dirichlet(t(1.0))


def test_a_dirichlet_of_tiny_shapes_lands_in_the_corners():
    ebb.manual_seed(1)
    x = D.Dirichlet(ebb.full([3], 1e-3)).sample([3000])
    assert ebb.isfinite(x).all() and (x.amax(-1) > 0.99).double().mean() > 0.98
    shares = np.bincount(x.argmax(-1).numpy(), minlength=3) / 3000
    np.testing.assert_allclose(shares, [1 / 3] * 3, atol=0.05)


@pytest.mark.parametrize("kind", ["Dirichlet", "Beta"])
def test_samples_of_shares_have_the_gradients_of_the_mean(kind):
    ebb.manual_seed(2)
    leaf = SHAPES.clone().requires_grad_()
    one = D.Dirichlet(leaf) if kind == "Dirichlet" else D.Beta(leaf[0], leaf[1:].sum())
    first = (lambda x: x[..., 0]) if kind == "Dirichlet" else (lambda x: x)
    (expected,) = ebb.autograd.grad(first(one.mean), leaf)
    (found,) = ebb.autograd.grad(first(one.rsample([40000])).mean(), leaf)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=0.003)


def test_a_multinomial_has_the_probabilities_of_scipy():
    one = D.Multinomial(6, WEIGHTS)
    found = one.log_prob(t([[1.0, 2.0, 3.0], [0.0, 6.0, 0.0]]))
    np.testing.assert_allclose(found.numpy(), MULTINOMIAL[:2], rtol=1e-12)
    np.testing.assert_allclose(one.entropy().item(), MULTINOMIAL[2], rtol=1e-8)
    ebb.manual_seed(3)
    x = one.sample([20000])
    assert (x.sum(-1) == 6).all()
    np.testing.assert_allclose(x.numpy().mean(0), one.mean.numpy(), atol=0.05)
    np.testing.assert_allclose(x.numpy().var(0), one.variance.numpy(), rtol=0.05)
    wide = D.Multinomial(4, logits=ebb.randn(2, 3)).expand([5, 2])
    assert wide.sample([7]).shape == (7, 5, 2, 3) and wide.total_count == 4
    assert D.Multinomial(3, t(0.0, 1.0)).log_prob(t(0.0, 3.0)).abs() < 1e-12
    with pytest.raises(ValueError, match=r"total_count must be an int from 0 on, got 2.5"):
        D.Multinomial(2.5, WEIGHTS)


@pytest.mark.parametrize("form", ["covariance_matrix", "precision_matrix", "scale_tril"])
def test_a_wishart_has_the_density_and_moments_of_scipy(form):
    forms = {
        "covariance_matrix": COVARIANCE,
        "precision_matrix": ebb.linalg.inv(COVARIANCE),
        "scale_tril": ebb.linalg.cholesky(COVARIANCE),
    }
    one = D.Wishart(t(4.5), **{form: forms[form]})
    value = t([[5.0, 1.0], [1.0, 3.0]])
    np.testing.assert_allclose(one.log_prob(value).item(), WISHART[0], rtol=1e-12)
    np.testing.assert_allclose(one.entropy().item(), WISHART[1], rtol=1e-12)
    np.testing.assert_allclose(one.mean.numpy(), 4.5 * COVARIANCE.numpy(), rtol=1e-12)
    np.testing.assert_allclose(one.variance.numpy(), WISHART[2], rtol=1e-12)
    np.testing.assert_allclose(one.mode.numpy(), 1.5 * COVARIANCE.numpy(), rtol=1e-12)
    ebb.manual_seed(4)
    x = one.rsample([20000]).numpy()
    np.testing.assert_allclose(x.mean(0), 4.5 * COVARIANCE.numpy(), atol=0.15)
    np.testing.assert_allclose(x.var(0), WISHART[2], rtol=0.08)


def test_wishart_matrices_have_batches_and_bounds():
    one = D.Wishart(t(3.0, 4.0), scale_tril=ebb.eye(3, dtype=F64))
    assert one.batch_shape == (2,) and one.event_shape == (3, 3)
    x = one.sample([5])
    assert x.shape == (5, 2, 3, 3) and one.log_prob(x).shape == (5, 2)
    wide = one.expand([4, 2])
    assert wide.log_prob(x[0]).shape == (4, 2) and wide.sample().shape == (4, 2, 3, 3)
    with pytest.raises(ValueError, match=r"Wishart: df must be more than 2, got 1.5"):
        D.Wishart(t(1.5), scale_tril=ebb.eye(3, dtype=F64))
    with pytest.raises(ValueError, match="Wishart: needs exactly one of covariance_matrix"):
        D.Wishart(t(3.0))


@pytest.mark.parametrize("concentration", [0.7, 1.0, 3.0])
def test_factors_of_correlations_have_the_density_of_their_samples(concentration):
    one = D.LKJCholesky(2, t(concentration))
    r = ebb.linspace(-1, 1, 200001, dtype=F64)[1:-1]
    zero = ebb.zeros_like(r)
    rows = [ebb.stack([zero + 1, zero], -1), ebb.stack([r, (1 - r.square()).sqrt()], -1)]
    density = one.log_prob(ebb.stack(rows, -2)).exp()
    total = ebb.trapezoid(density, r).item()
    assert abs(total - 1) < (0.02 if concentration < 1 else 1e-4)  # poles at the ends below 1
    ebb.manual_seed(5)
    x = one.sample([20000])[:, 1, 0]
    shares = (x.unsqueeze(-1) <= t(-0.5, 0.0, 0.5)).double().mean(0)
    expected = [
        ebb.trapezoid(density[r <= bound], r[r <= bound]).item() for bound in (-0.5, 0, 0.5)
    ]
    np.testing.assert_allclose(shares.numpy(), expected, atol=0.02)


def test_all_correlations_of_a_matrix_are_alike():
    ebb.manual_seed(6)
    one = D.LKJCholesky(4, t(1.5))
    factor = one.sample([20000])
    assert one.support.check(factor).all() and one.log_prob(factor).shape == (20000,)
    correlations = (factor @ factor.mT).numpy()
    # Each has the variance of a Beta on (-1, 1) with both parameters concentration + 1.
    off = correlations[:, [1, 2, 2, 3, 3, 3], [0, 0, 1, 0, 1, 2]]
    np.testing.assert_allclose(off.mean(0), [0] * 6, atol=0.015)
    np.testing.assert_allclose(off.var(0), [1 / (2 * (1.5 + 1) + 1)] * 6, rtol=0.05)
    assert one.expand([3]).sample([2]).shape == (2, 3, 4, 4)
    assert ebb.equal(one.mode, ebb.eye(4, dtype=F64))
    with pytest.raises(ValueError, match="LKJCholesky: dim must be at least 2, got 1"):
        D.LKJCholesky(1)


@pytest.mark.parametrize("a, b", [(0.8, 1.5), (2.5, 3.0)])
def test_a_kumaraswamy_has_the_moments_of_its_density(a, b):
    one = D.Kumaraswamy(t(a), t(b))
    z = ebb.linspace(-35, 35, 40001, dtype=F64)
    x = ebb.sigmoid(z)
    weights = one.log_prob(x).exp() * x * ebb.sigmoid(-z) * (z[1] - z[0])
    mean = (weights * x).sum()
    np.testing.assert_allclose(weights.sum().item(), 1, rtol=1e-8)
    np.testing.assert_allclose(one.mean.item(), mean.item(), rtol=1e-8)
    variance = (weights * (x - mean).square()).sum()
    np.testing.assert_allclose(one.variance.item(), variance.item(), rtol=1e-7)
    entropy = -(weights * one.log_prob(x)).sum()
    np.testing.assert_allclose(one.entropy().item(), entropy.item(), rtol=1e-6, atol=1e-8)
    shares = t(0.1, 0.5, 0.9)
    np.testing.assert_allclose(one.cdf(one.icdf(shares)).numpy(), shares.numpy())
    ebb.manual_seed(7)
    assert abs(one.rsample([20000]).mean() - mean) < 5 * math.sqrt(variance / 20000)


FAMILIES = [
    D.Exponential(t(1.5)),
    D.Gamma(t(2.5), t(0.7)),
    D.Beta(t(2.5), t(0.7)),
    D.Dirichlet(SHAPES),
]


@pytest.mark.parametrize("one", FAMILIES, ids=lambda one: type(one).__name__)
def test_entropy_and_divergence_follow_from_the_log_normalizer(one):
    if type(one) is not D.Beta and type(one) is not D.Dirichlet:
        # The carrier of these two is 1 / (x (1 - x)), whose mean is not asked for.
        expected = D.ExponentialFamily.entropy(one)
        np.testing.assert_allclose(expected.item(), one.entropy().item(), rtol=1e-10)
    from ebb.distributions.kl_pairs import _family

    names = [name for name in one.arg_constraints if name in vars(one)]
    other = type(one)(**{name: getattr(one, name) * 1.7 for name in names})
    expected = D.kl_divergence(one, other).item()
    np.testing.assert_allclose(_family(one, other).item(), expected, rtol=1e-10)


# Concentrations, and the logarithm of I0 and I1 / I0 there, from mpmath.
BESSEL = [
    (0.001, 2.4999998437500175e-07, 0.0004999999375000105),
    (0.5, 0.06154971918548131, 0.24249961258080194),
    (20.0, 17.589610428244274, 0.9746705078898071),
    (300.0, 296.22958759300224, 0.9983319397905335),
    (499.0, 494.9750091714502, 0.9989974929767805),
    (501.0, 496.97300816677324, 0.999001497004863),
    (5000.0, 4994.822489873588, 0.9998999949989997),
]


@pytest.mark.parametrize("k, log_bessel, ratio", BESSEL)
def test_a_von_mises_of_any_concentration_has_its_weight(k, log_bessel, ratio):
    k = t(k).requires_grad_()
    one = D.VonMises(t(0.3), k)
    weight = k - math.log(2 * math.pi) - one.log_prob(t(0.3))
    np.testing.assert_allclose(weight.item(), log_bessel, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(1 - one.variance.item(), ratio, rtol=1e-11)
    (slope,) = ebb.autograd.grad(weight, k)
    np.testing.assert_allclose(slope.item(), ratio, rtol=1e-11)
