# tests/python/ops/test_gradients.py -- derivatives of every op of the table, by finite
# differences.
#
# First and second derivatives along random directions in float64 and complex128, plain and in
# place; gradients in every other dtype against those in double precision; forward-mode rules
# against finite differences and against the transposed gradient. tools/mutate/formulas.py breaks
# formulas one by one and expects a test here to fail. No op loses a gradient without a word: a
# floating result that depends on a floating tensor requires a gradient if that does, or it is
# refused.
import functools

import numpy as np
import pytest

import ebb
from ebb.autograd import forward_ad
from tests.cases import by_op, each_of
from tests.python.ops.op_rows import (
    COMPLEX,
    FLOATING,
    LAYOUTS,
    Array,
    call,
    inplace_of,
    load_rows,
    make_arguments,
    make_tensor,
    split_arguments,
    wide_array,
)

PRECISE = {"eps": 1e-6, "atol": 2e-7, "rtol": 1e-6, "fast_mode": True}
DOUBLES = ("float64", "complex128")


def takes_dtype(row):
    """Whether every call says what dtype results."""
    return any(p["type"] == "dtype" and p["default"] is None for p in row.params)


def is_nan_of_nothing(row, case):
    """Whether a reduction of nothing is NaN, and so is every difference of it."""
    if not row.test.get("nan_of_nothing", False):
        return False
    return 0 in case.arguments["input"].shape


ROWS = [row for row in load_rows() if row.differentiable and "inputs" in row.test]
HAS_CASES = [
    (row, case, dtype)
    for row in ROWS
    for dtype in DOUBLES
    if dtype in row.dtypes
    for case in row.cases()
    if not is_nan_of_nothing(row, case) and not row.is_inplace
]
INPLACE = [(row, dtype) for row in ROWS for dtype in DOUBLES if dtype in row.dtypes]
INPLACE = [(row, dtype) for row, dtype in INPLACE if "inplace" in row.forms]


def is_differentiable(value):
    return isinstance(value, ebb.Tensor) and (
        value.dtype.is_floating_point or value.dtype.is_complex
    )


def active(row, arguments):
    """Names of the arguments (or lists) that get gradients in this case."""
    names = []
    for name in [*row.differentiable, *([] if "tensors" not in arguments else ["tensors"])]:
        value = arguments.get(name)
        first = value[0] if isinstance(value, list) and value else value
        if is_differentiable(first) and name not in names:
            names.append(name)
    return names


def flatten(row, arguments):
    """Tensors to differentiate, and a function of them that makes the whole call's arguments."""
    names = active(row, arguments)
    tensors = []
    for name in names:
        value = arguments[name]
        tensors += value if isinstance(value, list) else [value]

    def rebuilt(*inputs):
        rest = list(inputs)
        full = dict(arguments)
        for name in names:
            if isinstance(arguments[name], list):
                full[name] = [rest.pop(0) for _ in arguments[name]]
            elif name in row.hermitian:
                one = rest.pop(0)
                full[name] = (one + one.mH) * 0.5
            else:
                full[name] = rest.pop(0)
        return full

    return tensors, rebuilt


def leaves(tensors):
    return [one.detach().requires_grad_() for one in tensors]


def outputs_of(result):
    listed = result if isinstance(result, tuple | list) else [result]
    return tuple(one for one in listed if is_differentiable(one))


@each_of(HAS_CASES, by_op)
def test_derivatives_match_finite_differences(row, case, dtype):
    for layout in row.layouts if dtype == "float64" else row.layouts[-2:-1]:
        arguments = make_arguments(row, case, dtype, layout)
        tensors, rebuilt = flatten(row, arguments)
        inputs = leaves(tensors)
        func = lambda *given: outputs_of(call(row, rebuilt(*given)))  # noqa: B023, E731
        assert ebb.autograd.gradcheck(func, inputs, **PRECISE)
        assert ebb.autograd.gradgradcheck(func, inputs, **PRECISE)


@functools.cache
def inplace_cases(row, dtype):
    """Cases whose result has the shape of the first operand."""
    if row.refuses_inplace(dtype):
        return []
    fitting = []
    for case in row.cases():
        arguments = make_arguments(row, case, dtype)
        first = next(iter(arguments.values()))
        if row.is_inplace or tuple(call(row, arguments).shape) == tuple(first.shape):
            fitting.append(case)
    return fitting


@each_of(INPLACE, by_op)
def test_inplace_derivatives_match_finite_differences(row, dtype):
    for case in inplace_cases(row, dtype):
        arguments = make_arguments(row, case, dtype)
        tensors, func = inplace_function(row, arguments)
        inputs = leaves(tensors)
        assert ebb.autograd.gradcheck(func, inputs, **PRECISE)
        assert ebb.autograd.gradgradcheck(func, inputs, **PRECISE)


def inplace_function(row, arguments):
    """Tensors to differentiate, the first operand among them, and the in-place op on a copy."""
    first = next(iter(arguments))
    tensors, rebuilt = flatten(row, arguments)
    is_refused = first in row.refused
    is_overwritten = first not in active(row, arguments) and not is_refused  # its gradient is zero
    if is_overwritten:
        tensors.append(arguments[first])

    def written(*given):
        full = rebuilt(*given[:-1]) | {first: given[-1]} if is_overwritten else rebuilt(*given)
        positional, named = split_arguments(row, full)
        target = positional[0].clone()
        return inplace_of(row)(target, *positional[1:], **named)

    return tensors, written


def seeds_for(outputs, seed):
    rng = np.random.default_rng(seed)
    return [
        make_tensor(
            rng.uniform(0.5, 1.5, tuple(out.shape)), str(out.dtype).removeprefix("ebb.")
        ).requires_grad_()
        for out in outputs
    ]


def gradients(row, arguments, seed, order=1):
    """Gradients of a call with fixed random seeds, in double precision, and their dtypes.

    The second order adds what the gradients of the gradients are, for inputs and seeds.
    """
    tensors, rebuilt = flatten(row, arguments)
    inputs = leaves(tensors)
    outputs = outputs_of(call(row, rebuilt(*inputs)))
    seeds = seeds_for(outputs, seed)
    found = ebb.autograd.grad(outputs, inputs, seeds, create_graph=order == 2)
    assert_like(found, inputs)
    recorded = [one for one in found if one.requires_grad]
    if order == 2 and recorded:  # none where all slopes are constants
        sources = [*inputs, *seeds]
        seconds = ebb.autograd.grad(
            recorded, sources, seeds_for(recorded, seed + 1), materialize_grads=True
        )
        assert_like(seconds, sources)
        found = [*found, *seconds]
    return [wide_array(one) for one in found]


def assert_like(gradients, inputs):
    assert [one.dtype for one in gradients] == [one.dtype for one in inputs]
    assert [one.shape for one in gradients] == [one.shape for one in inputs]


LOSS = {"float16": 1e-2, "bfloat16": 8e-2, "float32": 2e-5, "complex64": 2e-5}
NARROW = [(row, dtype) for row in ROWS for dtype in LOSS if dtype in row.dtypes]
NARROW = [(row, dtype) for row, dtype in NARROW if not row.is_inplace and not takes_dtype(row)]


@each_of(NARROW, by_op)
def test_gradients_of_other_dtypes_match_double_precision(row, dtype):
    check_narrow_gradients(row, dtype, order=1, loss=LOSS[dtype])


@each_of(NARROW, by_op)
def test_second_gradients_of_other_dtypes_match_double_precision(row, dtype):
    # Formulas of several roundings each, and of sums of terms that cancel.
    check_narrow_gradients(row, dtype, order=2, loss=8 * LOSS[dtype])


def check_narrow_gradients(row, dtype, order, loss):
    double = "complex128" if dtype in COMPLEX else "float64"
    for case in row.cases():
        arguments = make_arguments(row, case, dtype)
        if any(name in arguments for name in ("weight", "target")) and dtype == "bfloat16":
            continue  # weights that are rounded so much say little
        narrow = gradients(row, arguments, 5, order)
        widened = {name: widen(value, double) for name, value in arguments.items()}
        for got, wanted in zip(narrow, gradients(row, widened, 5, order), strict=True):
            scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
            np.testing.assert_allclose(
                got, wanted, rtol=loss, atol=loss * scale, err_msg=f"{row}({case})"
            )


def widen(value, dtype):
    if isinstance(value, list) and value and isinstance(value[0], ebb.Tensor):
        return [widen(one, dtype) for one in value]
    return value.to(getattr(ebb, dtype)) if is_differentiable(value) else value


def inner(lhs, rhs):
    """The real inner product that gradients are defined by."""
    return float(np.sum((np.conj(lhs) * rhs).real))


def random_like(rng, tensor):
    values = rng.uniform(-1, 1, tuple(tensor.shape))
    if tensor.dtype.is_complex:
        values = values + 1j * rng.uniform(-1, 1, tuple(tensor.shape))
    return ebb.tensor(values)


SEVERAL = [row for row in ROWS if len(row.differentiable) > 1 and not row.is_inplace]


@pytest.mark.parametrize("row", SEVERAL, ids=str)
def test_each_operand_alone_gets_the_same_gradient(row):
    dtype = "complex128" if "complex128" in row.dtypes else "float64"
    for case in row.cases():
        arguments = make_arguments(row, case, dtype)
        tensors, rebuilt = flatten(row, arguments)
        everything = gradients(row, arguments, 5)
        rng = np.random.default_rng(5)
        for index in range(len(tensors)):
            inputs = [one.detach() for one in tensors]
            inputs[index].requires_grad_()
            rng = np.random.default_rng(5)
            outputs, seeds = [], []
            for output in outputs_of(call(row, rebuilt(*inputs))):
                values = rng.uniform(0.5, 1.5, tuple(output.shape))
                if output.requires_grad:
                    outputs.append(output)
                    seeds.append(make_tensor(values, str(output.dtype).removeprefix("ebb.")))
            (alone,) = ebb.autograd.grad(outputs, [inputs[index]], seeds)
            np.testing.assert_allclose(wide_array(alone), everything[index], rtol=1e-12)


def test_every_layout_and_dtype_has_a_name():
    assert set(LAYOUTS) == {"contiguous", "strided", "transposed", "offset"}
    assert set(LOSS) == {*FLOATING, *COMPLEX} - set(DOUBLES)
    assert str(Array(())) == "0d"


PLAIN = [row for row in load_rows() if "inputs" in row.test and not row.is_inplace]
KEPT = [(row, case) for row in PLAIN if "float64" in row.dtypes for case in row.cases()[:2]]
REFUSED = [(row, name) for row in PLAIN for name in row.refused]


def floating(values):
    listed = values if isinstance(values, tuple | list) else [values]
    return [one for one in listed if isinstance(one, ebb.Tensor) and one.is_floating_point()]


def depends(row, case, arguments, name):
    """Whether other elements of a tensor lead to other results."""
    other = make_arguments(row, case, "float64", seed=1)[name]
    pairs = zip(
        floating(call(row, arguments)),
        floating(call(row, arguments | {name: other})),
        strict=True,
    )
    return any(
        one.shape != another.shape or not ebb.allclose(one, another) for one, another in pairs
    )


@each_of(KEPT, by_op)
def test_results_require_the_gradient_of_what_they_depend_on(row, case):
    arguments = make_arguments(row, case, "float64")
    for name in {*row.tensors} & {*arguments} - {*np.atleast_1d(row.test.get("constant", []))}:
        value = arguments[name]
        if not floating(value) or value.numel() == 0:
            continue
        leaf = value.detach().clone().requires_grad_()
        results = floating(call(row, arguments | {name: leaf}))
        if results and not any(one.requires_grad for one in results):
            assert not depends(row, case, arguments, name), name


@each_of(REFUSED, by_op)
def test_a_refused_gradient_is_an_error_that_names_the_op_in_both_modes(row, name):
    case = next(one for one in row.cases() if name in one.arguments)
    arguments = make_arguments(row, case, "float64")
    text = f"^{row.shown_name}: the derivative to `{name}` is not implemented"
    leaf = arguments[name].detach().clone().requires_grad_()
    results = floating(call(row, arguments | {name: leaf}))
    with pytest.raises(ebb.errors.NotImplementedError, match=text):
        sum(one.sum() for one in results).backward()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(arguments[name], ebb.ones_like(arguments[name]))
        with pytest.raises(ebb.errors.NotImplementedError, match=text):
            call(row, arguments | {name: dual})
