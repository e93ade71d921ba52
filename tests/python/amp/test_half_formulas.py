# tests/python/amp/test_half_formulas.py -- formulas of half types are rounded once, at the end.
#
# What several ops make of half numbers would be rounded after each, and lost where one leaves the
# range. tests/fuzz/rows/test_half_range.py tries every op so; here are the cases that users met.
import numpy as np
import pytest

import ebb
import ebb.nn.functional as F

HALF = [ebb.float16, ebb.bfloat16]
TINY = 6e-8  # the least float16: its reciprocal is none
ULP = {ebb.float16: 2.0**-11, ebb.bfloat16: 2.0**-8}


def gradients(function, values, dtype, seed=1.0):
    """Of a half type and of float64, for the same numbers."""
    x = ebb.tensor(values).to(dtype).requires_grad_()
    wide = x.detach().double().requires_grad_()
    for one in (x, wide):
        out = function(one)
        out.backward(ebb.full_like(out, seed))
    return x.grad.double().numpy(), wide.grad.numpy()


def test_the_entropy_of_a_softmax_with_an_improbable_class_has_a_gradient():
    x = ebb.tensor([0.0, -12.0], dtype=ebb.float16, requires_grad=True)
    p = x.softmax(0)
    (-(p * p.log()).sum()).backward()
    np.testing.assert_allclose(x.grad.float().numpy(), [-6.8e-5, 7.4e-5], rtol=0.02)


LOGARITHMS = {
    "log": lambda x: x.log(),
    "log2": lambda x: x.log2(),
    "log10": lambda x: x.log10(),
    "xlogy": lambda x: ebb.xlogy(ebb.ones_like(x), x),
    "special.entr": lambda x: ebb.special.entr(x),
    "logit": lambda x: ebb.logit(x),
    "kl_div": lambda x: F.kl_div(ebb.zeros_like(x), x, reduction="sum"),
    "sqrt": lambda x: x.sqrt(),
    "division": lambda x: 1e-3 * x / x.detach(),
}


@pytest.mark.parametrize("name", LOGARITHMS)
def test_gradients_divide_by_numbers_whose_reciprocal_is_beyond_the_range(name):
    got, wanted = gradients(LOGARITHMS[name], [TINY, 1e-6, 1e-4], ebb.float16, seed=1e-4)
    np.testing.assert_allclose(got, wanted, rtol=2.0**-9, atol=2.0**-24)


@pytest.mark.parametrize("dtype", HALF)
def test_gradients_of_gated_activations_are_rounded_once(dtype):
    x = np.concatenate([np.linspace(-12, 12, 997), [2.999, 300.0, -300.0]])
    for function in (F.hardswish, F.mish, F.silu, F.gelu, F.softplus):
        got, wanted = gradients(function, x, dtype)
        np.testing.assert_allclose(got, wanted, rtol=1.01 * ULP[dtype], atol=2.0**-24)


def test_a_large_gradient_times_a_large_operand_of_mish_is_no_infinity():
    got, wanted = gradients(F.mish, [-12.0, 300.0], ebb.float16, seed=3e4)
    np.testing.assert_allclose(got, wanted, rtol=2.0**-10)


def test_products_that_are_summed_may_leave_the_range():
    scale = ebb.ones(1, dtype=ebb.float16, requires_grad=True)
    x = ebb.tensor([3e4, -3e4, 5.0], dtype=ebb.float16)
    (scale * x).backward(ebb.tensor([4.0, 4.0, 1.0], dtype=ebb.float16))
    assert scale.grad.item() == 5


def test_formulas_of_large_tensors_are_those_of_small_ones():
    numbers = np.tile([TINY, 1e-6, 1e-4, 1.0], 2**18)
    got, wanted = gradients(ebb.log, numbers, ebb.float16, seed=1e-4)
    np.testing.assert_allclose(got, wanted, rtol=2.0**-10)


def test_tangents_are_rounded_once():
    x = ebb.tensor([TINY, 1e-6], dtype=ebb.float16)
    with ebb.autograd.forward_ad.dual_level():
        dual = ebb.autograd.forward_ad.make_dual(x, ebb.full_like(x, 1e-4))
        tangent = ebb.autograd.forward_ad.unpack_dual(dual.log()).tangent
    assert tangent.dtype == ebb.float16
    wanted = ebb.full_like(x, 1e-4).double() / x.double()
    np.testing.assert_allclose(tangent.double().numpy(), wanted.numpy(), rtol=2.0**-10)


@pytest.mark.parametrize("dtype", HALF)
def test_losses_of_half_types_are_made_in_float32(dtype):
    x = ebb.tensor([300.0, 1.0, -2.0, 0.5] * 8).to(dtype).requires_grad_()
    weight = ebb.full_like(x, 1e-3)
    got = F.mse_loss(x, ebb.zeros_like(x), weight=weight)
    wide = x.detach().double()
    wanted = F.mse_loss(wide, ebb.zeros_like(wide), weight=weight.double())
    assert got.dtype == dtype
    np.testing.assert_allclose(got.item(), wanted.item(), rtol=ULP[dtype])
