# tests/python/distributions/test_reference.py -- densities, moments and samples against SciPy's.
import math

import numpy as np
import pytest

import ebb
from ebb.errors import NotImplementedError
from tests.python.distributions.cases import CASES, NAMES, made

each = pytest.mark.parametrize("case", CASES, ids=NAMES)
DRAWS = 20000
# The path of their samples is not that of the derivative: it keeps a gamma variable's share.
OF_GAMMA = ("StudentT", "Gamma", "Chi2", "InverseGamma", "Beta", "FisherSnedecor")
# What PyTorch answers where there is no number, or another one.
UNDEFINED = {("Categorical", "mean"), ("Categorical", "variance"), ("Cauchy", "variance")}


def answer(question):
    """Return what a distribution answers, as an array, or None if it has no answer."""
    try:
        return question().detach().numpy()
    except NotImplementedError:
        return None


@each
def test_log_prob_is_that_of_scipy(case):
    distribution, _ = made(case)
    found = distribution.log_prob(ebb.tensor(case["values"], dtype=ebb.float64))
    np.testing.assert_allclose(found.detach().numpy(), case["log_prob"], rtol=1e-10, atol=1e-12)


@each
@pytest.mark.parametrize("name", ["mean", "variance", "entropy"])
def test_moments_and_entropy_are_those_of_scipy(case, name):
    distribution, _ = made(case)
    value = getattr(type(distribution), name)
    found = answer(
        lambda: value.fget(distribution) if name != "entropy" else distribution.entropy()
    )
    if found is None or (case["name"], name) in UNDEFINED:
        return
    np.testing.assert_allclose(found, case[name], rtol=1e-8, atol=1e-12)


@each
def test_the_distribution_function_and_its_inverse_are_those_of_scipy(case):
    distribution, _ = made(case)
    values = ebb.tensor(case["values"], dtype=ebb.float64)
    shares = answer(lambda: distribution.cdf(values))
    if shares is not None:
        np.testing.assert_allclose(shares, case["cdf"], rtol=1e-9)
    back = answer(lambda: distribution.icdf(ebb.tensor(case["cdf"], dtype=ebb.float64)))
    if back is not None:
        np.testing.assert_allclose(back, case["values"], rtol=1e-8, atol=1e-12)


@each
def test_samples_are_spread_as_scipy_says(case):
    ebb.manual_seed(5)
    distribution, _ = made(case)
    samples = distribution.sample([DRAWS]).numpy()
    assert samples.shape == (DRAWS,)
    shares = np.array([(samples <= value).mean() for value in case["values"]])
    # Kolmogorov and Smirnov: 1 of 1500 right samples is further away.
    assert np.abs(shares - case["cdf"]).max() < 2 / math.sqrt(DRAWS)


@each
def test_shapes_are_those_of_sample_batch_and_event(case):
    distribution, _ = made(case, batch=(2, 3))
    assert distribution.batch_shape == (2, 3) and distribution.event_shape == ()
    sample = distribution.sample([4])
    assert sample.shape == (4, 2, 3) and distribution.sample().shape == (2, 3)
    assert distribution.log_prob(sample).shape == (4, 2, 3)
    wide = distribution.expand([5, 2, 3])
    assert type(wide) is type(distribution) and wide.batch_shape == (5, 2, 3)
    assert wide.sample().shape == wide.mean.shape == wide.variance.shape == (5, 2, 3)
    expected = distribution.log_prob(sample[0]).detach().numpy()
    np.testing.assert_array_equal(wide.log_prob(sample[0]).detach().numpy()[3], expected)


@each
def test_gradients_of_log_prob_are_right(case):
    _, parameters = made(case, requires_grad=True)
    values = ebb.tensor(case["values"], dtype=ebb.float64)

    def log_prob(*tensors):
        arguments = dict(zip(parameters, tensors, strict=True))
        kind = type(made(case)[0])
        return kind(**arguments, validate_args=False).log_prob(values)

    assert ebb.autograd.gradcheck(log_prob, list(parameters.values()))


@pytest.mark.parametrize("case", [case for case in CASES if case["name"] in OF_GAMMA])
def test_samples_of_gamma_variables_have_the_gradients_of_the_mean(case):
    ebb.manual_seed(6)
    distribution, parameters = made(case, requires_grad=True)
    leaves = list(parameters.values())
    expected = ebb.autograd.grad(distribution.mean, leaves, allow_unused=True)
    means = (distribution.rsample([5000]).mean() for _ in range(20))
    found = [ebb.autograd.grad(one, leaves, retain_graph=True) for one in means]
    for name, wanted, *several in zip(parameters, expected, *found, strict=True):
        values = np.array([one.item() for one in several])
        error = values.std() / math.sqrt(len(values))
        wanted = 0.0 if wanted is None else wanted.item()
        assert abs(values.mean() - wanted) < 5 * error + 1e-12, name


@pytest.mark.parametrize("case", [case for case in CASES if case["name"] not in OF_GAMMA])
def test_samples_have_gradients_where_they_can(case):
    distribution, parameters = made(case, requires_grad=True)
    assert not distribution.sample([3]).requires_grad
    if not distribution.has_rsample:
        with pytest.raises(NotImplementedError, match=r"rsample: .* has none"):
            distribution.rsample()
        return

    def draw(*tensors):
        ebb.manual_seed(9)
        return type(distribution)(**dict(zip(parameters, tensors, strict=True))).rsample([5])

    assert ebb.autograd.gradcheck(draw, list(parameters.values()))


@each
def test_all_values_are_enumerated_and_add_up_to_1(case):
    distribution, _ = made(case, batch=(2,))
    if not distribution.has_enumerate_support:
        with pytest.raises(NotImplementedError, match=r"enumerate_support: .* has none"):
            distribution.enumerate_support()
        return
    values = distribution.enumerate_support()
    assert values.shape[1:] == (2,) and distribution.enumerate_support(False).shape[1:] == (1,)
    total = distribution.log_prob(values).exp().sum(0)
    np.testing.assert_allclose(total.detach().numpy(), [1, 1], rtol=1e-12)
