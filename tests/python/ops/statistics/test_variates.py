# tests/python/ops/statistics/test_variates.py -- variables whose distribution tensors describe:
# their spread, their ends, the derivative of gamma variables, and the generator's state.
import math

import numpy as np
import pytest

import ebb

standard_gamma = ebb._C._ops.standard_gamma
standard_gamma_grad = ebb._C._ops.standard_gamma_grad
DRAWS = 50000


def poisson_share(rate):
    return lambda k: math.exp(k * math.log(rate) - rate - math.lgamma(k + 1))


def binomial_share(n, p):
    def share(k):
        if k > n:
            return 0.0
        ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        return math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))

    return share


def geometric_share(p):
    return lambda k: p * (1 - p) ** (k - 1) if k else 0.0


def many(value, dtype=ebb.float64):
    return ebb.full([DRAWS], value, dtype=dtype)


COUNTS = {
    "poisson 0.3": (lambda: ebb.poisson(many(0.3)), poisson_share(0.3)),
    "poisson 9.9": (lambda: ebb.poisson(many(9.9)), poisson_share(9.9)),
    "poisson 10": (lambda: ebb.poisson(many(10.0)), poisson_share(10.0)),
    "poisson 80": (lambda: ebb.poisson(many(80.0, ebb.float32)), poisson_share(80.0)),
    "binomial 7": (lambda: ebb.binomial(many(7.0), many(0.4)), binomial_share(7, 0.4)),
    "binomial 40": (lambda: ebb.binomial(many(40.0), many(0.3)), binomial_share(40, 0.3)),
    "binomial 90": (lambda: ebb.binomial(many(90.0), many(0.8)), binomial_share(90, 0.8)),
    "geometric": (lambda: many(0.0).geometric_(0.3), geometric_share(0.3)),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_come_as_often_as_they_should(name):
    draw, share = COUNTS[name]
    found = np.bincount(draw().long().numpy(), minlength=200)
    expected = np.array([share(k) for k in range(len(found))]) * DRAWS
    frequent = expected > 20
    squares = (found - expected)[frequent] ** 2 / expected[frequent]
    freedom = int(frequent.sum())
    # The sum has that mean and a deviation of sqrt(2 freedom): 5 of them.
    assert squares.sum() < freedom + 5 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("shape", [0.05, 0.7, 1.0, 6.0, 500.0])
def test_gamma_variables_and_their_logarithms_have_the_moments_of_the_distribution(shape):
    values = standard_gamma(many(shape)).numpy()
    assert abs(values.mean() - shape) < 5 * math.sqrt(shape / DRAWS)
    logs = standard_gamma(many(shape), True).numpy()
    # E[x log x] = shape (digamma(shape) + 1 / shape) would need digamma: the mean of x will do.
    assert abs(np.exp(logs).mean() - shape) < 5 * math.sqrt(shape / DRAWS)
    step = 1e-4
    mean = (math.lgamma(shape + step) - math.lgamma(shape - step)) / (2 * step)
    assert abs(logs.mean() - mean) < 5 * logs.std() / math.sqrt(DRAWS) + 1e-3 * abs(mean)


# Shape, variable and derivative, from mpmath with 40 digits: minus the derivative of the
# distribution function by the shape, over the density.
GAMMA_SLOPES = [
    (0.01, 1e-05, 0.010952158246714486),
    (0.01, 0.11, 21.48287980311337),
    (0.01, 1.5001, 68.36552135486485),
    (0.5, 0.005, 0.05354854994137997),
    (0.5, 1.4999, 2.239468544855875),
    (0.5, 11.15685424949238, 4.277964547343863),
    (3.0, 1.5001, 0.7315602104687179),
    (3.0, 4.732050807568877, 1.3161829374064933),
    (50.0, 0.05, 0.00692452981475054),
    (50.0, 46.46446609406726, 0.9669986884284811),
    (50.0, 78.2842712474619, 1.2449740214891785),
    (2000.0, 1977.6393202250022, 0.9944717489834507),
    (2000.0, 2178.885438199983, 1.0435315710643474),
]


def test_the_derivative_of_a_gamma_variable_is_that_of_its_quantile():
    shape, value, slope = (
        ebb.tensor(one, dtype=ebb.float64) for one in zip(*GAMMA_SLOPES, strict=True)
    )
    found = standard_gamma_grad(shape, value)
    np.testing.assert_allclose(found.numpy(), slope.numpy(), rtol=1e-10)
    logs = standard_gamma_grad(shape, value.log(), True)
    np.testing.assert_allclose(logs.numpy(), (slope / value).numpy(), rtol=1e-10)


def test_gradients_of_gamma_variables_are_gradients_of_their_mean():
    shape = ebb.tensor([0.3, 2.0, 40.0], dtype=ebb.float64, requires_grad=True)
    values = standard_gamma(shape.expand(DRAWS, 3))
    values.mean(0).sum().backward()  # the mean is the shape
    np.testing.assert_allclose(shape.grad.numpy(), [1, 1, 1], atol=0.03)
    with ebb.autograd.forward_ad.dual_level():
        dual = ebb.autograd.forward_ad.make_dual(shape.detach(), ebb.ones(3, dtype=ebb.float64))
        ebb.manual_seed(1)
        tangent = ebb.autograd.forward_ad.unpack_dual(standard_gamma(dual)).tangent
    ebb.manual_seed(1)
    (gradient,) = ebb.autograd.grad(standard_gamma(shape).sum(), shape)
    assert ebb.equal(tangent, gradient)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_gamma_variables_of_any_shape_are_positive_and_finite(dtype):
    shape = ebb.tensor([1e-3, 0.1, 1.0, 1000.0]).to(getattr(ebb, dtype)).expand(1000, 4)
    shape = shape.contiguous().requires_grad_()
    values = standard_gamma(shape)
    assert (values > 0).all() and ebb.isfinite(values).all()
    values.sum().backward()
    assert ebb.isfinite(shape.grad).all() and (shape.grad >= 0).all()


def test_ends_of_the_ranges_of_parameters_give_ends():
    inf, nan = math.inf, math.nan
    assert standard_gamma(ebb.tensor([0.0, inf])).tolist() == [0.0, inf]
    assert ebb.isnan(standard_gamma(ebb.tensor([-1.0, nan]))).all()
    assert ebb.poisson(ebb.zeros(3)).tolist() == [0.0] * 3
    counts, probs = ebb.tensor([5.0, 5.0, 0.0]), ebb.tensor([0.0, 1.0, 0.5])
    assert ebb.binomial(counts, probs).tolist() == [0.0, 5.0, 0.0]
    with pytest.raises(ValueError, match="poisson: rates must be finite and not negative"):
        ebb.poisson(ebb.tensor([1.0, inf]))


def test_an_element_depends_on_its_own_parameters_and_place_alone():
    for draw in (ebb.poisson, standard_gamma, lambda x: ebb.binomial(x.ceil() * 9, x / 99)):
        rates = ebb.rand(40) * 30
        ebb.manual_seed(3)
        whole = draw(rates)
        ebb.manual_seed(3)
        assert ebb.equal(draw(rates[:7]), whole[:7])
        ebb.manual_seed(3)
        rates[20:] = 0.5
        assert ebb.equal(draw(rates)[:20], whole[:20])


def test_counts_have_no_gradient():
    rate = ebb.full([3], 2.0, requires_grad=True)
    ebb.poisson(rate).sum().backward()
    assert rate.grad.tolist() == [0.0] * 3
    prob = ebb.full([1], 0.5, requires_grad=True)
    count = ebb.ones(4, requires_grad=True)
    ebb.binomial(count, prob).sum().backward()
    assert prob.grad.tolist() == [0.0] and count.grad.tolist() == [0.0] * 4


def test_cauchy_numbers_have_the_quartiles_that_were_asked_for():
    values = many(0.0, ebb.float32).cauchy_(1.0, 2.0).numpy()
    np.testing.assert_allclose(np.quantile(values, [0.25, 0.5, 0.75]), [-1, 1, 3], atol=0.1)
    assert np.isfinite(values).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_waiting_times_are_never_0(dtype):
    values = ebb.empty(200000, dtype=getattr(ebb, dtype)).exponential_()
    assert (values > 0).all() and ebb.isfinite(values).all()


@pytest.mark.parametrize(
    "name, most", [("int8", 127), ("uint8", 255), ("bool", 1), ("int64", 2**63)]
)
def test_random_integers_fill_the_range_of_the_dtype(name, most):
    values = ebb.empty(20000, dtype=getattr(ebb, name)).random_().numpy().astype(float)
    assert values.min() < most / 50 and values.max() >= most * 0.98 and values.max() <= most
    assert ebb.empty(1000).random_().max() > 2**23
    low = ebb.empty(1000, dtype=ebb.int64).random_(-(2**63), None).numpy()
    assert low.min() < -(2**61) and low.max() > 2**61
    assert set(ebb.empty(100, dtype=ebb.int8).geometric_(1e-9).tolist()) == {127}


def test_a_fork_of_the_generator_leaves_it_as_it_was():
    ebb.random.manual_seed(12)
    assert ebb.initial_seed() == ebb.random.initial_seed() == 12
    with ebb.random.fork_rng():
        first = ebb.rand(3)
    assert ebb.equal(ebb.rand(3), first)
    with ebb.random.fork_rng(enabled=False):
        second = ebb.rand(3)
    assert not ebb.equal(ebb.rand(3), second)
    with pytest.raises(KeyError), ebb.random.fork_rng():
        ebb.random.seed()
        raise KeyError
    assert ebb.initial_seed() == 12
    assert ebb.seed() == ebb.initial_seed()


STRETCHED = {
    "binomial": lambda wide: ebb.binomial(wide(2.0), wide(-1.0)),
    "poisson": lambda wide: ebb.poisson(wide(-1.0)),
    "bernoulli": lambda wide: ebb.bernoulli(wide(-1.0)),
    "normal": lambda wide: ebb.normal(wide(0.0), wide(-1.0)),
}


@pytest.mark.parametrize("name", STRETCHED)
def test_values_of_stretched_operands_are_looked_at_once(name):
    with pytest.raises(ValueError, match=rf"^{name}: .*got .*-1"):  # not after years
        STRETCHED[name](lambda value: ebb.full([1, 3], value).expand(1 << 50, 3))
