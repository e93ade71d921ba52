# tests/python/narrow/test_products.py -- large products of bfloat16 and float16: one rounding
# of a sum that was kept in float32, in every memory layout and for any number of threads.
import numpy as np
import pytest

import ebb

# Their distance from one number to the next, as a part of the smaller one at most.
DTYPES = {"bfloat16": (ebb.bfloat16, 2.0**-7), "float16": (ebb.float16, 2.0**-10)}
SIZES = [(64, 64, 64), (1, 512, 513), (512, 1, 512), (33, 65, 129), (128, 127, 8), (300, 200, 100)]
LAYOUTS = ["plain", "turned", "every second", "expanded"]


def operand(rng, rows, columns, dtype, layout):
    if layout == "turned":
        return ebb.tensor(rng.standard_normal((columns, rows)), dtype=dtype).t()
    if layout == "every second":
        return ebb.tensor(rng.standard_normal((rows, 2 * columns)), dtype=dtype)[:, ::2]
    if layout == "expanded":
        return ebb.tensor(rng.standard_normal((rows, 1)), dtype=dtype).expand(rows, columns)
    return ebb.tensor(rng.standard_normal((rows, columns)), dtype=dtype)


def check(out, left, right, bias, unit):
    """Half a unit of the result, and the error of a sum of k float32 numbers in any order."""
    wide = [np.asarray(one.to(ebb.float64)) for one in (left, right)]
    exact = wide[0] @ wide[1]
    magnitude = np.abs(wide[0]) @ np.abs(wide[1])
    if bias is not None:
        exact = exact + np.asarray(bias.to(ebb.float64))
        magnitude = magnitude + np.abs(np.asarray(bias.to(ebb.float64)))
    bound = 0.51 * unit * np.abs(exact) + (wide[0].shape[-1] + 1) * 2.0**-23 * magnitude + 1e-7
    error = np.abs(np.asarray(out.to(ebb.float64)) - exact)
    assert (error <= bound).all(), (error / bound).max()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_product_rounds_once(size, name, layout):
    rng = np.random.default_rng(7)
    m, n, k = size
    dtype, unit = DTYPES[name]
    left = operand(rng, m, k, dtype, layout)
    right = operand(rng, k, n, dtype, layout)
    out = left @ right
    assert out.dtype == dtype
    check(out, left, right, None, unit)
    weight, bias = operand(rng, n, k, dtype, layout), operand(rng, 1, n, dtype, layout)[0]
    for given in (None, bias):
        check(ebb.nn.functional.linear(left, weight, given), left, weight.t(), given, unit)


@pytest.mark.parametrize("name", DTYPES)
def test_a_batch_is_its_products(name):
    rng = np.random.default_rng(8)
    dtype, _ = DTYPES[name]
    left = ebb.tensor(rng.standard_normal((3, 1, 64, 70)), dtype=dtype)
    right = ebb.tensor(rng.standard_normal((2, 70, 66)), dtype=dtype)
    out = left @ right
    for i in range(3):
        for j in range(2):
            assert (out[i, j] == left[i, 0] @ right[j]).all()


@pytest.mark.parametrize("name", DTYPES)
def test_threads_change_no_bit(name):
    dtype, _ = DTYPES[name]
    rng = np.random.default_rng(9)
    left, right = (ebb.tensor(rng.standard_normal((512, 512)), dtype=dtype) for _ in range(2))
    results = []
    for count in (1, 2, 3):
        ebb.set_num_threads(count)
        results.append(left @ right)
    assert all((one == results[0]).all() for one in results)


@pytest.mark.parametrize("name", DTYPES)
def test_gradients_are_those_of_float32_rounded(name):
    dtype, unit = DTYPES[name]
    rng = np.random.default_rng(10)
    values = [rng.standard_normal(shape) for shape in ((96, 80), (64, 80), (64,))]
    grads = {}
    for kind in (dtype, ebb.float32):
        leaves = [ebb.tensor(one, dtype=dtype).to(kind).requires_grad_() for one in values]
        ebb.nn.functional.linear(*leaves).sum().backward()
        grads[kind] = [np.asarray(leaf.grad.to(ebb.float64)) for leaf in leaves]
    for narrow, wide in zip(grads[dtype], grads[ebb.float32], strict=True):
        np.testing.assert_allclose(narrow, wide, rtol=unit, atol=1e-3)
