# tests/python/narrow/test_on_the_way.py -- what ops of half types make on the way to their results
# is float32: it neither leaves the range nor is rounded.
import numpy as np
import pytest

import ebb
from ebb.nn import functional

HALVES = (ebb.float16, ebb.bfloat16)


def alike(rows, columns, value):
    return ebb.full((rows, columns), value, dtype=ebb.float16)


def test_chains_of_products_pass_beyond_the_range_of_float16():
    large, small = alike(4, 4, 320.0), alike(4, 2, 2.0**-9)
    wanted = [[4 * 4 * 320 * 320 / 512] * 2] * 4
    assert ebb.linalg.multi_dot([large, large, small]).tolist() == wanted
    assert ebb.einsum("ij,jk,kl->il", large, large, small).tolist() == wanted


def test_einsum_sums_beyond_the_range_of_float16_before_it_multiplies():
    x = ebb.full((1024,), 256.0, dtype=ebb.float16)
    assert ebb.einsum("i,j->j", x, ebb.full((1,), 0.125, dtype=ebb.float16)).tolist() == [1024 * 32]


def test_bilinear_passes_beyond_the_range_of_float16():
    first, second = alike(1, 4, 300.0), alike(1, 4, 2.0**-9)
    weight = ebb.full((1, 4, 4), 256.0, dtype=ebb.float16)
    assert functional.bilinear(first, second, weight).item() == 4 * 4 * 300 / 2


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients_of_broadcast_matrices_are_rounded_once(dtype):
    rng = np.random.default_rng(0)
    left = ebb.tensor(rng.standard_normal((50, 3, 4))).to(dtype)
    right = ebb.tensor(rng.standard_normal((2, 1, 4, 5))).to(dtype)

    def gradients(*tensors):
        leaves = [one.detach().requires_grad_() for one in tensors]
        return ebb.autograd.grad((leaves[0] @ leaves[1]).sum(), leaves)

    for got, wanted in zip(
        gradients(left, right), gradients(left.double(), right.double()), strict=True
    ):
        assert got.tolist() == wanted.to(dtype).tolist()


def test_cross_entropy_averages_losses_beyond_the_range_of_float16():
    scores = ebb.zeros(8, 2, dtype=ebb.float16)
    scores[0] = ebb.tensor([-60000.0, 60000.0])
    loss = functional.cross_entropy(scores, ebb.zeros(8, dtype=ebb.int64))
    assert loss.dtype == ebb.float16
    np.testing.assert_allclose(loss.item(), 120000 / 8 + np.log(2) * 7 / 8, rtol=2**-11)


@pytest.mark.parametrize("divide", [ebb.div, ebb.Tensor.div_])
def test_a_quotient_is_cut_off_before_it_is_rounded(divide):
    x = ebb.tensor([248.0, -248.0], dtype=ebb.bfloat16)  # 32.93 is 33 in bfloat16
    other = ebb.tensor([7.53125, 7.53125], dtype=ebb.bfloat16)
    assert divide(x.clone(), other, rounding_mode="trunc").tolist() == [32, -32]
    assert divide(x.clone(), 7.53125, rounding_mode="trunc").tolist() == [32, -32]


@pytest.mark.parametrize("op", ["i0e", "i1e", "scaled_modified_bessel_k0"])
def test_second_derivatives_whose_terms_cancel_are_those_of_float64(op):
    def second(x):
        x = x.detach().requires_grad_()
        first = ebb.autograd.grad(getattr(ebb.special, op)(x).sum(), x, create_graph=True)[0]
        return ebb.autograd.grad(first.sum(), x)[0].double().numpy()

    x = ebb.tensor([2.0, 8.0, 20.0, 100.0], dtype=ebb.float16)
    np.testing.assert_allclose(second(x), second(x.double()), rtol=2**-9, atol=2**-24)
