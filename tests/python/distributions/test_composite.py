# tests/python/distributions/test_composite.py -- distributions made of others, and relaxed ones.
import math

import numpy as np
import pytest

import ebb
from ebb import distributions as D

T = D.transforms
F64 = ebb.float64


def column(*values):
    return ebb.tensor(values, dtype=F64)


def integral(distribution, low, high, count=20001):
    """Return the integral of the density of a scalar distribution, by the trapezoidal rule."""
    x = ebb.linspace(low, high, count, dtype=F64)
    return ebb.trapezoid(distribution.log_prob(x).exp(), x).item()


def test_dims_of_the_batch_become_dims_of_the_event():
    base = D.Normal(ebb.zeros(2, 3), 1.0)
    one = D.Independent(base, 1)
    assert one.batch_shape == (2,) and one.event_shape == (3,)
    x = one.sample([4])
    assert x.shape == (4, 2, 3) and one.log_prob(x).shape == (4, 2)
    assert ebb.allclose(one.log_prob(x), base.log_prob(x).sum(-1))
    assert ebb.allclose(one.entropy(), base.entropy().sum(-1))
    wide = one.expand([5, 2])
    assert wide.batch_shape == (5, 2) and wide.rsample().shape == (5, 2, 3)
    assert one.support.check(x).shape == (4, 2) and one.has_rsample
    assert str(one) == "Independent(Normal(loc: ebb.Size([2, 3]), scale: ebb.Size([2, 3])), 1)"
    with pytest.raises(ValueError, match="of at most 2, the dims of the batch, got 3"):
        D.Independent(base, 3)


def test_a_transformed_density_accounts_for_the_stretch():
    base = D.Normal(column(0.5), column(0.8))
    falling = D.TransformedDistribution(base, [T.ExpTransform(), T.AffineTransform(3.0, -2.0)])
    assert abs(integral(falling, -400.0, 2.999, 200001) - 1) < 1e-4
    x = column(-3.0, 1.0, 2.5)
    shares = falling.cdf(x)
    steps = (falling.cdf(x + 1e-6) - falling.cdf(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(steps.numpy(), falling.log_prob(x).exp().numpy(), rtol=1e-6)
    assert ((shares > 0) & (shares < 1)).all() and (shares.diff() > 0).all()
    ebb.manual_seed(2)
    samples = falling.sample([20000])
    assert abs((samples <= 1.0).double().mean() - shares[1]) < 0.02
    with pytest.raises(ValueError, match="TransformedDistribution: value must be within"):
        D.TransformedDistribution(base, T.ExpTransform()).log_prob(column(-1.0))


def test_transforms_of_events_make_dims_of_the_batch_their_event():
    base = D.Normal(ebb.zeros(2, 3), ebb.ones(3))
    one = D.TransformedDistribution(base, T.StickBreakingTransform())
    assert one.batch_shape == (2,) and one.event_shape == (4,)
    x = one.rsample([5])
    assert x.shape == (5, 2, 4) and one.log_prob(x).shape == (5, 2)
    wide = one.expand([6, 2])
    assert wide.sample().shape == (6, 2, 4) and wide.log_prob(x[0]).shape == (6, 2)
    normal = D.LogisticNormal(ebb.zeros(2, 3), 1.0)
    assert ebb.allclose(normal.log_prob(x), one.log_prob(x)) and normal.scale.shape == (2, 3)
    assert isinstance(normal.expand([7, 2]), D.LogisticNormal)


def test_a_log_normal_is_the_exponential_of_a_normal_number():
    plain = D.TransformedDistribution(D.Normal(0.5, 2.0), T.ExpTransform())
    x = ebb.tensor([0.1, 1.0, 20.0])
    assert ebb.allclose(D.LogNormal(0.5, 2.0).log_prob(x), plain.log_prob(x))
    assert str(D.LogNormal(0.5, 2.0)) == "LogNormal(loc: 0.5, scale: 2.0)"
    with pytest.raises(ValueError, match="scale must satisfy"):
        D.LogNormal(0.0, -1.0)


MIXTURE = D.MixtureSameFamily(
    D.Categorical(column(0.2, 0.5, 0.3)), D.Normal(column(-2.0, 0.0, 3.0), column(0.5, 1.0, 0.8))
)


def test_a_mixture_has_the_weighted_density_and_moments():
    assert MIXTURE.batch_shape == () and abs(integral(MIXTURE, -15.0, 15.0) - 1) < 1e-9
    parts = MIXTURE.component_distribution
    weights = np.array([0.2, 0.5, 0.3])
    means, variances = parts.mean.numpy(), parts.variance.numpy()
    mean = weights @ means
    np.testing.assert_allclose(MIXTURE.mean.item(), mean)
    spread = weights @ (variances + (means - mean) ** 2)
    np.testing.assert_allclose(MIXTURE.variance.item(), spread)
    density = MIXTURE.log_prob(column(0.5)).exp().numpy()
    np.testing.assert_allclose(density, weights @ parts.log_prob(column(0.5)).exp().numpy())
    ebb.manual_seed(3)
    samples = MIXTURE.sample([20000])
    shares = (samples.unsqueeze(-1) <= column(-2.0, 0.0, 3.0)).double().mean(0)
    expected = MIXTURE.cdf(column(-2.0, 0.0, 3.0))
    np.testing.assert_allclose(shares.numpy(), expected.numpy(), atol=0.015)


def test_mixtures_have_batches_and_events():
    parts = D.Independent(D.Normal(ebb.randn(4, 3, 2), 1.0), 1)
    mixture = D.MixtureSameFamily(D.Categorical(ebb.ones(4, 3)), parts)
    assert mixture.batch_shape == (4,) and mixture.event_shape == (2,)
    x = mixture.sample([5])
    assert x.shape == (5, 4, 2) and mixture.log_prob(x).shape == (5, 4)
    assert mixture.mean.shape == mixture.variance.shape == (4, 2)
    assert mixture.expand([6, 4]).sample().shape == (6, 4, 2)
    with pytest.raises(ValueError, match="needs 2 components along the last dim of the batch"):
        D.MixtureSameFamily(D.Categorical(ebb.ones(2)), D.Normal(ebb.zeros(3), 1.0))
    with pytest.raises(TypeError, match="needs a Categorical for mixture_distribution"):
        D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(ebb.zeros(3), 1.0))


@pytest.mark.parametrize("arguments", [{"probs": 0.3}, {"logits": 1.5}])
def test_a_relaxed_bernoulli_has_a_density_and_gradients(arguments):
    arguments = {name: column(value)[0] for name, value in arguments.items()}
    one = D.RelaxedBernoulli(column(0.7)[0], **arguments)
    # In the logit, where the density has no poles.
    assert abs(integral(one.base_dist, -80.0, 80.0) - 1) < 1e-6
    ebb.manual_seed(4)
    samples = one.sample([20000])
    assert ((samples > 0) & (samples < 1)).all()
    assert abs((samples > 0.5).double().mean() - one.probs) < 0.015
    assert one.temperature == 0.7 and one.logits.shape == one.expand([2]).probs.shape[1:]

    def draw(value):
        ebb.manual_seed(5)
        return D.RelaxedBernoulli(0.7, **{next(iter(arguments)): value}).rsample([3])

    assert ebb.autograd.gradcheck(draw, [next(iter(arguments.values())).requires_grad_()])
    with pytest.raises(AttributeError, match="'RelaxedBernoulli' object has no attribute 'loc'"):
        assert one.loc


def test_a_relaxed_category_has_a_density_and_gradients():
    weights = column(0.2, 0.5, 0.3)
    one = D.RelaxedOneHotCategorical(column(0.8)[0], weights)
    ebb.manual_seed(6)
    samples = one.sample([20000])
    assert samples.shape == (20000, 3) and ((samples.sum(-1) - 1).abs() < 1e-9).all()
    shares = np.bincount(samples.argmax(-1).numpy(), minlength=3) / 20000
    np.testing.assert_allclose(shares, weights.numpy(), atol=0.015)
    # Over the simplex, in coordinates x0 = s, x1 = (1 - s) t: the density's integral is 1.
    u, v = (((ebb.arange(400, dtype=F64) + 0.5) / 400) for _ in range(2))
    s, t = ebb.meshgrid(ebb.sigmoid(u * 40 - 20), ebb.sigmoid(v * 40 - 20), indexing="ij")
    points = ebb.stack([s, (1 - s) * t, (1 - s) * (1 - t)], -1)
    points = points / points.sum(-1, True)
    volume = s * (1 - s) * t * (1 - t) * (1 - s) * (40 / 400) ** 2
    total = (one.log_prob(points).exp() * volume).sum().item()
    assert abs(total - 1) < 1e-3
    assert one.expand([2]).rsample([4]).shape == (4, 2, 3)


@pytest.mark.parametrize("probs", [0.1, 0.4985, 0.5, 0.5005, 0.9])
def test_a_continuous_bernoulli_is_smooth_through_one_half(probs):
    one = D.ContinuousBernoulli(column(probs)[0])
    assert abs(integral(one, 0.0, 1.0) - 1) < 1e-7
    x = ebb.linspace(0, 1, 20001, dtype=F64)
    density = one.log_prob(x).exp()
    mean = ebb.trapezoid(density * x, x)
    np.testing.assert_allclose(one.mean.item(), mean.item(), atol=1e-6)
    variance = ebb.trapezoid(density * (x - mean).square(), x)
    np.testing.assert_allclose(one.variance.item(), variance.item(), atol=1e-6)
    entropy = -ebb.trapezoid(density * density.log(), x)
    np.testing.assert_allclose(one.entropy().item(), entropy.item(), atol=1e-5)
    shares = ebb.linspace(0.05, 0.95, 7, dtype=F64)
    np.testing.assert_allclose(one.cdf(one.icdf(shares)).numpy(), shares.numpy(), atol=1e-9)
    ebb.manual_seed(8)
    assert abs(one.rsample([20000]).mean() - mean) < 5 * math.sqrt(variance / 20000)
