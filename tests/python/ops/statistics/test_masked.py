# tests/python/ops/statistics/test_masked.py -- ebb.masked counts what a mask keeps, and nothing
# else.
import inspect
import math

import numpy as np
import pytest

import ebb

VALUES = np.array([[3.0, -1.0, 4.0, 1.0], [-5.0, 9.0, -2.0, 6.0]])
MASK = np.array([[True, True, False, True], [False, True, True, False]])
REDUCTIONS = {
    "sum": np.sum,
    "prod": np.prod,
    "amax": np.max,
    "amin": np.min,
    "mean": np.mean,
    "median": lambda x: np.sort(x)[(len(x) - 1) // 2],
    "norm": np.linalg.norm,
    "var": lambda x: np.var(x, ddof=1),
    "std": lambda x: np.std(x, ddof=1),
    "logsumexp": lambda x: np.log(np.sum(np.exp(x))),
}
OF_NOTHING = {
    "sum": 0.0,
    "prod": 1.0,
    "amax": -math.inf,
    "amin": math.inf,
    "logsumexp": -math.inf,
    "mean": math.nan,
    "median": math.nan,
    "norm": 0.0,
    "var": math.nan,
    "std": math.nan,
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_counts_the_kept_elements_alone(name):
    found = getattr(ebb.masked, name)(ebb.tensor(VALUES), dim=1, mask=ebb.tensor(MASK))
    expected = [REDUCTIONS[name](row[kept]) for row, kept in zip(VALUES, MASK, strict=True)]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14)


@pytest.mark.parametrize("name", OF_NOTHING)
def test_a_reduction_of_nothing_is_known_and_passes_no_gradient_on(name):
    x = ebb.tensor(VALUES, requires_grad=True)
    found = getattr(ebb.masked, name)(x, dim=1, mask=ebb.zeros(4, dtype=ebb.bool))
    np.testing.assert_array_equal(found.detach().numpy(), [OF_NOTHING[name]] * 2)
    (grad,) = ebb.autograd.grad(found.sum(), x)
    assert grad.tolist() == [[0.0] * 4] * 2


@pytest.mark.parametrize("name", [*REDUCTIONS, "softmax", "log_softmax", "softmin", "cumsum"])
def test_without_a_mask_all_count(name):
    found = getattr(ebb.masked, name)(ebb.tensor(VALUES), dim=1)
    everything = ebb.ones(4, dtype=ebb.bool)
    expected = getattr(ebb.masked, name)(ebb.tensor(VALUES), dim=1, mask=everything)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-14)


@pytest.mark.parametrize("name", [*REDUCTIONS, "softmax", "softmin", "cumsum", "cumprod"])
def test_gradients_are_those_of_the_kept_elements(name):
    def of(x):
        return getattr(ebb.masked, name)(x, dim=1, mask=ebb.tensor(MASK))

    x = ebb.tensor(VALUES, requires_grad=True)
    assert ebb.autograd.gradcheck(of, (x,))


def test_a_correction_has_the_digits_of_the_values():
    x = ebb.tensor([1.0, 2.0, 4.0, 8.0], dtype=ebb.float64)
    wanted = ((x - x.mean()) ** 2).sum().item() / (4 - 1.3)
    assert ebb.masked.var(x, 0, correction=1.3).item() == pytest.approx(wanted, rel=1e-14)
    assert ebb.masked.std(x, 0, correction=1.3).item() == pytest.approx(wanted**0.5, rel=1e-14)


def test_places_and_integers_know_the_mask():
    x, mask = ebb.tensor([[3, 9, 5], [1, 0, 2]]), ebb.tensor([True, False, True])
    assert ebb.masked.argmax(x, 1, mask=mask).tolist() == [2, 2]
    assert ebb.masked.argmin(x, 1, mask=mask).tolist() == [0, 0]
    assert ebb.masked.amax(x, 0, mask=mask).tolist() == [3, -(2**63), 5]
    assert ebb.masked.var(x, 1, mask=mask).tolist() == [2.0, 0.5]
    assert ebb.masked.prod(x, (0, 1), mask=mask).item() == 30


def test_scans_and_shares_keep_the_shape():
    x, mask = ebb.tensor([1.0, 7.0, 1.0, 2.0]), ebb.tensor([True, False, True, True])
    assert ebb.masked.cumsum(x, 0, mask=mask).tolist() == [1.0, 1.0, 2.0, 4.0]
    assert ebb.masked.cumprod(x, 0, mask=mask).tolist() == [1.0, 1.0, 1.0, 2.0]
    assert ebb.masked.softmax(x[:3], 0, mask=mask[:3]).tolist() == [0.5, 0.0, 0.5]
    assert ebb.masked.softmin(x[:3], 0, mask=mask[:3]).tolist() == [0.5, 0.0, 0.5]
    assert ebb.masked.log_softmax(x, 0, mask=mask)[1].item() == -math.inf
    shares = ebb.masked.normalize(x, 1.0, 0, mask=mask)
    assert shares.tolist() == [0.25, 0.0, 0.25, 0.5]


def test_logaddexp_leaves_out_what_its_masks_hide():
    x, y = ebb.tensor([1.0, 2.0, 3.0]), ebb.tensor([4.0, 5.0, 6.0])
    hidden = {"input_mask": x < 2, "other_mask": y > 5}
    assert ebb.masked.logaddexp(x, y, **hidden).tolist() == [1.0, -math.inf, 6.0]


def test_a_refusal_names_the_function():
    with pytest.raises(TypeError, match=r"mean: needs a floating or complex dtype, got ebb\.int64"):
        ebb.masked.mean(ebb.tensor([1, 2]))
    with pytest.raises(ValueError, match="var: takes unbiased or correction, got both"):
        ebb.masked.var(ebb.ones(2), 0, True, correction=1)
    with pytest.raises(TypeError, match=r"^cumsum\(\): missing 1 .* argument: 'dim'"):
        ebb.masked.cumsum(ebb.ones(2))
    with pytest.raises(TypeError, match=r"^sum\(\): got an unexpected keyword argument 'of'"):
        ebb.masked.sum(ebb.ones(2), of=1)


def test_help_shows_the_arguments_and_an_example_of_each():
    assert str(inspect.signature(ebb.masked.std)).startswith("(input: 'Any', dim: 'Any' = None, un")
    assert ">>> ebb.masked.softmin(ebb.tensor(" in ebb.masked.softmin.__doc__
