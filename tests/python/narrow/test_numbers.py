# tests/python/narrow/test_numbers.py -- numbers beside half types are float32 until a result is
# rounded.
"""Python numbers, counts and tensors without dims beside float16 and bfloat16."""

from __future__ import annotations

import numpy as np
import pytest

import ebb
from tests.fuzz.rows.narrow import every_number

HALVES = [ebb.float16, ebb.bfloat16]
NAMES = {ebb.float16: "float16", ebb.bfloat16: "bfloat16"}
NUMBERS = [1.7, -0.1, 3, 1e-5, 1e-8, 65504, 65520.0, 65536, 70000, -1e6, 1e9]

OPS = {
    "x * n": lambda x, n: x * n,
    "n * x": lambda x, n: n * x,
    "x / n": lambda x, n: x / n,
    "n / x": lambda x, n: n / x,
    "x + n": lambda x, n: x + n,
    "x - n": lambda x, n: x - n,
    "n - x": lambda x, n: n - x,
    "x.add(x, alpha=n)": lambda x, n: x.add(x.flip(0), alpha=n),
    "x.sub(x, alpha=n)": lambda x, n: x.sub(x.flip(0), alpha=n),
    "x.lerp(x, n)": lambda x, n: x.lerp(x.flip(0), n),
    "x.clamp(min=n)": lambda x, n: x.clamp(min=n),
    "x.clamp(max=n)": lambda x, n: x.clamp(max=n),
    "x.clamp(-n, n)": lambda x, n: x.clamp(-abs(n), abs(n)),
    "atan2(x, n)": lambda x, n: ebb.atan2(x, ebb.tensor(float(n), dtype=ebb.float32)),
    "hypot(x, n)": lambda x, n: ebb.hypot(x, ebb.tensor(float(n), dtype=ebb.float32)),
    "fmod(x, n)": lambda x, n: ebb.fmod(x, n),
    "remainder(x, n)": lambda x, n: ebb.remainder(x, n),
    "leaky_relu(x, n)": lambda x, n: ebb.nn.functional.leaky_relu(x, n),
}


def same(got: ebb.Tensor, wanted: ebb.Tensor) -> bool:
    """Whether two tensors hold the same numbers, NaN wherever the other has it."""
    return bool(((got == wanted) | (got.isnan() & wanted.isnan())).all())


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("op", OPS)
def test_every_element_and_number_gives_the_float32_result_rounded_once(op, dtype):
    x = every_number(NAMES[dtype])
    is_fused = "alpha" in op  # a product that is not rounded before it is added
    for number in NUMBERS:
        wide = x.double() if is_fused else x.float()
        exact = OPS[op](wide, float(np.float32(number))).float()
        assert same(OPS[op](x, number), exact.to(dtype)), number


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_tensors_without_dims_keep_their_width_beside_half_types(dtype):
    x = every_number(NAMES[dtype])
    for number in NUMBERS:
        alone = ebb.tensor(float(np.float32(number)), dtype=ebb.float32)
        wanted = (x.float() * alone).to(dtype)
        assert same(x * alone, wanted) and same(alone.double() * x, wanted)
        assert same(x.clone().mul_(alone), wanted)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_numbers_are_the_same_in_every_layout_and_in_place(dtype):
    x = ebb.rand(64, 40).to(dtype)
    wanted = (x.float() * 1.7 - 0.3).to(ebb.float32)
    layouts = [x, x.t().contiguous().t(), ebb.stack([x, x], -1)[..., 0], x[:, ::2]]
    for one in layouts:
        expected = (one.float() * 1.7).to(dtype)
        assert same(one * 1.7, expected) and same(one.clone().mul_(1.7), expected)
        assert same(ebb.mul(one, 1.7, out=ebb.empty_like(one)), expected)
    assert wanted.shape == x.shape
    repeated = x[:1, :1].expand(3, 5)
    assert same(repeated * 1.7, (repeated.float() * 1.7).to(dtype))
    assert same(1.7 - repeated, (1.7 - repeated.float()).to(dtype))


def test_a_number_beyond_the_range_compares_as_it_is_and_any_other_as_it_would_be_stored():
    x = ebb.tensor([65504.0, float("inf"), 1.7], dtype=ebb.float16)
    assert (x > 70000).tolist() == [False, True, False]
    assert (x == 70000).tolist() == [False, False, False]
    assert (x <= 70000).tolist() == [True, False, True]
    assert (x == 1.7).tolist() == [False, False, True]
    assert (x > 1.7).tolist() == [True, True, False]


def test_a_sum_with_a_factor_is_rounded_once():
    x = ebb.tensor([1.0], dtype=ebb.float16)
    big = ebb.tensor([60000.0], dtype=ebb.float16)
    assert ebb.addcmul(x, big, big, value=1e-9).item() == ebb.tensor(4.6).half().item()
    assert ebb.addcdiv(x, big, x * 1e-3, value=1e-7).item() == ebb.tensor(6.9961).half().item()
    assert x.clone().addcmul_(big, big, value=1e-9).item() == ebb.tensor(4.6).half().item()
    assert big.add(x, alpha=-70000).item() == -10000
    assert big.sub(x, alpha=70000).item() == -10000
    index = ebb.tensor([0])
    assert big.index_add(0, index, x, alpha=-70000).item() == -10000


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_derivatives_of_numbers_beside_half_types_are_rounded_once(dtype):
    x = ebb.tensor([3.0], dtype=dtype, requires_grad=True)
    for function, slope in ((lambda v: v * 1.7, 1.7), (lambda v: v / 70000, 1 / 70000)):
        (first,) = ebb.autograd.grad(function(x), x, ebb.tensor([3.0], dtype=dtype))
        _, tangent = ebb.func.jvp(function, (x.detach(),), (ebb.tensor([3.0], dtype=dtype),))
        wanted = (ebb.tensor([3.0]) * slope).to(dtype)
        assert first.item() == tangent.item() == wanted.item()
    (first,) = ebb.autograd.grad((x * x * 1.7).sum(), x, create_graph=True)
    (second,) = ebb.autograd.grad(first, x)
    assert second.item() == pytest.approx(3.4, rel=2**-7)
