# tests/python/narrow/test_conv.py -- convolutions of float16 and bfloat16: rounded once, some
# images widened at a time.
import pytest

import ebb
from ebb.nn import functional
from tests.fuzz.rows.temporaries import memory_of

EPS = {ebb.float16: 2.0**-11, ebb.bfloat16: 2.0**-8}  # half a unit
# Images that are widened at once; in several parts, the last being smaller; one at a time.
SHAPES = [
    ((3, 4, 9, 9), (6, 4, 3, 3), {}),
    ((7, 16, 112, 112), (16, 16, 3, 3), {"stride": 2, "padding": 1}),
    ((2, 8, 400, 400), (8, 1, 3, 3), {"groups": 8}),
]


def passes(images, weight, bias, options):
    leaves = [one.detach().requires_grad_() for one in (images, weight, bias)]
    out = functional.conv2d(*leaves, **options)
    seed = (ebb.arange(out.numel()).reshape(out.shape) % 7 - 3).to(out.dtype)
    return out.detach(), *ebb.autograd.grad(out, leaves, seed)


@pytest.mark.parametrize("dtype", EPS, ids=str)
@pytest.mark.parametrize(("images", "weight", "options"), SHAPES)
def test_every_pass_is_that_of_float32_rounded_once(dtype, images, weight, options):
    narrow = [(ebb.rand(*shape) - 0.5).to(dtype) for shape in (images, weight, weight[:1])]
    got = passes(*narrow, options)
    exact = passes(*[one.float() for one in narrow], options)
    for one, other in zip(got, exact, strict=True):
        assert one.dtype == dtype
        scale = other.abs().max().item()
        assert (one.float() - other).abs().max().item() <= 1.02 * EPS[dtype] * scale


def test_a_large_batch_is_never_widened_whole():
    images = ebb.rand(64, 16, 64, 64).half()
    weight = ebb.rand(16, 16, 3, 3).half()
    with ebb.no_grad():
        functional.conv2d(images, weight, padding=1)
        taken = memory_of(lambda: functional.conv2d(images, weight, padding=1))
    assert (
        taken.temporaries < 4 * images.numel()
    )  # one float32 copy of either, where both were made
