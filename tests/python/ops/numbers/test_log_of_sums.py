# tests/python/ops/numbers/test_log_of_sums.py -- logaddexp where both numbers cancel, running sums
# of complex exponentials, and the Airy function at numbers that tables have.
import math

import numpy as np
import pytest

import ebb

RANDOM = np.random.default_rng(5)
PAIRS = {"logaddexp": (np.exp, np.log), "logaddexp2": (np.exp2, np.log2)}


def exact(name, a, b):
    """The result in long double, by log1p of what is left when 1 is taken away."""
    a, b = a.astype(np.longdouble), b.astype(np.longdouble)
    if name == "logaddexp2":
        a, b = a * np.log(np.longdouble(2)), b * np.log(np.longdouble(2))
    high, low = np.maximum(a, b), np.minimum(a, b)
    found = np.log1p(np.expm1(high) + np.exp(low))
    return found / np.log(np.longdouble(2)) if name == "logaddexp2" else found


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(
    ("dtype", "least", "ulps"), [(np.float64, 1e-4, 12), (np.float32, 1e-4, 12)], ids=str
)
def test_digits_near_zero_are_kept(name, dtype, least, ulps):
    power, log = PAIRS[name]
    size = 5000
    # Results of a quarter of the larger operand are still a plain sum, one of whose roundings is up
    # to 8 of their ulps: 40 draws reached 11.3. Its own generator: else the order of tests decides.
    random = np.random.default_rng(5)
    a = -random.uniform(0, -log(0.5), size) * random.choice([1, 1e-2, 1e-6], size)
    b = log(1 - power(a)) + random.choice([0.3, 1e-2, -1e-3], size) * random.uniform(size=size)
    a, b = a.astype(dtype), b.astype(dtype)
    wanted = exact(name, a, b)
    found = getattr(ebb, name)(ebb.tensor(a), ebb.tensor(b)).numpy()
    is_told = np.abs(wanted) > least
    errors = np.abs(found - wanted) / np.spacing(np.abs(wanted).astype(dtype))
    assert is_told.sum() > 1000 and errors[is_told].max() <= ulps
    plain = np.abs(getattr(np, name)(a, b) - wanted) / np.spacing(np.abs(wanted).astype(dtype))
    assert np.median(errors) < 0.6 < 2 < np.median(plain)


@pytest.mark.parametrize("name", PAIRS)
def test_the_ends_of_the_numbers_are_as_before(name):
    inf, nan = math.inf, math.nan
    cases = [(-inf, -inf, -inf), (-inf, 0, 0), (inf, -inf, inf), (nan, -1, nan)]
    cases += [(-1e-300, -800 if name == "logaddexp" else -1100, -1e-300)]
    for a, b, wanted in cases:
        for pair in ((a, b), (b, a)):
            found = getattr(ebb, name)(*(ebb.tensor(one, dtype=ebb.float64) for one in pair)).item()
            assert found == wanted or (math.isnan(found) and math.isnan(wanted))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_running_sums_of_complex_exponentials(dtype):
    x = (RANDOM.normal(size=(3, 40)) + 3j * RANDOM.normal(size=(3, 40))).astype(dtype)
    found = ebb.logcumsumexp(ebb.tensor(x), 1).numpy()
    sums = np.cumsum(np.exp(x.astype(np.clongdouble)), 1)
    rtol = 2e-5 if dtype == np.complex64 else 1e-12
    np.testing.assert_allclose(np.exp(found.astype(np.clongdouble)), sums, rtol=rtol)


def test_running_sums_of_complex_exponentials_have_gradients():
    x = ebb.randn(2, 4, dtype=ebb.complex128, requires_grad=True)
    assert ebb.autograd.gradcheck(lambda x: ebb.logcumsumexp(x, 1), x)


def test_the_airy_function_is_that_of_tables():
    x = ebb.tensor([0.0, 1.0, -2.0, 10.0], dtype=ebb.float64)
    wanted = [0.35502805388781724, 0.13529241631288142, 0.22740742820168557, 1.1047532552898687e-10]
    np.testing.assert_allclose(ebb.special.airy_ai(x).numpy(), wanted, rtol=1e-15)
    ends = ebb.special.airy_ai(ebb.tensor([math.inf, -math.inf, math.nan, 1e300]))
    assert ends.tolist()[:2] == [0, 0] and math.isnan(ends[2].item()) and ends[3].item() == 0


@pytest.mark.parametrize("edge", [10.5, -10.5])
def test_the_airy_function_goes_on_where_its_formula_changes(edge):
    x = ebb.tensor([np.nextafter(edge, 0), np.nextafter(edge, 2 * edge)], requires_grad=True)
    value = ebb.special.airy_ai(x)
    np.testing.assert_allclose(value[0].item(), value[1].item(), rtol=1e-13)
    (slope,) = ebb.autograd.grad(value.sum(), x, create_graph=True)
    np.testing.assert_allclose(slope[0].item(), slope[1].item(), rtol=1e-13)
    (second,) = ebb.autograd.grad(slope.sum(), x)
    np.testing.assert_allclose(second.numpy(), (x * value).detach().numpy(), rtol=1e-12)
