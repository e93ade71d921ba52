# tests/python/ops/numbers/test_pointwise.py -- operators and pointwise functions where rows of the
# op table do not reach: ties, kinks, NaN, integer division, what Python's operators do.
import math

import numpy as np
import pytest

import ebb
from tests.python.leaves import leaf_of

INF, NAN = math.inf, math.nan


def grads(output, *inputs):
    return [one.tolist() for one in ebb.autograd.grad([output.sum()], list(inputs))]


# --- operators ---

BINARY = {
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}


@pytest.mark.parametrize("name", BINARY)
def test_operators_of_integers_are_numpys(name):
    operator = BINARY[name]
    lhs, rhs = np.array([7, -7, 5, -5, 0]), np.array([2, 2, 3, 3, 4])
    x, y = ebb.tensor(lhs), ebb.tensor(rhs)
    assert operator(x, y).tolist() == operator(lhs, rhs).tolist()
    assert operator(x, 3).tolist() == operator(lhs, 3).tolist()
    assert operator(11, y).tolist() == operator(11, rhs).tolist()
    assert operator(x, y).dtype == ebb.int64
    assert operator(x, rhs).tolist() == operator(lhs, rhs).tolist()


def test_operators_in_place_write_their_target():
    x = ebb.tensor([7, -7, 5])
    same = x
    x //= 2
    x **= 2
    x %= 5
    x |= 8
    x &= 11
    x ^= 1
    assert same is x
    expected = np.array([7, -7, 5])
    expected //= 2
    expected **= 2
    expected %= 5
    expected |= 8
    expected &= 11
    expected ^= 1
    assert x.tolist() == expected.tolist()


def test_unary_operators():
    assert (~ebb.tensor([0, 5, -1])).tolist() == [-1, -6, 0]
    assert (~ebb.tensor([True, False])).tolist() == [False, True]
    assert abs(ebb.tensor([-1.5, 2.0])).tolist() == [1.5, 2.0]


def test_operators_leave_what_they_do_not_know_to_the_other_side():
    class Other:
        def __rpow__(self, other):
            return "power"

        def __rand__(self, other):
            return "and"

    x = ebb.ones([2])
    assert x ** Other() == "power"
    assert x & Other() == "and"
    with pytest.raises(TypeError):
        pow(x, 2, 5)
    with pytest.raises(TypeError):
        x % "3"


def test_operators_of_numbers_on_the_left_are_differentiable():
    x = leaf_of([1.0, 2.0, 3.0])
    assert grads(2.0**x, x)[0] == pytest.approx([2**v * math.log(2) for v in (1.0, 2.0, 3.0)])
    assert grads(7.0 % x, x) == [[-7.0, -3.0, -2.0]]
    assert grads(x**3, x) == [[3.0, 12.0, 27.0]]


# --- division ---


@pytest.mark.parametrize("function", [ebb.floor_divide, ebb.remainder, ebb.fmod])
@pytest.mark.parametrize("dtype", [ebb.uint8, ebb.int8, ebb.int32, ebb.int64])
def test_no_integer_is_divided_by_zero(function, dtype):
    x, y = ebb.tensor([4, 5]).to(dtype), ebb.tensor([2, 0]).to(dtype)
    with pytest.raises(ValueError, match="an integer divisor must not be 0"):
        function(x, y)
    with pytest.raises(ValueError, match="an integer divisor must not be 0, got 0"):
        function(x, 0)
    with pytest.raises(ValueError, match="an integer divisor must not be 0"):
        getattr(x, function.__name__ + "_")(y)
    assert x.tolist() == [4, 5]
    assert function(x.float(), y).tolist()[0] in (0.0, 2.0)


def test_the_least_integer_divided_by_minus_one_wraps():
    for dtype, low in ((ebb.int8, -(2**7)), (ebb.int32, -(2**31)), (ebb.int64, -(2**63))):
        x = ebb.tensor([low, 6]).to(dtype)
        assert (x // -1).tolist() == [low, -6]
        assert (x % -1).tolist() == [0, 0]
        assert ebb.fmod(x, -1).tolist() == [0, 0]
        assert x.abs().tolist() == [low, 6]


def test_floats_divided_by_zero_are_numpys():
    values = np.array([1.0, -1.0, 0.0, NAN, INF])
    x = ebb.tensor(values)
    with np.errstate(all="ignore"):
        for ours, theirs in (
            (x // 0.0, values // 0.0),
            (x % 0.0, values % 0.0),
            (x % INF, values % INF),
            (ebb.fmod(x, 2.0), np.fmod(values, 2.0)),
        ):
            np.testing.assert_array_equal(ours.numpy(), theirs)


def test_floor_division_of_floats_is_pythons():
    rng = np.random.default_rng(0)
    lhs, rhs = rng.uniform(-50, 50, 500), rng.uniform(-3, 3, 500).round(1)
    lhs, rhs = lhs[rhs != 0].round(1), rhs[rhs != 0]
    pairs = list(zip(lhs.tolist(), rhs.tolist(), strict=True))
    assert (ebb.tensor(lhs) // ebb.tensor(rhs)).tolist() == [a // b for a, b in pairs]
    assert (ebb.tensor(lhs) % ebb.tensor(rhs)).tolist() == [a % b for a, b in pairs]


@pytest.mark.parametrize("dtype", [ebb.float16, ebb.bfloat16])
def test_half_types_round_to_decimals_by_the_numbers_that_they_hold(dtype):
    x = ebb.tensor([0.58984, -1.453, 0.25, -0.05], dtype=dtype)
    for decimals in (1, 3, 5, -1):
        wanted = ebb.tensor(np.round(x.double().numpy(), decimals)).to(dtype)
        found = ebb.round(x, decimals=decimals)
        written = x.clone().round_(decimals=decimals)
        assert found.dtype == dtype and found.tolist() == written.tolist() == wanted.tolist()


def test_rounded_division():
    x = ebb.tensor([7, -7, 6])
    assert ebb.div(x, 2, rounding_mode="floor").tolist() == [3, -4, 3]
    assert ebb.div(x, 2, rounding_mode="trunc").tolist() == [3, -3, 3]
    assert ebb.div(x, 2, rounding_mode="trunc").dtype == ebb.int64
    assert ebb.div(x, 2, rounding_mode=None).tolist() == [3.5, -3.5, 3.0]
    with pytest.raises(
        ValueError, match="rounding_mode must be None, 'floor' or 'trunc', got 'up'"
    ):
        ebb.div(x, 2, rounding_mode="up")


# --- powers ---


@pytest.mark.parametrize("exponent", [0.5, 1, 2, 3, -1, -2, 0, 2.5, -0.5, 4])
@pytest.mark.parametrize("dtype", [ebb.float32, ebb.float64])
def test_powers_by_a_number_are_those_by_a_tensor(exponent, dtype):
    x = ebb.tensor([0.0, 0.25, 1.0, 2.0, 3.5, 1e-3, 1e3], dtype=dtype)
    by_tensor = x ** ebb.full([7], float(exponent), dtype=dtype)
    wanted = x.double().numpy() ** np.float64(exponent) if exponent > 0 else None
    np.testing.assert_allclose((x**exponent).numpy(), by_tensor.numpy(), rtol=1e-6)
    if wanted is not None:
        np.testing.assert_allclose((x**exponent).numpy(), wanted, rtol=2e-7)


def test_powers_of_integers():
    assert (ebb.tensor([2, -3, 0]) ** 3).tolist() == [8, -27, 0]
    assert (ebb.tensor([2, 1, -1]) ** ebb.tensor([-1, -2, -3])).tolist() == [0, 1, -1]
    assert (ebb.tensor([2, 3]) ** -1.0).tolist() == pytest.approx([0.5, 1 / 3])
    assert (ebb.tensor([200], dtype=ebb.uint8) ** 2).tolist() == [200 * 200 % 256]


def test_the_gradient_of_a_power_is_zero_where_it_is_flat():
    x = leaf_of([0.0, 2.0])
    assert grads(x**0, x) == [[0.0, 0.0]]
    assert grads(x**2, x) == [[0.0, 4.0]]
    y = leaf_of([0.0, 2.0])
    assert grads(x**y, x, y) == [[0.0, 4.0], [0.0, pytest.approx(4 * math.log(2))]]


def test_zero_to_a_power_that_is_a_tensor():
    y = leaf_of([1.0, 2.0])
    assert grads(0.0**y, y) == [[0.0, 0.0]]


# --- bounds ---


def test_equal_operands_of_maximum_and_minimum_share_the_gradient():
    x, y = leaf_of([1.0, 2.0, 3.0]), leaf_of([1.0, 5.0, 0.0])
    assert grads(ebb.maximum(x, y), x, y) == [[0.5, 0.0, 1.0], [0.5, 1.0, 0.0]]
    assert grads(ebb.minimum(x, y), x, y) == [[0.5, 1.0, 0.0], [0.5, 0.0, 1.0]]


def test_clamp_passes_no_gradient_on_bounds_and_shares_it_with_tensors():
    x = leaf_of([-2.0, -1.0, 0.0, 1.0, 2.0])
    assert grads(x.clamp(-1, 1), x) == [[0.0, 0.0, 1.0, 0.0, 0.0]]
    assert grads(x.clamp(min=-1), x) == [[0.0, 0.0, 1.0, 1.0, 1.0]]
    assert grads(x.clamp(max=1), x) == [[1.0, 1.0, 1.0, 0.0, 0.0]]
    low, high = leaf_of([-1.0] * 5), leaf_of([1.0] * 5)
    assert grads(x.clamp(low, high), x, low, high) == [
        [0.0, 0.5, 1.0, 0.5, 0.0],
        [1.0, 0.5, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.5, 1.0],
    ]


def test_clamp_takes_bounds_of_either_kind():
    x = ebb.tensor([-3, 0, 3])
    assert x.clamp(-1, 2).tolist() == [-1, 0, 2]
    assert x.clamp(min=ebb.tensor(-1)).tolist() == [-1, 0, 3]
    assert x.clamp(None, ebb.tensor([0, 1, 2])).tolist() == [-3, 0, 2]
    assert x.clip(max=1.5).tolist() == [-3.0, 0.0, 1.5]
    assert x.clamp(2, 1).tolist() == [1, 1, 1]


def test_a_refused_clamp_in_place_writes_nothing():
    x = ebb.tensor([-3, 0, 3])
    for low, high in (
        (-1, 1.5),
        (ebb.tensor(-1), ebb.tensor([1.5])),
        (ebb.tensor(-1), ebb.ones([2, 3])),
    ):
        with pytest.raises(ebb.Error, match="clamp"):
            x.clamp_(low, high)
        assert x.tolist() == [-3, 0, 3]


# --- kinks ---


@pytest.mark.parametrize(
    ("function", "point", "wanted"),
    [
        (ebb.abs, 0.0, 0.0),
        (ebb.relu, 0.0, 0.0),
        (ebb.leaky_relu, 0.0, 0.01),
        (ebb.elu, 0.0, 1.0),
        (ebb.hardtanh, 1.0, 0.0),
        (ebb.hardtanh, -1.0, 0.0),
        (ebb.relu6, 0.0, 0.0),
        (ebb.relu6, 6.0, 0.0),
        (ebb.hardsigmoid, 3.0, 0.0),
        (ebb.softsign, 0.0, 1.0),
        (ebb.sign, 0.0, 0.0),
        (ebb.round, 0.5, 0.0),
    ],
)
def test_gradients_at_kinks_are_pytorchs(function, point, wanted):
    x = leaf_of([point])
    assert grads(function(x), x) == [[wanted]]


@pytest.mark.parametrize(
    ("function", "point"),
    [(ebb.rsqrt, 0.0), (ebb.log1p, -1.0), (ebb.log2, 0.0), (ebb.log10, 0.0), (ebb.asin, 1.0),
     (ebb.acos, -1.0), (ebb.reciprocal, 0.0), (lambda x: x**0.5, 0.0), (lambda x: x**-1, 0.0),
     (lambda x: ebb.atan2(x, x), 0.0), (lambda x: ebb.hypot(x, x), 0.0)],
)  # fmt: skip
def test_a_masked_singular_point_does_not_poison(function, point):
    x = leaf_of([point, 0.5])
    safe = ebb.where(ebb.tensor([False, True]), function(x), 0)
    total = safe.sum()
    for _ in range(3):
        (derivative,) = ebb.autograd.grad([total], [x], create_graph=True)
        assert derivative.tolist()[0] == 0.0
        assert math.isfinite(derivative.tolist()[1])
        total = derivative.sum()


@pytest.mark.parametrize("function", [ebb.sigmoid, ebb.logsigmoid, ebb.softplus])
def test_activations_of_large_numbers_stay_finite(function):
    x = leaf_of([-1e4, -100.0, 100.0, 1e4])
    out = function(x)
    assert all(math.isfinite(one) for one in out.tolist())
    assert all(math.isfinite(one) for one in grads(out, x)[0])


def test_softplus_is_the_identity_above_its_threshold():
    x = leaf_of([-1.0, 0.5, 2.0])
    out = ebb.softplus(x, 2.0, 3.0)
    assert out.tolist()[2] == 2.0
    assert grads(out, x)[0][2] == 1.0


# --- NaN, infinity, masks ---


@pytest.mark.parametrize("dtype", [ebb.float16, ebb.bfloat16, ebb.float32, ebb.float64])
def test_nan_and_infinity_are_found(dtype):
    x = ebb.tensor([0.0, NAN, INF, -INF, 1.0], dtype=dtype)
    assert x.isnan().tolist() == [False, True, False, False, False]
    assert x.isinf().tolist() == [False, False, True, True, False]
    assert x.isfinite().tolist() == [True, False, False, False, True]
    big = {ebb.float16: 65504.0, ebb.bfloat16: 2.0**127 * (2 - 2**-7)}
    top = big.get(dtype) or ebb.finfo(dtype).max
    assert x.nan_to_num().tolist() == [0.0, 0.0, top, -top, 1.0]
    assert x.nan_to_num(1.0, 2.0, 3.0).tolist() == [0.0, 1.0, 2.0, 3.0, 1.0]
    assert x.nan_to_num(INF, 2.0).tolist()[1:3] == [INF, 2.0]


def test_replaced_elements_have_no_gradient():
    x = leaf_of([1.0, NAN, INF])
    assert grads(x.nan_to_num(), x) == [[1.0, 0.0, 0.0]]
    y = leaf_of([1.0, 2.0, 3.0])
    mask, value = ebb.tensor([True, False, True]), leaf_of(5.0)
    filled = y.masked_fill(mask, value)
    assert filled.tolist() == [5.0, 2.0, 5.0]
    assert grads(filled, y, value) == [[0.0, 1.0, 0.0], 2.0]


def test_masked_fill_in_place_keeps_the_dtype():
    x = ebb.zeros([2, 2], dtype=ebb.float16)
    x.masked_fill_(ebb.tensor([True, False]), 2)
    assert x.tolist() == [[2.0, 0.0], [2.0, 0.0]]
    assert x.dtype == ebb.float16
    assert ebb.arange(2).masked_fill(ebb.tensor([True, False]), 7).tolist() == [7, 1]


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int64", "float16", "float64"])
@pytest.mark.parametrize("value", [True, 1, 0, 2, 2.0, 2.9, -1.9, 2 + 0j], ids=repr)
def test_masked_fill_takes_numbers_as_fill_does(name, value):
    x, mask = ebb.ones([2], dtype=getattr(ebb, name)), ebb.tensor([True, False])
    if (name, value) == ("uint8", -1.9):
        for fill in (x.masked_fill, x.masked_fill_):
            with pytest.raises(ValueError, match=r"masked_fill_?: the number must fit into uint8"):
                fill(mask, value)
        return
    expected = [x.clone()[0].fill_(value).item(), x[1].item()]
    assert x.masked_fill(mask, value).tolist() == expected
    assert x.masked_fill(mask, value).dtype is x.dtype
    assert x.masked_fill_(mask, value) is x and x.tolist() == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30, 1j, 2**70], ids=repr)
def test_masked_fill_refuses_numbers_that_integers_cannot_be(value):
    x = ebb.arange(2)
    with pytest.raises((ValueError, TypeError), match="masked_fill"):
        x.masked_fill(ebb.tensor([True, False]), value)
    assert x.tolist() == [0, 1]


def test_comparisons_of_nan_are_false_but_for_ne():
    x = ebb.tensor([NAN, 1.0])
    for function, wanted in (
        (ebb.eq, False), (ebb.ge, False), (ebb.le, False), (ebb.gt, False), (ebb.lt, False),
        (ebb.ne, True),
    ):  # fmt: skip
        assert function(x, x).tolist()[0] is wanted
        assert function(x, NAN).tolist()[0] is wanted
    assert (x >= 1).tolist() == [False, True]
    assert (x != 1).tolist() == [True, False]


def test_equal_and_allclose_are_bools():
    x = ebb.tensor([1.0, NAN])
    assert ebb.equal(ebb.arange(3), ebb.arange(3)) is True
    assert ebb.equal(ebb.arange(3), ebb.arange(4)) is False
    assert ebb.allclose(x, x) is False
    assert x.allclose(x, equal_nan=True) is True
    assert ebb.allclose(ebb.tensor([1.0, INF]), ebb.tensor([1.0 + 1e-9, INF])) is True
    assert ebb.allclose(ebb.tensor([1.0]), ebb.tensor([1.1])) is False
    assert ebb.isclose(ebb.tensor([INF]), ebb.tensor([1.0])).tolist() == [False]
    # 254.5 apart, which bfloat16 rounds to 254.
    halves = [ebb.tensor([value], dtype=ebb.bfloat16) for value in (256.0, 1.5)]
    assert ebb.isclose(*halves, rtol=0, atol=254).tolist() == [False]
    with pytest.raises(ValueError, match="isclose: rtol must be at least 0, got -1"):
        ebb.isclose(x, x, rtol=-1.0)
    with pytest.raises(TypeError, match="must be Tensor, got list"):
        ebb.allclose(x, [1.0])


def test_masks_combine():
    x = ebb.arange(6)
    assert ((x > 1) & (x < 4)).tolist() == [False, False, True, True, False, False]
    assert ((x < 1) | (x > 4)).tolist() == [True, False, False, False, False, True]
    assert (~(x > 1) ^ (x == 5)).tolist() == [True, True, False, False, False, True]
    assert ebb.logical_xor(x, x - 1).tolist() == [True, True, False, False, False, False]


# --- texts ---


def test_gelu_refuses_other_approximations():
    x = ebb.ones([2], requires_grad=True)
    assert "GeluTanh" in ebb.gelu(x, approximate="tanh").grad_fn.name()
    with pytest.raises(ValueError, match="gelu: approximate must be 'none' or 'tanh', got 'x'"):
        ebb.gelu(x, approximate="x")
    with pytest.raises(
        TypeError, match=r"gelu\(\): argument 'approximate' .* must be str, got int"
    ):
        ebb.gelu(x, approximate=1)
    with pytest.raises(ValueError, match=r"gelu\(\): 'utf-8' codec can't encode"):
        ebb.gelu(x, approximate="\ud800")
