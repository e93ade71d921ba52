# tests/python/ops/test_meta.py -- every row of the op table on the device meta.
#
# A call with tensors that have no elements must give what the same call on the CPU gives, elements
# apart: shapes, dtypes and strides of its results and of the gradients, with the same history, and
# no random number drawn. What needs elements says so, in the name of the op.
import pytest

import ebb
from tests.cases import by_op, each_of
from tests.python.ops.op_rows import call, inplace_of, load_rows, make_arguments, split_arguments
from tests.python.ops.test_gradients import active, inplace_cases, outputs_of

DTYPES = ("float32", "complex64", "int64", "bool", "float64")
ROWS = [row for row in load_rows() if "inputs" in row.test]


def dtype_for(row):
    return next((dtype for dtype in DTYPES if dtype in row.dtypes), None)


def emptied(value):
    """The argument without its elements; strides stay."""
    if isinstance(value, list):
        return [emptied(one) for one in value]
    if not isinstance(value, ebb.Tensor):
        return value
    made = ebb.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    return made.requires_grad_(value.requires_grad)


def on_meta(row, arguments):
    made = {name: emptied(value) for name, value in arguments.items()}
    if any(param["name"] == "device" for param in row.params):
        made["device"] = ebb.device("meta")
    return made


def tensors_in(value):
    if isinstance(value, ebb.Tensor):
        return [value]
    return (
        [one for item in value for one in tensors_in(item)]
        if isinstance(value, tuple | list)
        else []
    )


def strides(tensor):
    """Strides that say something: of dims along which there is more than one element."""
    if tensor.numel() == 0:
        return ()
    return tuple(step for size, step in zip(tensor.shape, tensor.stride(), strict=True) if size > 1)


def geometry(tensors):
    return [
        None if one is None else (tuple(one.shape), one.dtype, strides(one), one.requires_grad)
        for one in tensors
    ]


def followed(row, arguments):
    """The arguments as leaves that want gradients, and those leaves."""
    made, leaves = dict(arguments), []
    for name in active(row, arguments):
        value = arguments[name]
        listed = value if isinstance(value, list) else [value]
        fresh = [one.detach().requires_grad_() for one in listed]
        made[name] = fresh if isinstance(value, list) else fresh[0]
        leaves += fresh
    return made, leaves


def check_same(found, wanted):
    found = tensors_in(found)
    assert geometry(found) == geometry(tensors_in(wanted))
    assert all(one.is_meta for one in found)


def found_on_meta(row, function):
    """What the call gives, or None if it is refused, in the name of the op; and draws nothing."""
    state = ebb.get_rng_state().tolist()
    try:
        found = function()
    except NotImplementedError as error:
        assert "needs_elements" in row.test
        assert str(error).startswith(f"{row.shown_name}: ")
        assert "needs the elements" in str(error)
        return None
    finally:
        assert ebb.get_rng_state().tolist() == state
    return found


ALL = [
    (row, case, dtype_for(row))
    for row in ROWS
    if dtype_for(row) is not None
    for case in row.cases()
]
RECORDED = [one for one in ALL if one[0].differentiable and not one[0].is_inplace]
INPLACE = [row for row in ROWS if "inplace" in row.forms and dtype_for(row) is not None]


@each_of(ALL, by_op)
def test_results_are_those_of_the_cpu_but_for_elements(row, case, dtype):
    for layout in row.layouts[:2]:
        arguments = make_arguments(row, case, dtype, layout)
        emptied_ones = on_meta(row, arguments)
        found = found_on_meta(row, lambda: call(row, emptied_ones))  # noqa: B023
        if found is not None:
            check_same(found, call(row, arguments))


def gradients(row, arguments):
    """The leaves' gradients, or nothing if no result has any."""
    made, leaves = followed(row, arguments)
    outputs = [one for one in outputs_of(call(row, made)) if one.requires_grad]
    if not outputs or not leaves:
        return []
    seeds = [ebb.ones_like(one) for one in outputs]
    return ebb.autograd.grad(outputs, leaves, seeds, allow_unused=True)


@each_of(RECORDED, by_op)
def test_gradients_are_those_of_the_cpu_but_for_elements(row, case, dtype):
    for layout in row.layouts[:2]:
        arguments = make_arguments(row, case, dtype, layout)
        emptied_ones = on_meta(row, arguments)
        found = found_on_meta(row, lambda: gradients(row, emptied_ones))  # noqa: B023
        if found is not None:
            wanted = gradients(row, arguments)
            assert geometry(found) == geometry(wanted)
            assert all(one is None or one.is_meta for one in found)


@pytest.mark.parametrize("row", INPLACE, ids=str)
def test_what_is_written_in_place_keeps_its_geometry(row):
    dtype = dtype_for(row)
    for case in inplace_cases(row, dtype):
        arguments = on_meta(
            row, make_arguments(row, case, dtype, row.layouts[min(1, len(row.layouts) - 1)])
        )
        target = next(iter(arguments.values()))
        before, version = geometry([target]), target._version
        positional, named = split_arguments(row, arguments)
        found = found_on_meta(row, lambda: inplace_of(row)(*positional, **named))  # noqa: B023
        assert found is None or found is target
        assert geometry([target]) == before
        assert found is None or target.numel() == 0 or target._version > version


@pytest.mark.parametrize("row", [row for row in ROWS if "needs_elements" in row.test], ids=str)
def test_a_row_that_needs_elements_refuses_a_call(row):
    calls = [on_meta(row, make_arguments(row, case, dtype_for(row))) for case in row.cases()]
    assert None in [found_on_meta(row, lambda: call(row, one)) for one in calls]  # noqa: B023
