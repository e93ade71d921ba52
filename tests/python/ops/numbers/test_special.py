# tests/python/ops/numbers/test_special.py -- gradients where finite differences do not reach: ties,
# kinks, singular points, masked branches.
#
# That a gradient of 0 stays 0 at singular points, tests/fuzz/rows/test_special_values.py tries for
# every pointwise row.
import math

import numpy as np
import pytest

import ebb
from tests.python.leaves import leaf_of

OPS = ebb._C._ops


def grads(output, inputs, seed=None):
    seeds = None if seed is None else [seed]
    return [one.tolist() for one in ebb.autograd.grad([output], inputs, seeds)]


def test_max_along_a_dim_sends_it_to_the_first_of_ties():
    x = leaf_of([[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]])
    values, indices = x.max(1)
    assert indices.tolist() == [1, 0]
    assert grads(values, [x], ebb.ones([2], dtype=ebb.float64)) == [
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    ]


def test_the_gradient_of_hypot_does_not_overflow_near_the_origin():
    x, y = leaf_of([1e-300]), leaf_of([0.0])
    seed = ebb.tensor([1e10], dtype=ebb.float64)
    assert grads(ebb.hypot(x, y), [x, y], seed) == [[1e10], [0.0]]
    assert grads(ebb.hypot(y, x), [x, y], seed) == [[1e10], [0.0]]


def test_where_keeps_nan_out_of_the_branch_not_taken():
    x = leaf_of([1.0, 2.0])
    out = ebb.where(ebb.tensor([True, False]), x, ebb.tensor([math.nan, 5.0]))
    assert out.tolist() == [1.0, 5.0]
    assert grads(out.sum(), [x]) == [[1.0, 0.0]]


def test_mul0_is_zero_where_its_first_operand_is_zero():
    zero, singular = leaf_of([0.0, 0.0, 2.0]), leaf_of([math.inf, math.nan, 3.0])
    out = OPS.mul0(zero, singular)
    assert out.tolist() == [0.0, 0.0, 6.0]
    first = ebb.autograd.grad([out.sum()], [zero, singular])
    assert first[1].tolist() == [0.0, 0.0, 2.0]


def test_div0_is_zero_where_its_first_operand_is_zero():
    zero, singular = leaf_of([0.0, 0.0, 6.0]), leaf_of([0.0, math.nan, 3.0])
    out = OPS.div0(zero, singular)
    assert out.tolist() == [0.0, 0.0, 2.0]
    first = ebb.autograd.grad([out.sum()], [zero, singular], create_graph=True)
    assert first[1].tolist() == [0.0, 0.0, -2 / 3]
    (second,) = ebb.autograd.grad([first[1].sum()], [singular])
    assert second.tolist()[2] == pytest.approx(4 / 9)


def test_the_gradient_of_mul0_is_zero_where_none_arrives():
    for values in ([math.inf, 2.0], [math.nan, 2.0]):
        singular, other = leaf_of(values), leaf_of([3.0, 4.0])
        seed = ebb.tensor([0.0, 1.0], dtype=ebb.float64)
        for arguments in ((singular, other), (other, singular)):
            first = grads(OPS.mul0(*arguments), [singular, other], seed)
            assert first == [[0.0, 4.0], [0.0, 2.0]]


def test_a_power_made_of_products_has_derivatives_of_order_six():
    x = leaf_of(1.5)
    value = x * x * x * x * x * x
    for factor in (6, 5, 4, 3, 2, 1):
        (value,) = ebb.autograd.grad([value], [x], create_graph=True)
        assert value.requires_grad or factor == 1
    assert value.item() == pytest.approx(720.0)


def test_assignment_to_a_part_is_differentiable():
    x, value = leaf_of(np.arange(6.0).reshape(2, 3)), leaf_of([10.0, 20.0])

    def write(x, value):
        out = x * 2.0
        out[:, 1] = value
        return out * out

    assert ebb.autograd.gradcheck(write, (x, value))
    assert ebb.autograd.gradgradcheck(write, (x, value))


def test_broadcast_assignment_to_a_part_is_differentiable():
    x, value = leaf_of(np.arange(12.0).reshape(3, 4)), leaf_of([[1.0], [2.0]])

    def write(x, value):
        out = x * 2.0
        out[::2, 1:3] = value
        return out * out

    assert ebb.autograd.gradcheck(write, (x, value))


def test_cross_entropy_of_large_scores_stays_finite():
    x = leaf_of([[1e4, -1e4, 0.0]])
    loss = ebb.cross_entropy(x, ebb.tensor([1]))
    assert loss.item() == pytest.approx(2e4)
    assert all(math.isfinite(one) for one in grads(loss, [x])[0][0])


def test_a_real_operand_of_a_complex_product_gets_a_real_gradient():
    x, z = leaf_of([1.5, 2.0]), leaf_of([1 + 2j, 3 - 1j], dtype=ebb.complex128)
    first = ebb.autograd.grad([x * z], [x, z], [ebb.tensor([1j, 1 + 1j], dtype=ebb.complex128)])
    assert first[0].dtype == ebb.float64
    assert first[0].tolist() == [2.0, 2.0]
    assert first[1].tolist() == [1.5j, 2 + 2j]


@pytest.mark.parametrize("op", [ebb.max, ebb.min, ebb.amax, ebb.amin, ebb.median])
def test_full_reductions_to_one_element_share_the_gradient_among_ties(op):
    x = leaf_of([2.0, 2.0, 2.0])
    assert sum(grads(op(x), [x])[0]) == pytest.approx(1.0)
    assert grads(op(x), [x]) == [[pytest.approx(1 / 3)] * 3]


def second(function, x, seed=None):
    """The first and the second derivative."""
    (first,) = ebb.autograd.grad([function(x)], [x], seed, create_graph=True)
    (found,) = ebb.autograd.grad([first.sum()], [x], materialize_grads=True)
    return first.tolist(), found.tolist()


def test_the_angle_of_the_origin_has_no_gradient():
    x, y = leaf_of([0.0, 0.0, 1e-200, 1e200]), leaf_of([0.0, -0.0, 0.0, 1e200])
    seed = ebb.tensor([1.0, 1.0, 1.0, 1e200], dtype=ebb.float64)
    along_x, along_y = grads(ebb.atan2(x, y), [x, y], seed)
    assert along_x == [0.0, 0.0, 0.0, pytest.approx(0.5)]
    assert along_y == [0.0, 0.0, pytest.approx(-1e200), pytest.approx(-0.5)]


def test_powers_of_0_are_flat_in_every_order():
    exponent = leaf_of([0.5, 1.0, 3.0])
    for base in (0.0, ebb.zeros(3, dtype=ebb.float64)):
        ones = ebb.ones(3, dtype=ebb.float64)
        assert second(lambda y, base=base: base**y, exponent, [ones]) == ([0.0] * 3, [0.0] * 3)


def test_the_slope_of_a_power_of_0_changes_with_the_exponent():
    base, exponent = leaf_of([4.0]), leaf_of([0.0])
    (slope,) = ebb.autograd.grad([base**exponent], [base], create_graph=True)
    assert slope.tolist() == [0.0]
    assert grads(slope, [exponent]) == [[0.25]]  # of y x^(y - 1): 1 / x


def test_a_negative_base_has_a_gradient_to_a_complex_exponent():
    exponent = leaf_of([0.5 + 1j], dtype=ebb.complex128)
    wanted = np.conj((-2 + 0j) ** (0.5 + 1j) * np.log(-2 + 0j))
    for base in (-2.0, ebb.tensor([-2.0], dtype=ebb.float64)):
        (found,) = grads(base**exponent, [exponent], ebb.ones(1, dtype=ebb.complex128))
        np.testing.assert_allclose(found, [wanted])


@pytest.mark.parametrize("p", [2.0, 3.0])
def test_the_norm_of_zeros_is_flat_in_both_orders(p):
    assert second(lambda x: x.norm(p), leaf_of([0.0, 0.0])) == ([0.0, 0.0], [0.0, 0.0])


def test_a_masked_product_of_all_elements_does_not_poison():
    x = leaf_of([[math.inf, 0.0], [math.nan, 2.0], [3.0, 2.0]])
    rows = ebb.where(ebb.tensor([False, False, True]), x.prod(1), 0)
    assert grads(rows.sum(), [x]) == [[[0.0, 0.0], [0.0, 0.0], [2.0, 3.0]]]


@pytest.mark.parametrize("dtype", [ebb.float64, ebb.float32, ebb.float16])
@pytest.mark.parametrize("count", [1, 9])
def test_gelu_far_below_0_is_0_and_at_minus_infinity_not_a_number(dtype, count):
    x = ebb.tensor([[-60.0, -math.inf]], dtype=dtype).repeat(count, 1)
    out = ebb.nn.functional.gelu(x)
    assert out[:, 0].tolist() == [0.0] * count
    assert all(map(math.isnan, out[:, 1].tolist()))


def test_the_tail_of_gelu_is_that_of_the_complementary_error_function():
    x = -np.linspace(1.0, 37.0, 73)
    out = ebb.nn.functional.gelu(ebb.tensor(x)).numpy()
    wanted = [one * math.erfc(-one / math.sqrt(2)) / 2 for one in x]
    np.testing.assert_allclose(out, wanted, rtol=1e-12)


@pytest.mark.parametrize("is_inplace", [False, True])
def test_nan_to_num_replaces_in_both_parts_of_complex_numbers(is_inplace):
    values = [complex(math.nan, 2.0), complex(-math.inf, math.inf), 1 + 1j]
    x = ebb.tensor(values, dtype=ebb.complex128)
    function = x.nan_to_num_ if is_inplace else x.nan_to_num
    out = function(nan=5.0, posinf=7.0, neginf=-7.0)
    assert out.tolist() == [5 + 2j, -7 + 7j, 1 + 1j]
    assert (out is x) == is_inplace


@pytest.mark.parametrize("write", [lambda x: x.gt_(0.5), lambda x: x.logical_and_(x)])
def test_a_truth_value_written_in_place_ends_the_history(write):
    x = leaf_of([1.0, 0.0])
    with pytest.raises(ebb.AutogradError, match="a leaf that requires a gradient"):
        write(x)
    y = x * 2
    assert write(y).tolist() == [1.0, 0.0]
    assert grads((y * 3 + x).sum(), [x]) == [[1.0, 1.0]]


def test_a_function_that_writes_takes_its_operand_by_name():
    x = ebb.tensor([-1.0, 2.0])
    assert ebb.relu_(input=x) is x
    assert x.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_nextafter_goes_one_step_in_every_dtype(name):
    dtype = getattr(ebb, name)
    start = ebb.tensor([1.0, 1.0, -1.0, 0.0, 1.0, math.nan], dtype=dtype)
    towards = ebb.tensor([2.0, 0.0, -2.0, -1.0, 1.0, 0.0], dtype=dtype)
    steps = (ebb.nextafter(start, towards) - start).double().tolist()
    eps, least = ebb.finfo(dtype).eps, ebb.finfo(dtype).smallest_normal * ebb.finfo(dtype).eps
    assert steps[:5] == [eps, -eps / 2, -eps, -least, 0.0]
    assert math.isnan(steps[5])


def test_the_least_integer_has_divisors():
    least = ebb.tensor([-128, -128, 0], dtype=ebb.int8)
    assert ebb.gcd(least, ebb.tensor([6, 0, 0], dtype=ebb.int8)).tolist() == [2, -128, 0]
    assert ebb.lcm(least, ebb.tensor([1, 0, 5], dtype=ebb.int8)).tolist() == [-128, 0, 0]


@pytest.mark.parametrize("other", [0, -1, -3, 2, math.inf, math.nan])
@pytest.mark.parametrize("name", ["xlogy", "xlog1py"])
def test_logarithms_of_numbers_have_the_gradients_of_those_of_tensors(name, other):
    """On and beyond the pole a product with 0, and what gets no gradient, stays 0."""
    function = getattr(ebb.special, name)
    values = []
    for second in (other, ebb.full((5,), float(other))):
        x = ebb.tensor([0.0, 0.0, 2.0, -1.5, math.nan], requires_grad=True)
        out = function(x, second)
        out.backward(ebb.tensor([1.0, 0.0, 1.0, 0.0, 1.0]))
        values.append((out.tolist(), x.grad.tolist()))
    assert repr(values[0]) == repr(values[1])
