# tests/python/distributions/test_kl.py -- divergences against sums and integrals.
import math

import numpy as np
import pytest

import ebb
from ebb import distributions as D

F64 = ebb.float64


def t(*values):
    return ebb.tensor(values if len(values) > 1 else values[0], dtype=F64)


NORMAL = D.Normal(t(0.5), t(0.8))
LAPLACE = D.Laplace(t(0.2), t(0.7))
UNIFORM = D.Uniform(t(0.2), t(0.9))
EXPONENTIAL = D.Exponential(t(1.5))
GUMBEL = D.Gumbel(t(0.4), t(0.9))
PARETO = D.Pareto(t(0.7), t(4.5))
HALF = D.ContinuousBernoulli(t(0.3))
# Of each family or pair of families, two distributions.
PAIRS = [
    (NORMAL, D.Normal(t(-0.3), t(1.1))),
    (D.HalfNormal(t(0.8)), D.HalfNormal(t(1.3))),
    (LAPLACE, D.Laplace(t(-0.4), t(1.2))),
    (D.Cauchy(t(0.0), t(1.0)), D.Cauchy(t(0.5), t(1.5))),
    (UNIFORM, D.Uniform(t(0.0), t(1.5))),
    (HALF, D.ContinuousBernoulli(t(0.6))),
    (EXPONENTIAL, D.Exponential(t(0.6))),
    (PARETO, D.Pareto(t(0.5), t(2.5))),
    (D.LogNormal(t(0.1), t(0.5)), D.LogNormal(t(0.3), t(0.8))),
    (D.Bernoulli(t(0.3)), D.Bernoulli(t(0.6))),
    (D.Geometric(t(0.3)), D.Geometric(t(0.6))),
    (D.Categorical(t(0.2, 0.5, 0.3)), D.Categorical(t(0.4, 0.4, 0.2))),
    (NORMAL, LAPLACE),
    (NORMAL, GUMBEL),
    (LAPLACE, NORMAL),
    (GUMBEL, NORMAL),
    (UNIFORM, NORMAL),
    (UNIFORM, EXPONENTIAL),
    (UNIFORM, D.Pareto(t(0.1), t(2.5))),
    (EXPONENTIAL, NORMAL),
    (EXPONENTIAL, GUMBEL),
    (HALF, NORMAL),
    (HALF, EXPONENTIAL),
    (PARETO, NORMAL),
    (PARETO, EXPONENTIAL),
    (GUMBEL, D.Gumbel(t(-0.2), t(1.3))),
    (UNIFORM, GUMBEL),
    (UNIFORM, HALF),
    (HALF, D.Uniform(t(-0.5), t(1.5))),
    (D.Beta(t(2.5), t(1.5)), D.Uniform(t(-0.5), t(1.5))),
    (D.Beta(t(2.5), t(1.5)), HALF),
    (UNIFORM, D.Gamma(t(2.5), t(1.5))),
    (UNIFORM, D.Beta(t(2.5), t(1.5))),
    (EXPONENTIAL, D.Gamma(t(2.5), t(1.5))),
    (PARETO, D.Gamma(t(2.5), t(1.5))),
    (D.Gamma(t(2.5), t(1.5)), D.Gamma(t(1.5), t(0.7))),
    (D.Chi2(t(3.0)), D.Chi2(t(5.0))),
    (D.Gamma(t(2.5), t(1.5)), EXPONENTIAL),
    (D.Gamma(t(2.5), t(1.5)), GUMBEL),
    (D.Gamma(t(2.5), t(1.5)), NORMAL),
    (D.InverseGamma(t(5.5), t(1.5)), D.InverseGamma(t(4.5), t(0.7))),
    (D.HalfCauchy(t(2.5)), D.HalfCauchy(t(1.5))),
    (D.Beta(t(2.5), t(1.5)), D.Beta(t(1.5), t(3.5))),
    (D.Beta(t(2.5), t(1.5)), EXPONENTIAL),
    (D.Beta(t(2.5), t(1.5)), D.Gamma(t(2.5), t(1.5))),
    (D.Beta(t(2.5), t(1.5)), NORMAL),
    (D.Poisson(t(3.5)), D.Poisson(t(5.0))),
    (D.Bernoulli(t(0.3)), D.Poisson(t(0.6))),
    (D.Binomial(t(7.0), t(0.3)), D.Binomial(t(7.0), t(0.5))),
]


def names(pair):
    return "-".join(type(one).__name__ for one in pair)


def by_definition(p, q):
    """Return the mean under p of log p - log q: a sum, or an integral between tiny shares."""
    q._validate_args = False
    if p.support.is_discrete:
        x = ebb.arange(p._num_events if isinstance(p, D.Categorical) else 200, dtype=F64)
        x = x[:2] if isinstance(p, D.Bernoulli) else x
        x = x[:8] if isinstance(p, D.Binomial) else x
        weights = p.log_prob(x).exp()
        return (weights * (p.log_prob(x) - q.log_prob(x))).sum().item()
    # x = quantile of the logistic function of z: smooth to the ends.
    low, high = (0.0, 1.0) if isinstance(p, (D.Beta, D.ContinuousBernoulli)) else (-1e3, 1e5)
    if isinstance(p, D.Uniform):
        low, high = p.low.item(), p.high.item()
    elif isinstance(p, D.Pareto):
        low = p.scale.item()
    elif isinstance(
        p, (D.Exponential, D.Gamma, D.InverseGamma, D.HalfCauchy, D.HalfNormal, D.LogNormal)
    ):
        low = 0.0
    x, weights = nodes(low, high)
    logs = p.log_prob(x)
    terms = logs.exp() * (logs - q.log_prob(x)) * weights
    return terms[ebb.isfinite(terms)].sum().item()


def nodes(low, high):
    """Return nodes and weights, dense towards both ends, and around 0 for wide intervals."""
    z = ebb.linspace(-30, 30, 200001, dtype=F64)
    step = (z[1] - z[0]).item()
    if high - low > 100:  # from low on, or both ways from 0: by exponentials
        size = z.exp()
        if low >= 0:
            return low + size, size * step
        return ebb.cat([-size, size]), ebb.cat([size, size]) * step
    share = ebb.sigmoid(z)
    return low + (high - low) * share, (high - low) * share * (1 - share) * step


@pytest.mark.parametrize("pair", PAIRS, ids=names)
def test_a_divergence_is_the_mean_difference_of_logarithms(pair):
    p, q = pair
    found = D.kl_divergence(p, q)
    assert found.shape == ()
    np.testing.assert_allclose(found.item(), by_definition(p, q), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(D.kl_divergence(*(pair[0], pair[0])).item(), 0, atol=1e-12)


@pytest.mark.parametrize(
    "p, q",
    [
        (NORMAL, EXPONENTIAL),
        (EXPONENTIAL, UNIFORM),
        (GUMBEL, PARETO),
        (D.Uniform(t(-1.0), t(2.0)), D.Uniform(t(0.0), t(1.0))),
        (D.Uniform(t(-1.0), t(2.0)), EXPONENTIAL),
        (HALF, UNIFORM),
        (D.Pareto(t(0.2), t(3.0)), D.Pareto(t(0.5), t(3.0))),
        (D.Categorical(t(0.5, 0.5)), D.Categorical(t(0.0, 1.0))),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_value_that_the_other_cannot_have_makes_it_infinite(p, q):
    assert D.kl_divergence(p, q) == math.inf


def test_dims_of_events_are_summed():
    p, q = D.Normal(ebb.randn(2, 3), 1.0), D.Normal(ebb.randn(2, 3), 2.0)
    whole = D.kl_divergence(D.Independent(p, 1), D.Independent(q, 1))
    assert ebb.allclose(whole, D.kl_divergence(p, q).sum(-1)) and whole.shape == (2,)
    p, q = D.OneHotCategorical(ebb.rand(4, 3)), D.OneHotCategorical(ebb.rand(4, 3))
    plain = D.kl_divergence(D.Categorical(p.probs), D.Categorical(q.probs))
    assert ebb.allclose(D.kl_divergence(p, q), plain) and plain.shape == (4,)


def test_normal_vectors_diverge_as_their_samples_do():
    factors = [ebb.randn(2, 3, 3, dtype=F64).tril(-1) + ebb.eye(3, dtype=F64) for _ in range(2)]
    p, q = (D.MultivariateNormal(ebb.randn(2, 3, dtype=F64), scale_tril=f) for f in factors)
    ebb.manual_seed(3)
    x = p.sample([60000])
    differences = p.log_prob(x) - q.log_prob(x)
    found = D.kl_divergence(p, q)
    error = differences.std(0) / math.sqrt(60000)
    assert ((found - differences.mean(0)).abs() < 5 * error).all()
    diagonal = [ebb.rand(3, dtype=F64) + 0.5 for _ in range(2)]
    low = [D.LowRankMultivariateNormal(ebb.zeros(3, dtype=F64), f[0, :, :2], d)
           for f, d in zip(factors, diagonal, strict=True)]  # fmt: skip
    full = [D.MultivariateNormal(one.loc, one.covariance_matrix) for one in low]
    expected = D.kl_divergence(*full)
    for one in (low, (low[0], full[1]), (full[0], low[1])):
        assert ebb.allclose(D.kl_divergence(*one), expected)


def test_random_covariances_diverge_as_their_samples_do():
    factor = t([[1.0, 0.0], [0.4, 0.7]])
    p = D.Wishart(t(4.5), scale_tril=factor)
    q = D.Wishart(t(5.5), covariance_matrix=t([[0.8, 0.1], [0.1, 1.2]]))
    ebb.manual_seed(3)
    x = p.sample([40000])
    differences = p.log_prob(x) - q.log_prob(x)
    error = differences.std() / math.sqrt(40000)
    assert (D.kl_divergence(p, q) - differences.mean()).abs() < 5 * error
    assert D.kl_divergence(p, p).abs() < 1e-12


def test_a_divergence_has_gradients():
    leaves = [t(0.5), t(0.8), t(-0.3), t(1.1)]

    def between(a, b, c, d):
        return D.kl_divergence(D.Normal(a, b), D.Normal(c, d))

    assert ebb.autograd.gradcheck(between, [one.requires_grad_() for one in leaves])


def test_the_formula_of_the_closest_classes_is_taken():
    class Special(D.Normal):
        pass

    p, q = Special(0.0, 1.0), D.Normal(1.0, 1.0)
    assert D.kl_divergence(p, q) == 0.5

    @D.register_kl(Special, D.Normal)
    def special(p, q):
        return p.loc + 7

    assert D.kl_divergence(p, q) == 7 and D.kl_divergence(q, p) == 0.5
    with pytest.raises(NotImplementedError, match="no formula is registered for Cauchy and Normal"):
        D.kl_divergence(D.Cauchy(0.0, 1.0), q)
    with pytest.raises(NotImplementedError, match="no formula is registered for Normal and Berno"):
        D.kl_divergence(q, D.Bernoulli(0.5))
    with pytest.raises(TypeError, match="register_kl: needs classes of distributions, got 3"):
        D.register_kl(3, D.Normal)
