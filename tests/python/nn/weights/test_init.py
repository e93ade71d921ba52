# tests/python/nn/weights/test_init.py -- starting values: their bounds, moments and exact patterns.
import math

import numpy as np
import pytest

import ebb
from ebb import nn
from ebb.nn import init


def drawn(fill, *shape, dtype=ebb.float64):
    ebb.manual_seed(11)
    tensor = ebb.empty(*shape, dtype=dtype, requires_grad=True)
    assert fill(tensor) is tensor and tensor.is_leaf
    return tensor.detach().to(ebb.float64).numpy()


def test_uniform_ones_keep_their_bounds():
    shape = (60, 40, 3)  # fan in 120, fan out 180
    bounds = {
        math.sqrt(6 / 300) * 2: lambda t: init.xavier_uniform_(t, gain=2),
        math.sqrt(6 / 120): lambda t: init.kaiming_uniform_(t, nonlinearity="relu"),
        math.sqrt(3 / 180): lambda t: init.kaiming_uniform_(t, 0, "fan_out", "linear"),
        math.sqrt(1 / 120): lambda t: init.kaiming_uniform_(t, math.sqrt(5)),
    }
    for bound, fill in bounds.items():
        largest = np.abs(drawn(fill, *shape)).max()
        assert 0.99 * bound < largest <= bound


def test_normal_ones_have_their_deviation():
    shape = (60, 40, 3)
    deviations = {
        math.sqrt(2 / 300): init.xavier_normal_,
        math.sqrt(2 / 120): init.kaiming_normal_,
        math.sqrt(1 / 180) * 5 / 3: lambda t: init.kaiming_normal_(t, 0, "fan_out", "tanh"),
    }
    for deviation, fill in deviations.items():
        values = drawn(fill, *shape)
        assert values.std() == pytest.approx(deviation, rel=0.03)
        assert abs(values.mean()) < 0.03 * deviation


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_trunc_normal_stays_within_its_bounds(name):
    values = drawn(lambda t: init.trunc_normal_(t, 1, 2, -1, 3), 20_000, dtype=getattr(ebb, name))
    assert values.min() >= -1 and values.max() <= 3
    assert values.mean() == pytest.approx(1, abs=0.03)
    assert values.std() == pytest.approx(2 * 0.5396, rel=0.02)  # cut to one deviation each side


@pytest.mark.parametrize("low, high", [(4.0, 5.0), (-9.0, -8.0), (30.0, 31.0), (-0.001, 0.001)])
def test_trunc_normal_reaches_far_tails(low, high):
    values = drawn(lambda t: init.trunc_normal_(t, 0, 1, low, high), 4000)
    assert values.min() >= low and values.max() <= high
    near = low if low > 0 else high
    if abs(near) > 1:  # in a tail, x beyond its edge is close to exponential
        assert np.abs(values - near).mean() == pytest.approx(1 / abs(near), rel=0.25)


@pytest.mark.parametrize("low, high", [(-2.0, 2.0), (-9.0, 9.0), (6.0, 7.0), (-30.0, 1e-3)])
def test_trunc_normal_of_float32_is_that_of_float64_rounded(low, high):
    values = [
        drawn(lambda t: init.trunc_normal_(t, 0, 1, low, high), 4000, dtype=dtype)
        for dtype in (ebb.float32, ebb.float64)
    ]
    np.testing.assert_allclose(*values, 1.3e-7, 1e-9)  # a unit in the last place


def test_trunc_normal_follows_the_distribution():
    values = np.sort(drawn(lambda t: init.trunc_normal_(t, 0, 1, -8, 8), 20_000))
    ranks = (np.arange(20_000) + 0.5) / 20_000
    expected = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in values])
    assert np.abs(expected - ranks).max() < 0.0163  # Kolmogorov and Smirnov, 1 in 10,000


@pytest.mark.parametrize(
    "shape", [(5, 5), (3, 70), (70, 40), (100, 100), (6, 2, 3), (1, 4), (4, 1)]
)
def test_orthogonal_rows_or_columns_are_orthonormal(shape):
    values = drawn(lambda t: init.orthogonal_(t, gain=3), *shape).reshape(shape[0], -1) / 3
    if values.shape[0] > values.shape[1]:
        values = values.T
    np.testing.assert_allclose(values @ values.T, np.eye(len(values)), atol=1e-13)


def test_orthogonal_draws_from_all_rotations():
    first = [init.orthogonal_(ebb.empty(2, 2))[0, 0].item() for _ in range(200)]
    assert abs(np.mean(first)) < 0.15 and np.std(first) == pytest.approx(math.sqrt(0.5), rel=0.1)


def test_eye_and_dirac_are_exact():
    np.testing.assert_array_equal(drawn(init.eye_, 2, 3), np.eye(2, 3))
    weight = drawn(lambda t: init.dirac_(t, 2), 4, 3, 3)
    expected = np.zeros((4, 3, 3))
    expected[[0, 1, 2, 3], [0, 1, 0, 1], 1] = 1
    np.testing.assert_array_equal(weight, expected)


def test_sparse_leaves_out_its_share():
    values = drawn(lambda t: init.sparse_(t, 0.3, std=2.0), 10, 6)
    assert ((values == 0).sum(0) == 3).all()
    assert values.std() > 1


def test_gains_are_pytorchs():
    assert init.calculate_gain("tanh") == pytest.approx(5 / 3)
    assert init.calculate_gain("relu") == pytest.approx(math.sqrt(2))
    assert init.calculate_gain("leaky_relu", 2.0) == pytest.approx(math.sqrt(0.4))
    for name in ("linear", "conv2d", "sigmoid"):
        assert init.calculate_gain(name) == 1
    assert init.calculate_gain("selu") == 0.75


def test_empty_tensors_are_left_alone():
    for name in ("xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_",
                 "orthogonal_", "trunc_normal_", "eye_"):  # fmt: skip
        assert getattr(init, name)(ebb.empty(0, 3)).shape == (0, 3)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda t: init.calculate_gain("gelu"), "calculate_gain: needs nonlinearity linear"),
        (lambda t: init.xavier_normal_(t), r"xavier_normal_: needs .* 2 dims, got shape \[3\]"),
        (lambda t: init.xavier_uniform_(t), r"xavier_uniform_: needs .* 2 dims, got shape \[3\]"),
        (lambda t: init.kaiming_normal_(t), r"kaiming_normal_: needs .* 2 dims, got shape \[3\]"),
        (lambda t: init.kaiming_uniform_(t), r"kaiming_uniform_: needs .* 2 dims, got shape"),
        (lambda t: init.kaiming_uniform_(t, 0, "fan_in", "gelu"), "kaiming_uniform_: needs nonl"),
        (lambda t: init.orthogonal_(t), r"orthogonal_: needs .* 2 dims, got shape \[3\]"),
        (lambda t: init.eye_(t), r"eye_: needs a tensor of 2 dims, got shape \[3\]"),
        (lambda t: init.dirac_(t), "dirac_: needs a tensor of 3 to 5 dims"),
        (lambda t: init.dirac_(ebb.empty(3, 2, 1), 2), "dirac_: needs groups that divide"),
        (lambda t: init.sparse_(t, 0.1), "sparse_: needs a tensor of 2 dims"),
        (lambda t: init.sparse_(ebb.empty(2, 2), 2), "sparse_: needs 0 <= sparsity <= 1, got 2"),
        (lambda t: init.trunc_normal_(t, std=0), "trunc_normal_: needs std > 0 and a < b"),
        (lambda t: init.trunc_normal_(t, a=1, b=1), "trunc_normal_: needs std > 0 and a < b"),
        (lambda t: init.kaiming_normal_(ebb.empty(2, 2), mode="x"), "kaiming_normal_: needs"),
    ],
)
def test_bad_arguments_are_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call(ebb.empty(3))


@pytest.mark.parametrize("name", ["uniform_", "normal_", "trunc_normal_", "xavier_uniform_",
    "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "sparse_"])  # fmt: skip
def test_a_generator_of_its_own_leaves_the_default_one_alone(name):
    def fill(**source):
        arguments = (0.5,) if name == "sparse_" else ()
        return getattr(init, name)(ebb.empty(4, 6), *arguments, **source).tolist()

    ebb.manual_seed(3)
    first = fill()
    before = ebb.get_rng_state().tolist()
    own = ebb.Generator().manual_seed(3)
    assert fill(generator=own) == first and fill(generator=own) != first
    assert ebb.get_rng_state().tolist() == before
    with pytest.raises(TypeError, match=f"{name}: argument 'generator' must be Generator"):
        fill(generator=3)


def test_what_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match="orthogonal_: needs a Tensor, got list"):
        init.orthogonal_([[1.0]])
    with pytest.raises(TypeError, match="trunc_normal_: argument 'std' must be float, got str"):
        nn.init.trunc_normal_(ebb.empty(3), std="x")


@pytest.mark.parametrize("name", [
    "constant", "dirac", "eye", "kaiming_normal", "kaiming_uniform", "normal", "orthogonal",
    "sparse", "uniform", "xavier_normal", "xavier_uniform",
])  # fmt: skip
def test_older_spellings_fill_alike_and_say_so(name):
    options = {"constant": {"val": 3.0}, "sparse": {"sparsity": 0.5}}.get(name, {})
    shape = (4, 2, 3) if name == "dirac" else (4, 3)
    ebb.manual_seed(5)
    expected = getattr(nn.init, f"{name}_")(ebb.empty(shape), **options)
    ebb.manual_seed(5)
    with pytest.warns(
        FutureWarning, match=f"^nn.init.{name} is deprecated .*: use nn.init.{name}_$"
    ):
        found = getattr(nn.init, name)(ebb.empty(shape), **options)
    assert ebb.equal(found, expected)
