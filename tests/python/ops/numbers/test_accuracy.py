# tests/python/ops/numbers/test_accuracy.py -- how close results are to the exact ones.
#
# Half types: every input there is. float32: one in 1009 of all bit patterns (all of them in
# tests/kernels/math_test.cpp), within some units in the last place of the double precision value.
import numpy as np
import pytest

import ebb

UNARY = {
    "atan": np.arctan, "cos": np.cos, "cosh": np.cosh, "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "log": np.log, "log10": np.log10, "log1p": np.log1p, "log2": np.log2,
    "neg": np.negative, "reciprocal": np.reciprocal, "relu": None, "round": np.round,
    "sigmoid": None, "sin": np.sin, "sinh": np.sinh, "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip
# atan is Highway's, which promises 3.
UNITS = {
    "atan": 3.0, "cos": 1.5, "cosh": 2.5, "exp": 1.0, "exp2": 1.5, "expm1": 2.0, "log": 1.0,
    "log10": 2.0, "log1p": 2.0, "log2": 2.0, "neg": 0.0, "reciprocal": 0.5, "relu": 0.0,
    "round": 0.0, "sigmoid": 2.5, "sin": 1.5, "sinh": 2.5, "tan": 3.0, "tanh": 1.5,
}  # fmt: skip
STEP = 1009


def exact(name, values):
    with np.errstate(all="ignore"):
        if name == "relu":
            return np.where(np.isnan(values), values, np.maximum(values, 0))
        if name == "sigmoid":
            return 1 / (1 + np.exp(-values))
        return UNARY[name](values)


def ulps(actual, wanted):
    """Distance in units in the last place of float32; NaN must meet NaN."""
    rounded = wanted.astype(np.float32)
    assert np.array_equal(np.isnan(actual), np.isnan(rounded))
    assert np.array_equal(np.isinf(actual), np.isinf(rounded)) or near_overflow(actual, rounded)
    finite = np.isfinite(actual) & np.isfinite(rounded)
    spacing = np.spacing(np.abs(rounded[finite])).astype(np.float64)
    distance = np.abs(actual[finite].astype(np.float64) - wanted[finite]) / spacing
    return distance


def near_overflow(actual, rounded):
    """Where just one of the two is infinite, the other must be the largest number."""
    differs = np.isinf(actual) != np.isinf(rounded)
    both = np.stack([actual[differs], rounded[differs]])
    return bool(np.all(np.min(np.abs(both), axis=0) >= np.finfo(np.float32).max))


def patterns(start, count, step):
    bits = (np.arange(count, dtype=np.uint64) * step + start).astype(np.uint32)
    return bits.view(np.float32)


def worst(name, values):
    with np.errstate(all="ignore"):
        result = getattr(ebb.from_numpy(values), name)().numpy()
        distance = ulps(result, exact(name, values.astype(np.float64)))
    return float(distance.max(initial=0.0))


@pytest.mark.parametrize("name", UNARY)
def test_float32_is_within_some_units_in_the_last_place(name):
    assert worst(name, patterns(0, 2**32 // STEP, STEP)) <= UNITS[name]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", UNARY)
def test_every_half_precision_input_is_rounded_once(name, dtype):
    bits = np.arange(2**16, dtype=np.uint16)
    if dtype == "float16":
        inputs = ebb.from_numpy(bits.view(np.float16))
    else:
        wide = (bits.astype(np.uint32) << 16).view(np.float32)
        inputs = ebb.from_numpy(wide).bfloat16()
    result = getattr(inputs, name)().double().numpy()
    wanted = exact(name, inputs.double().numpy())
    assert np.array_equal(np.isnan(result), np.isnan(wanted))
    digits, low = (11, 2.0**-24) if dtype == "float16" else (8, 2.0**-133)
    with np.errstate(all="ignore"):
        unit = np.exp2(np.floor(np.log2(np.abs(wanted))) + 1 - digits)
    unit = np.maximum(np.nan_to_num(unit, nan=low, posinf=0), low)
    finite = np.isfinite(result) & np.isfinite(wanted)
    assert np.all(np.abs(result[finite] - wanted[finite]) <= unit[finite] * (0.5 + 2**-10))
    limit = float(np.finfo(np.float16).max) if dtype == "float16" else 3.38e38
    infinite = np.isinf(result) & np.isfinite(wanted)
    assert np.all(np.abs(wanted[infinite]) > limit)


def test_sums_of_many_ones_are_exact():
    count = 20_000_000
    assert ebb.ones([count]).sum().item() == count
    assert ebb.ones([count // 4, 4]).sum(0).tolist() == [count / 4] * 4


@pytest.mark.parametrize("shape", [(1 << 20,), (1000, 1003)], ids=str)
def test_sums_have_pairwise_error(shape):
    values = np.random.default_rng(3).uniform(-1, 1, shape).astype(np.float32)
    count = values.size
    bound = 2 * 2**-24 * np.log2(count) * float(np.abs(values).astype(np.float64).sum())
    assert abs(ebb.from_numpy(values).sum().item() - values.astype(np.float64).sum()) <= bound


def test_log_softmax_is_finite_and_accurate_for_large_scores():
    values = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]])
    result = ebb.tensor(values).float().log_softmax(1).numpy()
    np.testing.assert_allclose(result, [[0, -2e4, -1e4], [-np.log(3)] * 3], rtol=1e-6)


@pytest.mark.parametrize("sizes", [(5, 7, 3), (64, 300, 64), (130, 513, 67)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_matmul_error_is_bounded_element_by_element(sizes, dtype):
    rng = np.random.default_rng(4)
    rows, inner, columns = sizes
    left = rng.standard_normal((rows, inner)).astype(dtype)
    right = rng.standard_normal((inner, columns)).astype(dtype)
    wide = np.longdouble if dtype is np.float64 else np.float64
    wanted = left.astype(wide) @ right.astype(wide)
    bound = 1.1 * inner * np.finfo(dtype).eps * (np.abs(left) @ np.abs(right))
    result = (ebb.from_numpy(left) @ ebb.from_numpy(right)).numpy()
    assert np.all(np.abs(result - wanted) <= bound)


def test_nan_is_not_lost_in_sums_and_products():
    nan = float("nan")
    assert np.isnan(ebb.tensor([1.0, nan]).sum().item())
    assert np.isnan((ebb.tensor([[0.0, 1.0]]) @ ebb.tensor([[nan], [1.0]])).item())


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("step", [1, 2], ids=["dense", "every second"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_lines_too_long_to_be_copied_are_exact(name, step, dtype):
    rng = np.random.default_rng(5)
    memory = ebb.tensor(rng.uniform(-20, 20, 50_000)).to(getattr(ebb, dtype))
    unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-19}[dtype]
    found = []
    for line in (memory[::step], memory[::step].double()):
        line = line.detach().requires_grad_()
        out = getattr(line, name)(0)
        seed = ebb.tensor(rng.uniform(-1, 1, 50_000)).to(memory.dtype).to(line.dtype)[::step]
        seed = seed if not found else found[0][2].double()
        (grad,) = ebb.autograd.grad([out], [line], [seed])
        found.append((out.detach(), grad, seed))
    for got, wanted in zip(found[0][:2], found[1][:2], strict=True):
        got, wanted = got.double().numpy(), wanted.numpy()
        # The gradient starts from a result that was rounded.
        assert np.abs(got - wanted).max() <= 4 * unit * np.abs(wanted).max()


POWER_BASES = {
    "positive": (lambda rng, count: np.exp2(rng.uniform(-140, 127, count))),
    "near 1": (lambda rng, count: 1 + rng.uniform(-1e-3, 1e-3, count)),
    "of either sign": (lambda rng, count: rng.uniform(-9, 9, count)),
}


@pytest.mark.parametrize("bases", POWER_BASES)
@pytest.mark.parametrize("are_whole", [False, True], ids=["any power", "whole powers"])
def test_powers_of_float32_are_within_a_unit_in_the_last_place(bases, are_whole):
    rng = np.random.default_rng(6)
    base = POWER_BASES[bases](rng, 100_003).astype(np.float32)
    most = 1e5 if bases == "near 1" else 20
    power = rng.uniform(-most, most, base.size).astype(np.float32)
    power = np.round(power) if are_whole else power
    with np.errstate(all="ignore"):
        wanted = base.astype(np.float64) ** power.astype(np.float64)
        found = (ebb.from_numpy(base) ** ebb.from_numpy(power)).numpy()
        assert ulps(found, wanted).max() <= 0.55
    is_number = ~np.isnan(wanted)
    assert np.array_equal(np.signbit(found[is_number]), np.signbit(wanted[is_number]))


def test_whole_powers_of_small_whole_numbers_are_exact():
    base, power = np.meshgrid(np.arange(-12.0, 13.0), np.arange(7.0))
    found = ebb.tensor(base).float() ** ebb.tensor(power).float()
    assert found.tolist() == (base**power).tolist()


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 33])
def test_powers_of_few_numbers_are_those_of_many(count):
    base = ebb.linspace(-3, 5, 80)[1 : 1 + 2 * count : 2]
    power = ebb.arange(80).float()[:count] - 4
    every = (base.clone().repeat(5) ** power.repeat(5))[:count]
    assert (base**power).tolist() == every.tolist()
