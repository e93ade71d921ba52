# tests/python/narrow/test_attention.py -- fused attention of half types: float32 sums, rounded
# once, without float32 copies of its operands.
import numpy as np
import pytest

import ebb
from ebb.nn import functional
from tests.python.held import live_without_garbage
from tests.python.ops.network.test_attention import MASKS, numerical, operands, reference

sdpa = functional.scaled_dot_product_attention
HALVES = {"bfloat16": 2.0**-8, "float16": 2.0**-11}  # and half an ulp of 1


def narrow(array, dtype):
    """A tensor, and the numbers that it holds."""
    tensor = ebb.tensor(array).to(getattr(ebb, dtype))
    return tensor, tensor.double().numpy()


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize(("rows", "columns"), [(130, 520), (1, 700), (600, 3), (7, 1)])
def test_results_are_rounded_once(kind, rows, columns, dtype):
    tensors, arrays = zip(*(narrow(one, dtype) for one in operands(rows, columns)), strict=True)
    options, given = dict(MASKS[kind](rows, columns)), {}
    for name, mask in options.items():
        given[name] = mask
        if isinstance(mask, np.ndarray):
            given[name] = ebb.tensor(mask)
            if mask.dtype != bool:
                given[name], options[name] = narrow(mask, dtype)
    for one in tensors:
        one.requires_grad_()
    out = sdpa(*tensors, **given)
    unit, wanted = HALVES[dtype], reference(*arrays, **options)
    np.testing.assert_allclose(out.detach().double().numpy(), wanted, rtol=unit, atol=2e-6)
    seed, seed_array = narrow(np.random.default_rng(4).normal(size=out.shape), dtype)
    found = ebb.autograd.grad([out], tensors, [seed])
    for got, grad in zip(found, numerical(*arrays, seed_array, **options), strict=True):
        # The sums of weights and gradients start from an output that was rounded.
        bound = 4 * unit * np.abs(grad).max() + 4e-6
        np.testing.assert_allclose(got.double().numpy(), grad, rtol=unit, atol=bound)


@pytest.mark.parametrize("dtype", HALVES)
def test_a_nan_and_an_infinity_arrive(dtype):
    q, k, v = (narrow(one, dtype)[0] for one in operands(3, 600))
    v[0, 0, 5, 1] = float("inf")
    k[0, 1, 7, 0] = float("nan")
    out = sdpa(q, k, v).float().numpy()
    assert np.isinf(out[0, 0, :, 1]).all() and np.isfinite(out[0, 0, :, 0]).all()
    assert np.isnan(out[0, 1]).all()


@pytest.mark.parametrize("dtype", HALVES)
def test_no_float32_copy_of_an_operand_or_of_the_scores_is_made(dtype):
    q, k, v = (narrow(one, dtype)[0] for one in operands(4096, 4096, heads=16, features=64))
    before = live_without_garbage()
    ebb.reset_peak_memory()
    out = sdpa(q, k, v)
    taken = ebb.memory_stats()["peak"] - before - out.nbytes
    assert taken < q.nbytes // 2  # logsumexp and the tiles of each thread


def test_a_mask_in_steps_and_shared_heads_are_read_in_place():
    q, k, v = operands(5, 40, heads=4)
    k, v = k[:, :2], v[:, :2]
    wide = np.random.default_rng(3).normal(size=(5, 80))
    tensors, arrays = zip(*(narrow(one, "float16") for one in (q, k, v, wide)), strict=True)
    out = sdpa(*tensors[:3], tensors[3][:, ::2], enable_gqa=True)
    twice = [np.repeat(one, 2, axis=1) for one in arrays[1:3]]
    wanted = reference(arrays[0], *twice, attn_mask=arrays[3][:, ::2])
    np.testing.assert_allclose(out.double().numpy(), wanted, rtol=2.0**-11, atol=2e-6)
