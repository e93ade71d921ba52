# tests/fuzz/rows/test_narrow.py -- float16 and bfloat16 results are right to half a unit,
# everywhere.
#
# Pointwise kernels are within HALF of the exact result (narrow.py), and so are other kernels, in
# units of their largest result. What is made of kernels is so too, or docs/amp.md says by how much
# not. And a result does not depend on where operands lie or how many there are. In `make test` a
# sample, in `make test-long` every op with fresh numbers. All errors are printed by
# `python -m tests.fuzz.rows.narrow`.
import re
from pathlib import Path

import numpy as np
import pytest

import ebb
from tests.fuzz import seeds
from tests.fuzz.rows import narrow
from tests.python.ops.op_rows import call, inplace_of, split_arguments, wide_array

HALF = 0.51
SAMPLE = 24
LENGTH = 131  # two vectors of the widest kind and a few elements
KERNELS = [row for row in narrow.ROWS if not row.data["is_composite"]]
MADE = [row for row in narrow.ROWS if row.data["is_composite"]]
PAGE = Path(__file__).parents[3] / "docs" / "amp.md"
OTHERS = [row for row in KERNELS if row not in narrow.SINGLE]


def is_named(row):
    """Whether a row says why its half results are no rounded ones; then they must not be."""
    return "narrow" in row.test.get("special", {})


ROUNDED = [row for row in narrow.SINGLE if not is_named(row)]


def both(rows):
    return [(row, dtype) for row in rows for dtype in narrow.NARROW if dtype in row.dtypes]


def sampled(rows, what):
    return seeds.fixed("narrow", what).sample(both(rows), min(SAMPLE, len(both(rows))))


def fresh_seed(row):
    return seeds.fresh("narrow", row.op).getrandbits(30)


def check_error(row, dtype, seed):
    measure = narrow.pointwise_error if row in narrow.SINGLE else narrow.whole_error
    assert (measure(row, dtype, seed) > HALF) == is_named(row)


@pytest.mark.parametrize(("row", "dtype"), sampled(KERNELS, "errors"), ids=str)
def test_a_kernel_is_within_half_a_unit(row, dtype):
    check_error(row, dtype, seed=1)


@pytest.mark.long
@pytest.mark.parametrize(("row", "dtype"), both(KERNELS), ids=str)
def test_every_kernel_is_within_half_a_unit(row, dtype):
    check_error(row, dtype, fresh_seed(row))


def said_of_made_ops():
    """The names on the page, each with the most that it says."""
    table = PAGE.read_text().partition("| made of others and beyond 0.51 |")[2].partition("\n\n")[0]
    found = {}
    for line in table.splitlines()[2:]:
        names, most = line.split("|")[1:3]
        found |= dict.fromkeys(re.findall(r"`([a-z]\w+)`", names), float(most))
    return found


@pytest.mark.parametrize(("row", "dtype"), sampled(MADE, "made"), ids=str)
def test_what_is_made_of_kernels_is_as_exact_as_the_page_says(row, dtype):
    assert narrow.whole_error(row, dtype, seed=0) <= said_of_made_ops().get(row.name, HALF)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", sorted({row.name for row in MADE}))
def test_the_page_names_exactly_the_made_ops_beyond_half_a_unit(name):
    said = said_of_made_ops()
    rows = [pair for pair in both(MADE) if pair[0].name == name]
    error = max(narrow.whole_error(row, dtype, seed=0) for row, dtype in rows)
    assert (error > HALF) == (name in said) and error <= said.get(name, HALF)


def test_the_page_names_made_ops_only():
    assert set(said_of_made_ops()) <= {row.name for row in MADE}


def bits_of(values, dtype):
    """The bits of float32 values rounded to a dtype by NumPy; every NaN is one."""
    if dtype == "float16":
        with np.errstate(over="ignore"):
            bits = values.astype(np.float16).view(np.uint16)
    else:
        wide = values.view(np.uint32).astype(np.uint64)
        bits = ((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), 0x7FFF, bits)


@pytest.mark.parametrize("dtype", narrow.NARROW)
@pytest.mark.parametrize("odd", [np.nan, -np.nan, np.inf, -np.inf])
def test_a_cast_rounds_numbers_beside_one_that_is_none(dtype, odd):
    values = np.random.default_rng(0).standard_normal(LENGTH).astype(np.float32)
    for place in range(LENGTH):
        given = values.copy()
        given[[place, -1 - place]] = odd, -odd
        got = ebb.from_numpy(given).to(getattr(ebb, dtype)).float()
        np.testing.assert_array_equal(bits_of(got.numpy(), dtype), bits_of(given, dtype))


@pytest.mark.parametrize("dtype", narrow.NARROW)
@pytest.mark.parametrize("count", [LENGTH, narrow.COUNT])
def test_relu_and_its_gradient_know_every_number(dtype, count):
    x = narrow.every_number(dtype)[-count:].requires_grad_()
    grad = narrow.wild_numbers(np.random.default_rng(1), dtype)[:count]
    out = ebb.nn.functional.relu(x)
    out.backward(grad)
    given, passed = x.detach().float().numpy(), grad.float().numpy()
    np.testing.assert_array_equal(out.detach().float().numpy(), np.where(given <= 0, 0, given))
    np.testing.assert_array_equal(x.grad.float().numpy(), np.where(given > 0, passed, 0))


def check_rounded_once(row, dtype, seed):
    for arguments in narrow.operands(row, dtype, seed, is_wild=True):
        exact = narrow.widened(row, arguments, dtype, "float32")
        with ebb.no_grad():
            got, wanted = call(row, arguments), call(row, exact)
        if not got.dtype.is_floating_point:
            np.testing.assert_array_equal(got.numpy(), wanted.numpy())
            continue
        assert got.dtype == getattr(ebb, dtype)
        found = bits_of(got.float().numpy(), dtype)
        wrong = np.flatnonzero(found != bits_of(wanted.numpy(), dtype))
        for at in map(int, wrong[:1]):
            tensors = [value for value in arguments.values() if isinstance(value, ebb.Tensor)]
            shown = [each[at].item() for each in (*tensors, got, wanted)]
            raise AssertionError(f"operands, got, wanted: {shown} and {wrong.size} in all")


@pytest.mark.parametrize(("row", "dtype"), sampled(ROUNDED, "rounded"), ids=str)
def test_a_narrow_result_is_the_float32_result_rounded(row, dtype):
    check_rounded_once(row, dtype, seed=2)


@pytest.mark.long
@pytest.mark.parametrize(("row", "dtype"), both(ROUNDED), ids=str)
def test_every_narrow_result_is_the_float32_result_rounded(row, dtype):
    check_rounded_once(row, dtype, fresh_seed(row))


def placed(arguments, choose):
    """Tensors as ``choose`` has them, all else as it is."""
    return {
        name: choose(value) if isinstance(value, ebb.Tensor) else value
        for name, value in arguments.items()
    }


PLACES = {
    "behind one element": lambda x: ebb.cat([x[:1], x])[1:],
    "every second": lambda x: ebb.stack([x, x], -1)[:, 0],
    "turned": lambda x: ebb.stack([x, x]).t().contiguous().t()[1],
}


def check_places(row, dtype):
    def result(arguments):
        return wide_array(call(row, arguments))

    for drawn in narrow.operands(row, dtype, 3, is_wild=True):
        arguments = placed(drawn, lambda x: x[-LENGTH:])
        whole = result(arguments)
        for count in range(LENGTH):
            some = result(placed(arguments, lambda x, count=count: x[:count]))
            np.testing.assert_array_equal(some, whole[:count], str(count))
        for name, place in PLACES.items():
            np.testing.assert_array_equal(result(placed(arguments, place)), whole, name)
        if "inplace" in row.forms:
            positional, named = split_arguments(row, placed(arguments, ebb.clone))
            inplace_of(row)(*positional, **named)
            np.testing.assert_array_equal(wide_array(positional[0]), whole)


@pytest.mark.parametrize(("row", "dtype"), sampled(narrow.SINGLE, "places"), ids=str)
def test_a_narrow_result_does_not_depend_on_places(row, dtype):
    check_places(row, dtype)


@pytest.mark.long
@pytest.mark.parametrize(("row", "dtype"), both(narrow.SINGLE), ids=str)
def test_no_narrow_result_depends_on_places(row, dtype):
    check_places(row, dtype)


@pytest.mark.parametrize("dtype", narrow.NARROW)
def test_a_unit_of_an_error_is_one(dtype):
    values = np.array([1.0, 1.5, 2.0**-140, 0.0, np.inf, np.nan])
    step = narrow.unit(values, dtype)[:1][0]
    assert narrow.ulps(values, values, dtype).max() == 0
    assert narrow.ulps(values[:1] + 3 * step, values[:1], dtype) == 3
    assert narrow.ulps(np.array([1.0]), np.array([np.nan]), dtype) == np.inf
