# tests/fuzz/rows/test_narrow_products.py -- products of half types beside float64, and their
# gradients.
#
# Drawn: ops, sizes (0, 1, odd, more than a panel of the kernel), batches that broadcast, strides
# (transposed, in steps, backwards, repeated), numbers, infinities and NaN. A result may be off by
# one rounding, and by what float32 sums of k products lose: (16 + sqrt(k)) 2^-24 of the sum of
# their magnitudes. In `make test` a sample with a fixed seed, in `make test-long` many more.

import numpy as np
import pytest

import ebb
from ebb.nn import functional
from tests.fuzz import seeds

UNIT = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
LEAST = {"bfloat16": 2.0**-126, "float16": 2.0**-24}  # below it bfloat16 products may give 0
SIDES = (0, 1, 2, 3, 5, 17, 33, 64, 129, 300, 530)
BATCHES = ((), (1,), (3,), (2, 1), (2, 3))


def arranged(draw, tensor):
    """The same numbers with other strides."""
    kind = draw.choice(("dense", "turned", "steps", "wide", "flipped"))
    if kind == "turned" and tensor.ndim > 1:
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
    if kind == "steps":
        room = ebb.zeros(*tensor.shape, 2, dtype=tensor.dtype)
        room[..., 0] = tensor
        return room[..., 0]
    if kind == "wide":
        return ebb.cat([tensor, tensor], -1)[..., : tensor.shape[-1]]
    return tensor.flip(0).flip(0) if kind == "flipped" else tensor


def operand(draw, dtype, *shape, has_special=False):
    values = np.random.default_rng(draw.randrange(2**31)).standard_normal(shape)
    if has_special and values.size:
        for special in (np.inf, -np.inf, np.nan):
            values.flat[draw.randrange(values.size)] = special
    return arranged(draw, ebb.tensor(values).to(getattr(ebb, dtype)))


def sides(draw):
    while True:
        m, k, n = (draw.choice(SIDES) for _ in range(3))
        if m * k * n <= 2**24:
            return m, k, n


def exact(tensor):
    return tensor.detach().double().numpy()


def check(got, left, right, dtype, extra=0.0, roundings=1):
    """`got` is left @ right + extra, of float64 arrays."""
    with np.errstate(all="ignore"):
        wanted = left @ right + extra
        size = np.abs(left) @ np.abs(right) + np.abs(extra)
    summed = (16 + np.sqrt(left.shape[-1])) * 2.0**-24 * size
    limit = float(ebb.finfo(getattr(ebb, dtype)).max)
    got = exact(got)
    assert got.shape == wanted.shape
    sure = np.isfinite(size) & (size < limit)
    error = np.abs(got[sure] - wanted[sure])
    bound = roundings * UNIT[dtype] * (np.abs(wanted) if roundings == 1 else size) + summed
    assert (error <= bound[sure] + LEAST[dtype]).all(), f"off by {(error - bound[sure]).max()}"
    special = ~np.isfinite(size)
    np.testing.assert_array_equal(got[special], wanted[special])


def try_matmul(draw, dtype):
    m, k, n = sides(draw)
    special = draw.random() < 0.2
    left = operand(draw, dtype, *draw.choice(BATCHES), m, k, has_special=special)
    right = operand(draw, dtype, *draw.choice(BATCHES), k, n, has_special=special)
    if left.ndim == 4 and right.ndim == 3 and right.shape[0] == 3 and draw.random() < 0.5:
        right = right[:1].expand(3, k, n)
    check(left @ right, exact(left), exact(right), dtype)


def try_vectors(draw, dtype):
    _, k, n = sides(draw)
    row, matrix = operand(draw, dtype, k), operand(draw, dtype, k, n)
    check(row @ matrix, exact(row), exact(matrix), dtype)
    turned = matrix.transpose(0, 1)
    check(turned @ row, exact(turned), exact(row), dtype)


def try_linear(draw, dtype):
    m, k, n = sides(draw)
    x, weight = operand(draw, dtype, *draw.choice(BATCHES), m, k), operand(draw, dtype, n, k)
    bias = operand(draw, dtype, n, 1)[:, 0] if draw.random() < 0.7 else None
    extra = 0.0 if bias is None else exact(bias)
    check(functional.linear(x, weight, bias), exact(x), exact(weight).T, dtype, extra)


def try_baddbmm(draw, dtype):
    m, k, n = sides(draw)
    batch = draw.choice((0, 1, 3))
    left, right = operand(draw, dtype, batch, m, k), operand(draw, dtype, batch, k, n)
    added = operand(draw, dtype, batch, m, n)
    alpha, beta = draw.choice((1, 0.5, -2)), draw.choice((1, 0, 0.25))
    got = ebb.baddbmm(added, left, right, alpha=alpha, beta=beta)
    check(got, alpha * exact(left), exact(right), dtype, beta * exact(added), roundings=4)


def try_einsum(draw, dtype):
    m, k, n = sides(draw)
    batch = draw.choice((1, 2, 3))
    left, right = operand(draw, dtype, batch, k, m), operand(draw, dtype, n, batch, k)
    got = ebb.einsum("bkm,nbk->bmn", left, right)
    check(got, exact(left).swapaxes(1, 2), exact(right).transpose(1, 2, 0), dtype)


TRIALS = (try_matmul, try_vectors, try_linear, try_baddbmm, try_einsum)


def run(generator, count):
    for index in range(count):
        for trial in TRIALS:
            for dtype in UNIT:
                trial(generator("narrow products", trial.__name__, dtype, index), dtype)


def test_products_of_half_types_are_those_of_float64_rounded():
    run(seeds.fixed, 12)


@pytest.mark.long
def test_products_of_half_types_are_those_of_float64_rounded_for_long():
    run(seeds.fresh, 1500)


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize("sides", [(1, 1), (3, 40), (20, 30)])
def test_sums_of_a_hundred_thousand_products_are_those_of_float32(sides, dtype):
    draw = seeds.fixed("deep", dtype, sides)
    left, right = operand(draw, dtype, sides[0], 100_000), operand(draw, dtype, 100_000, sides[1])
    check(left @ right, exact(left), exact(right), dtype)


@pytest.mark.parametrize("index", [582, 840, 1264])
def test_an_infinity_beside_an_odd_depth_makes_no_nan(index):
    draw = seeds.generator(1163010023, "narrow products", "try_matmul", "bfloat16", index)
    try_matmul(draw, "bfloat16")  # found by a long run: depths of 3, 1 and 5


@pytest.mark.parametrize("dtype", UNIT)
def test_first_and_second_gradients_follow_float64(dtype):
    draw = seeds.fixed("gradients", dtype)

    def gradients(tensors):
        x, weight, bias = (one.detach().requires_grad_() for one in tensors)
        out = functional.linear(x, weight, bias)
        first = ebb.autograd.grad((out * out).sum(), [x, weight, bias], create_graph=True)
        return [*first, *ebb.autograd.grad(sum((one * one).sum() for one in first), [x, weight])]

    given = [operand(draw, dtype, *shape) * 0.125 for shape in ((65, 70), (51, 70), (51,))]
    wanted = gradients([one.double() for one in given])
    for got, right in zip(gradients(given), wanted, strict=True):
        assert got.dtype == getattr(ebb, dtype)
        scale = np.abs(exact(right)).max()
        assert np.abs(exact(got) - exact(right)).max() <= 8 * UNIT[dtype] * scale
