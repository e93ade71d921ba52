# tests/fuzz/rows/test_special_values.py -- pointwise ops where rounding errors are not the point:
# zeros of both signs, infinities, NaN, ties, the ends of domains, huge and tiny numbers.
#
# Each operand of every pointwise row runs through POINTS, all combinations of them, and the table's
# NumPy expression says what must come out. What a row does otherwise on purpose stands in its
# `special` key (ops/schema.yaml). Nothing is drawn: these few hundred places are all of them.
import numpy as np
import pytest

import ebb
from tests.cases import by_family, by_op, each_of
from tests.python.ops.op_reference import TOLERANCE, reference
from tests.python.ops.op_rows import (
    COMPLEX,
    FLOATING,
    call,
    load_rows,
    make_tensor,
    param_dtype,
    wide_array,
)

INF = float("inf")
POINTS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, np.inf, -np.inf, np.nan)
POINTS = (*POINTS, 40.0, -40.0, 6e4, -6e4, 1e-7, -1e-7, 1e30, -1e30, 1e-30, -1e-30)
FEW = (0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, 1e30)  # where three operands meet


def is_pointwise(row):
    """Whether all operands of the row may have one shape."""
    is_one = row.data["dtype_rule"] and "numpy" in row.test and not row.is_inplace
    return is_one and "rank" not in row.data["checks"]


def is_tried(row):
    """Whether users reach the row, and it does not cancel by design as losses do.

    tests/python/nn/losses/test_losses.py has their extremes.
    """
    return row.params[0]["name"] != "grad" and "all" not in row.test.get("special", {})


POINTWISE = [row for row in load_rows() if is_pointwise(row)]
ROWS = [row for row in POINTWISE if is_tried(row) and set(FLOATING) & set(row.dtypes)]
CASES = [(row, dtype) for row in ROWS for dtype in FLOATING if dtype in row.dtypes]
SMOOTH = [(row, dtype) for row, dtype in CASES if row.differentiable]
COMPLEX_SMOOTH = [
    (row, dtype)
    for row in POINTWISE
    for dtype in COMPLEX
    if row.differentiable and dtype in row.dtypes
    if not {"all", "complex"} & set(row.test.get("special", {}))
    if any(param_dtype(row, name, dtype) == dtype for name in row.tensors)
]
# What has no share in a result gets no gradient from private ops, losses or complex numbers either;
# of second derivatives only those of CASES are tried.
MASKED = [
    (row, dtype)
    for row in POINTWISE
    for dtype in (*FLOATING, *COMPLEX)
    if row.differentiable and dtype in row.dtypes
    if dtype in FLOATING or not set(FLOATING) & set(row.dtypes)
]


def special(row):
    """What the row does otherwise than the generic tests would have it."""
    return row.test.get("special", {})


def grids(row, dtype):
    """Arguments that hold all combinations of points, for each set of numbers that a row tries."""
    moving = [name for name in row.tensors if param_dtype(row, name, dtype) == dtype]
    points = POINTS if len(moving) < 3 else FEW
    columns = np.meshgrid(*[np.array(points)] * len(moving), indexing="ij")
    tensors = {
        name: make_tensor(column.ravel(), dtype)
        for name, column in zip(moving, columns, strict=True)
    }
    count = len(columns[0].ravel()) if moving else 0
    for name in set(row.tensors) - set(moving):  # a condition
        tensors[name] = ebb.arange(count) % 3 == 0
    seen = []
    for case in row.cases():
        rest = {name: v for name, v in case.arguments.items() if name not in tensors}
        if rest not in seen and any(name in case.arguments for name in moving):
            seen.append(rest)
            yield tensors | rest


def widened(arguments):
    return {
        name: value.double() if is_floating(value) else value for name, value in arguments.items()
    }


def is_floating(value):
    if not isinstance(value, ebb.Tensor):
        return False
    return value.dtype.is_floating_point or value.dtype.is_complex


def rounded(values, dtype):
    return wide_array(make_tensor(values, dtype))


def assert_same(got, wanted, dtype, what, loosened=1):
    """Compare numbers up to rounding, and NaN and infinities exactly."""
    if got.dtype.kind == "b":
        got, wanted = got.astype(float), wanted.astype(float)
    tolerance = loosened * TOLERANCE[dtype]
    top = float(ebb.finfo(getattr(ebb, dtype)).max)
    floor = float(ebb.finfo(getattr(ebb, dtype)).tiny)  # below it few bits are left
    with np.errstate(all="ignore"):
        is_near = np.abs(got - wanted) <= tolerance * np.abs(wanted) + floor
        is_top = (np.abs(wanted) > top * (1 - tolerance)) & (np.abs(got) > top * (1 - tolerance))
        is_same = (got == wanted) | (np.isnan(got) & np.isnan(wanted)) | is_near
        is_same |= is_top & (np.sign(got) == np.sign(wanted))
    if not is_same.all():
        places = np.flatnonzero(~is_same)[:6]
        shown = [(what(place), got[place], wanted[place]) for place in places]
        raise AssertionError(f"{dtype}: got, wanted: {shown} and {(~is_same).sum()} in all")


def at(row, arguments):
    """A function that says which operands a place has."""
    tensors = {name: value for name, value in arguments.items() if is_floating(value)}
    numbers = {n: v for n, v in arguments.items() if not isinstance(v, ebb.Tensor)}
    return lambda place: f"{row.op}({[v[place].item() for v in tensors.values()]}, {numbers})"


def gradients(row, arguments, seed=1.0, order=1):
    """The gradients for a seed at every place; with order 2 those of their sum."""
    names = [name for name in row.differentiable if is_floating(arguments[name])]
    leaves = {name: arguments[name].detach().requires_grad_() for name in names}
    output = call(row, arguments | leaves)
    seeds = ebb.full_like(output, seed)
    found = ebb.autograd.grad([output], list(leaves.values()), [seeds], create_graph=order > 1)
    recorded = [one for one in found if one.requires_grad]
    if order == 2 and recorded:  # none where all slopes are constants
        ones = [ebb.ones_like(one) for one in recorded]
        found = ebb.autograd.grad(recorded, list(leaves.values()), ones, materialize_grads=True)
    return dict(zip(names, map(wide_array, found), strict=True))


@each_of(CASES, by_op)
def test_values_at_special_points_are_those_of_numpy(row, dtype):
    if special(row).get("values"):
        return
    for arguments in grids(row, dtype):
        got = wide_array(call(row, arguments))
        wanted = reference(row, widened(arguments))[0]
        if got.dtype.kind == "f":
            wanted = rounded(wanted.astype(np.float64), dtype)
        assert_same(got, wanted, dtype, at(row, arguments))


@each_of(CASES, by_op)
def test_nan_comes_out_where_nan_goes_in(row, dtype):
    if row.data["result_dtype"] == "bool" or special(row).get("nan"):
        return
    for arguments in grids(row, dtype):
        tensors = [value for value in arguments.values() if is_floating(value)]
        if "condition" in arguments or "mask" in arguments:
            continue  # what is not chosen does not count
        is_nan = np.any([np.isnan(wide_array(one)) for one in tensors], axis=0)
        got = wide_array(call(row, arguments))
        assert np.isnan(got[is_nan]).all(), at(row, arguments)(
            np.flatnonzero(is_nan & ~np.isnan(got))[0]
        )


@each_of([row for row, dtype in CASES if dtype == "float64"], by_family)
def test_infinities_of_finite_operands_that_fit_are_at_poles_of_the_table(row):
    if row.data["result_dtype"] == "bool":
        return
    for arguments in grids(row, "float64"):
        is_tried = ~np.isnan(wide_array(call(row, arguments)))  # which would be another fault
        for value in arguments.values():
            if is_floating(value):
                size = np.abs(wide_array(value))  # so that nothing overflows
                is_tried &= (size <= 40) & ((size == 0) | (size >= 0.5))
        chosen = ebb.tensor(is_tried)
        tried = {n: v[chosen] if isinstance(v, ebb.Tensor) else v for n, v in arguments.items()}
        try:
            with ebb.autograd.check_nan_inf():
                call(row, tried)
        except ebb.errors.NonFiniteError as error:
            assert "left the range" not in str(error)


@each_of(SMOOTH, by_op)
def test_a_gradient_is_a_number_where_operands_and_result_are(row, dtype):
    if special(row).get("gradient"):
        return
    for arguments in grids(row, dtype):
        tensors = [wide_array(value) for value in arguments.values() if is_floating(value)]
        results = wide_array(call(row, arguments))
        is_number = ~np.any([np.isnan(one) for one in (*tensors, results)], axis=0)
        for name, got in gradients(row, arguments).items():
            wrong = np.flatnonzero(is_number & np.isnan(got))
            assert wrong.size == 0, (
                name,
                [at(row, arguments)(one) for one in wrong[:6]],
                wrong.size,
            )


def complex_points(row, dtype):
    """Arguments that hold all combinations of zeros, numbers and infinities, in both parts."""
    moving = [name for name in row.tensors if param_dtype(row, name, dtype) == dtype]
    parts = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf) if len(moving) == 1 else (0.0, -2.5, np.inf)
    points = np.array([complex(real, imag) for real in parts for imag in parts])
    columns = np.meshgrid(*[points] * len(moving), indexing="ij")
    arguments = {n: make_tensor(c.ravel(), dtype) for n, c in zip(moving, columns, strict=True)}
    for name in set(row.tensors) - set(moving):  # a condition
        arguments[name] = ebb.arange(columns[0].size) % 3 == 0
    return row.cases()[0].arguments | arguments


@each_of([(*one, order) for order in (1, 2) for one in COMPLEX_SMOOTH], by_op)
def test_a_complex_gradient_is_a_number_where_the_result_is(row, dtype, order):
    arguments = complex_points(row, dtype)
    is_number = ~np.isnan(wide_array(call(row, arguments)))
    for name, got in gradients(row, arguments, order=order).items():
        wrong = np.flatnonzero(is_number & np.isnan(got))
        assert wrong.size == 0, (name, [at(row, arguments)(one) for one in wrong[:6]], wrong.size)


@pytest.mark.parametrize("z", [complex(re, im) for re in (3, INF, -INF) for im in (-2, INF)])
def test_the_sign_of_an_infinite_number_is_that_of_its_angle(z):
    for dtype in COMPLEX:
        number = ebb.tensor([z], dtype=getattr(ebb, dtype))
        angle = number.angle().item()
        np.testing.assert_allclose(number.sgn().item(), np.exp(1j * angle), atol=1e-6)


@each_of(SMOOTH, by_op)
def test_gradients_at_special_points_are_the_same_in_every_dtype(row, dtype):
    if dtype == "float64" or special(row).get("dtypes"):
        return
    tiny = ebb.finfo(getattr(ebb, dtype)).tiny
    for arguments in grids(row, dtype):
        wide = gradients(row, widened(arguments))
        result = np.abs(wide_array(call(row, widened(arguments))))
        kept = np.abs(wide_array(call(row, arguments)))
        # A result that the dtype does not hold has another gradient.
        is_lost = (np.isinf(kept) & np.isfinite(result)) | ((kept < tiny) & (result != 0))
        for name, got in gradients(row, arguments).items():
            wanted = np.where(is_lost, got, rounded(wide[name], dtype))
            assert_same(got, wanted, dtype, at(row, arguments), loosened=8)


@each_of([(*one, order) for order in (1, 2) for one in MASKED], by_op)
def test_a_gradient_of_0_stays_0(row, dtype, order):
    is_reached = is_tried(row) and dtype in FLOATING
    if special(row).get("masked") or (order == 2 and not is_reached):
        return
    for arguments in grids(row, dtype):
        # A gradient that is no number is not masked by the gradient of a gradient.
        is_open = ~np.isfinite(wide_array(arguments["grad"])) if "grad" in arguments else False
        for name, got in gradients(row, arguments, 0.0, order).items():
            wrong = np.flatnonzero((got != 0) & ~np.array(is_open))
            assert wrong.size == 0, (
                name,
                [(at(row, arguments)(one), got[one]) for one in wrong[:6]],
                wrong.size,
            )


@each_of(CASES, by_op)
def test_every_lane_of_a_vector_computes_the_same(row, dtype):
    for arguments in grids(row, dtype):
        whole = wide_array(call(row, arguments))
        for length in (1, 7, 13):  # less than a vector, its tail, more than one
            for start in range(0, min(len(whole), 2 * len(POINTS)), length):
                part = slice(start, start + length)
                parts = {
                    name: value[part] if isinstance(value, ebb.Tensor) else value
                    for name, value in arguments.items()
                }
                np.testing.assert_array_equal(wide_array(call(row, parts)), whole[part])
