# tests/python/ops/linalg/test_out_dtype.py -- products in a dtype that is asked for.
import numpy as np
import pytest

import ebb

RANDOM = np.random.default_rng(3)


def half(*shape):
    return ebb.tensor(RANDOM.normal(size=shape).astype(np.float16))


@pytest.mark.parametrize("dtype", [ebb.float32, ebb.float64])
def test_products_of_half_types_lose_nothing(dtype):
    a, b, batch, other = half(3, 40), half(40, 4), half(2, 3, 40), half(2, 40, 4)
    row, matrix = half(4), half(3, 4)
    wide = [one.to(dtype) for one in (a, b, batch, other, row, matrix)]
    calls = [
        (ebb.mm(a, b, dtype), wide[0] @ wide[1]),
        (ebb.bmm(batch, other, out_dtype=dtype), wide[2] @ wide[3]),
        (ebb.addmm(row, a, b, dtype, beta=2), 2 * wide[4] + wide[0] @ wide[1]),
        (ebb.baddbmm(matrix, batch, other, dtype, alpha=0.5), wide[5] + 0.5 * wide[2] @ wide[3]),
    ]
    for found, wanted in calls:
        assert found.dtype is dtype
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-6, atol=1e-6)


def test_gradients_come_back_in_the_dtype_of_the_operands():
    a, b = half(2, 3).requires_grad_(), half(3, 2).requires_grad_()
    ebb.mm(a, b, ebb.float32).sum().backward()
    assert a.grad.dtype is b.grad.dtype is ebb.float16
    np.testing.assert_allclose(
        a.grad.numpy(), b.detach().float().sum(1).half().expand(2, 3).numpy()
    )


def test_the_result_goes_to_out():
    out = ebb.zeros(2, 2)
    assert ebb.mm(half(2, 3), half(3, 2), ebb.float32, out=out) is not None
    assert out.abs().sum().item() > 0
