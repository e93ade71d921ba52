# tests/python/distributions/test_distribution.py -- what all distributions share: import, checks of
# parameters and values, classes of programs' own.
import math

import pytest

import ebb
from ebb import distributions as D
from ebb.distributions import constraints
from tests.python.fresh import printed


def test_the_package_is_imported_when_it_is_first_used():
    program = (
        "import sys, ebb\n"
        "assert 'ebb.distributions' not in sys.modules\n"
        "first = ebb.distributions\n"
        "assert first.Normal(0.0, 1.0).mean == 0\n"
        "assert ebb.distributions is sys.modules['ebb.distributions']\n"
        "assert first.Normal is ebb.distributions.Normal and 'Normal' in dir(first)\n"
    )
    printed(program)


def test_modules_have_the_names_that_programs_import():
    import ebb.distributions.normal
    from ebb.distributions.categorical import Categorical

    assert ebb.distributions.normal.Normal is D.Normal and Categorical is D.Categorical
    assert D.bernoulli.Bernoulli is D.Bernoulli


NORMAL = D.Normal(ebb.zeros(3), 1.0)
CATEGORICAL = D.Categorical(ebb.ones(3))

# A call and how the text of its error starts.
ERRORS = {
    "parameter": (
        lambda: D.Normal(0.0, ebb.tensor([1.0, -2.0])),
        "Normal: scale must satisfy GreaterThan(lower_bound=0.0), got values from -2 to 1",
    ),
    "nan": (lambda: D.Normal(math.nan, 1.0), "Normal: loc must satisfy Real(), got values from n"),
    "bounds": (lambda: D.Uniform(2.0, 1.0), "Uniform: needs low below high, got Uniform(low: 2.0"),
    "both": (lambda: D.Bernoulli(0.5, 0.5), "Bernoulli: needs exactly one of probs, logits, got 2"),
    "neither": (lambda: D.Categorical(), "Categorical: needs exactly one of probs, logits, got 0"),
    "0-d": (lambda: D.Categorical(ebb.tensor(0.5)), "Categorical: needs at least one dim, got []"),
    "type": (lambda: NORMAL.log_prob(1.0), "log_prob: Normal: value must be Tensor, got float"),
    "shape": (
        lambda: NORMAL.log_prob(ebb.zeros(2)),
        "log_prob: Normal: value must broadcast to batch [3] and event [], got [2]",
    ),
    "value": (
        lambda: D.Bernoulli(0.5).log_prob(ebb.tensor(0.5)),
        "log_prob: Bernoulli: value must be within Boolean(), got values from 0.5 to 0.5",
    ),
    "category": (
        lambda: CATEGORICAL.log_prob(ebb.tensor(3)),
        "log_prob: Categorical: value must be within IntegerInterval(lower_bound=0, upper_bound=2)",
    ),
    "none": (lambda: CATEGORICAL.cdf(ebb.tensor(1)), "cdf: Categorical has none"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_what_is_no_parameter_or_value_is_refused(case):
    call, text = ERRORS[case]
    with pytest.raises(ebb.Error) as caught:
        call()
    assert str(caught.value).startswith(text)


def test_checks_can_be_left_out():
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Bernoulli(3.0).probs == 3
    finally:
        D.Distribution.set_default_validate_args(True)


def test_numbers_take_the_dtype_of_the_tensors_beside_them():
    assert D.Normal(0, 1).loc.dtype == ebb.float32
    wide = D.Normal(0, ebb.ones(2, dtype=ebb.float64))
    assert wide.loc.dtype == ebb.float64 and wide.sample().dtype == ebb.float64
    assert str(D.Normal(0.5, 2.0)) == "Normal(loc: 0.5, scale: 2.0)"


def test_a_distribution_of_a_program_needs_only_its_mathematics():
    class Exponential(D.Distribution):
        arg_constraints = {"rate": constraints.positive}  # noqa: RUF012
        support = constraints.positive
        has_rsample = True

        def __init__(self, rate, validate_args=None):
            self.rate = rate
            super().__init__(rate.shape, validate_args=validate_args)

        def rsample(self, sample_shape=()):
            return -ebb.rand(self._extended_shape(sample_shape)).log() / self.rate

        def log_prob(self, value):
            self._validate_sample(value)
            return self.rate.log() - self.rate * value

    own = Exponential(ebb.tensor([1.0, 2.0]))
    assert own.expand([3, 2]).sample([4]).shape == (4, 3, 2)
    assert (
        own.expand([3, 2]).log_prob(ebb.ones(2)).tolist()[0] == own.log_prob(ebb.ones(2)).tolist()
    )
    with pytest.raises(ValueError, match="value must be within GreaterThan"):
        own.log_prob(ebb.zeros(2))
    with pytest.raises(NotImplementedError, match="mean: Exponential has none"):
        assert own.mean


def test_an_exponential_family_has_its_entropy_by_differentiation():
    family = D.ExponentialFamily
    for one in (D.Normal(0.5, 2.0), D.Bernoulli(0.3), D.Normal(ebb.zeros(2, 3), 1.5)):
        difference = family.entropy(one) - one.entropy()
        assert difference.shape == one.batch_shape and difference.abs().max() < 1e-5


def test_a_one_hot_category_passes_gradients_straight_through():
    logits = ebb.tensor([[0.5, 1.0, -1.0]], requires_grad=True)
    sample = D.OneHotCategoricalStraightThrough(logits=logits).rsample([4])
    assert sample.shape == (4, 1, 3) and (sample.sum(-1) - 1).abs().max() < 1e-6
    (sample * ebb.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert logits.grad.abs().max() > 0.1


def test_triangles_become_vectors_and_back():
    vector = ebb.arange(12.0).reshape(2, 6)
    matrix = D.utils.vec_to_tril_matrix(vector)
    assert matrix[0].tolist() == [[0, 0, 0], [1, 2, 0], [3, 4, 5]]
    assert ebb.equal(D.utils.tril_matrix_to_vec(matrix), vector)
    strict = D.utils.vec_to_tril_matrix(vector[:, :3], -1)
    assert strict[1].tolist() == [[0, 0, 0], [6, 0, 0], [7, 8, 0]]
    assert ebb.equal(D.utils.tril_matrix_to_vec(strict, -1), vector[:, :3])
    with pytest.raises(ValueError, match="4 elements fill no triangle of diag 0"):
        D.utils.vec_to_tril_matrix(ebb.ones(4))


def test_sample_n_draws_along_a_new_first_dim():
    ebb.manual_seed(3)
    drawn = D.Gamma(1.0, ebb.ones(2)).sample_n(4)
    ebb.manual_seed(3)
    assert ebb.equal(drawn, D.Gamma(1.0, ebb.ones(2)).sample((4,))) and drawn.shape == (4, 2)


@pytest.mark.parametrize("name", ["mean", "mode", "variance", "stddev"])
@pytest.mark.parametrize("family", [D.RelaxedBernoulli, D.RelaxedOneHotCategorical])
def test_moments_that_relaxed_distributions_lack_are_not_implemented(family, name):
    one = family(ebb.tensor(0.5), ebb.tensor([0.5, 0.5]))
    with pytest.raises(NotImplementedError, match=f"{family.__name__} has none"):
        getattr(one, name)
    assert not hasattr(one, name)
