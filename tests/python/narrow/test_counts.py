# tests/python/narrow/test_counts.py -- means, shares and losses of more elements than a half type
# can count: values, gradients and tangents beside float64's.
"""Counts beside float16 and bfloat16."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ebb
from ebb import Tensor
from ebb.nn import functional as F

COUNTS = [65505, 70000]
DIGITS = {ebb.float16: 2.0**-8, ebb.bfloat16: 2.0**-6}
LEAST = {ebb.float16: 2.0**-24, ebb.bfloat16: 0.0}


def index_of(x: Tensor) -> Tensor:
    return ebb.zeros(x.numel(), dtype=ebb.int64)


def bag(x: Tensor) -> Tensor:
    offsets = ebb.tensor([0])
    return F.embedding_bag(ebb.arange(x.numel()), x.unsqueeze(1), offsets, mode="mean").sum()


def by_frequency(x: Tensor) -> Tensor:
    return F.embedding(index_of(x), x[:1].view(1, 1), scale_grad_by_freq=True).mean()


EQUAL: dict[str, Callable[[Tensor], Tensor]] = {
    "mean": lambda x: x.mean(),
    "nanmean": lambda x: x.nanmean(),
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "amax of a dim": lambda x: x.view(-1, 1).amax(0).sum(),
    "norm inf": lambda x: ebb.linalg.vector_norm(x, float("inf")),
    "norm -inf": lambda x: ebb.linalg.vector_norm(x, -float("inf")),
    "dist inf": lambda x: ebb.dist(x, ebb.zeros_like(x), float("inf")),
    "embedding_bag": bag,
    "embedding by frequency": by_frequency,
    "scatter_reduce mean": lambda x: (x[:1] * 0).scatter_reduce(0, index_of(x), x, "mean").sum(),
    "scatter_reduce amax": lambda x: (x[:1] * 0).scatter_reduce(0, index_of(x), x, "amax").sum(),
    "index_reduce mean": lambda x: (x[:1] * 0).index_reduce(0, index_of(x), x, "mean").sum(),
    "segment_reduce": lambda x: ebb.segment_reduce(
        x, "mean", lengths=ebb.tensor([x.numel()])
    ).sum(),
    "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x.view(1, 1, -1), 1).sum(),
    "avg_pool1d": lambda x: F.avg_pool1d(x.view(1, 1, -1), x.numel()).sum(),
    "interpolate": lambda x: F.interpolate(x.view(1, 1, -1), size=1, mode="area").sum(),
    "weighted mse_loss": lambda x: F.mse_loss(x, x.detach() * 0, weight=ebb.ones_like(x)),
}
SPREAD: dict[str, Callable[[Tensor], Tensor]] = {
    "var": lambda x: x.var(),
    "std": lambda x: x.std(),
    "mse_loss": lambda x: F.mse_loss(x, x.detach() * 0),
    "huber_loss": lambda x: F.huber_loss(x, x.detach() * 0, delta=0.3),
    "kl_div": lambda x: F.kl_div(
        x.view(-1, 1), ebb.full_like(x, 0.25).view(-1, 1), reduction="batchmean"
    ),
    "logits": lambda x: F.binary_cross_entropy_with_logits(x, ebb.full_like(x, 0.25)),
    "cov": lambda x: ebb.cov(x),
    "corrcoef": lambda x: ebb.corrcoef(ebb.stack([x, x.detach().relu()]))[0, 1],
    "smoothed cross_entropy": lambda x: F.cross_entropy(
        x.view(1, -1), ebb.tensor([5]), label_smoothing=0.125
    ),
}
CASES = [*((name, True) for name in EQUAL), *((name, False) for name in SPREAD)]


def is_near(got: Tensor, wanted: Tensor, dtype: ebb.dtype) -> bool:
    error = (got.double() - wanted).abs().max().item() - LEAST[dtype]
    return error <= DIGITS[dtype] * wanted.abs().max().item()


@pytest.mark.parametrize("dtype", DIGITS, ids=str)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("name", "are_equal"), CASES)
def test_values_gradients_and_tangents_are_right_beyond_what_a_half_type_counts(
    name, are_equal, count, dtype
):
    function = (EQUAL if are_equal else SPREAD)[name]
    start = ebb.ones(count) if are_equal else ebb.linspace(-1, 1, count)
    x = start.to(dtype).requires_grad_()
    wide = x.detach().double().requires_grad_()
    value, wanted = function(x), function(wide)
    assert is_near(value, wanted, dtype)
    (slope,) = ebb.autograd.grad(value, x)
    (exact,) = ebb.autograd.grad(wanted, wide)
    assert is_near(slope, exact, dtype)
    _, tangent = ebb.func.jvp(function, (x.detach(),), (ebb.ones_like(x),))
    _, right = ebb.func.jvp(function, (wide.detach(),), (ebb.ones_like(wide),))
    assert abs(tangent.item() - right.item()) <= DIGITS[dtype] * exact.abs().sum().item()


def test_a_layer_of_float16_trains_on_the_mean_of_many_outputs():
    layer = ebb.nn.Linear(300, 300).half()
    layer(ebb.ones(300, 300).half()).mean().backward()
    # The share of each output, 1 / 90,000, is subnormal: it has 8 digits.
    assert layer.weight.grad.abs().max().item() == pytest.approx(1 / 300, rel=2**-8)


def test_an_overflowing_sum_over_its_count_is_infinite_and_not_nan():
    x = ebb.ones(70000, dtype=ebb.float16)
    assert (x.cumsum(0)[-1] / x.numel()).item() == float("inf")


@pytest.mark.long
def test_the_mean_of_more_elements_than_float32_counts_has_its_gradient():
    x = ebb.ones(2**24 + 1, dtype=ebb.bfloat16, requires_grad=True)
    for function in (ebb.mean, ebb.max, ebb.nanmean):
        (slope,) = ebb.autograd.grad(function(x), x)
        assert slope.min().item() == slope.max().item() == 2.0**-24
