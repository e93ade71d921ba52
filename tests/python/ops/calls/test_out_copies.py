# tests/python/ops/calls/test_out_copies.py -- `out=` where an op has no form of its own for it:
# what is refused, what an error says, and that nothing is written then.
import pytest

import ebb
from tests.cases import by_family, each_of
from tests.python.ops.op_rows import function_of, load_rows, make_arguments, split_arguments

ROWS = [
    row
    for row in load_rows()
    if row.data["copies_out"] and "none" not in row.test and not row.is_creation
]
SEVERAL = [row for row in ROWS if len(row.data["results"]) > 1]


def results_of(row, arguments):
    positional, named = split_arguments(row, arguments)
    found = function_of(row)(*positional, **named)
    return list(found) if isinstance(found, tuple | list) else [found]


def plain(row, dtype=None):
    """The arguments of the first case that has elements, and the results."""
    for case in row.cases():
        arguments = make_arguments(row, case, dtype or row.dtypes[-1])
        results = results_of(row, arguments)
        if all(one.numel() for one in results):
            return arguments, results
    return arguments, results


def run(row, arguments, outs):
    positional, named = split_arguments(row, arguments)
    given = outs[0] if len(outs) == 1 else tuple(outs)
    return function_of(row)(*positional, **named, out=given)


def untouched(row, arguments, outs, match):
    before = [one.tolist() for one in outs]
    with pytest.raises(ebb.Error, match=match) as caught:
        run(row, arguments, outs)
    assert row.shown_name in str(caught.value)
    assert str([one.tolist() for one in outs]) == str(before)


@each_of(ROWS, by_family)
def test_an_out_of_another_shape_is_refused_and_not_resized(row):
    arguments, results = plain(row)
    outs = [ebb.zeros_like(one) for one in results]
    outs[-1] = ebb.zeros((*outs[-1].shape, 2), dtype=outs[-1].dtype)
    untouched(row, arguments, outs, "'out' must have the shape")


@each_of(ROWS, by_family)
def test_an_out_of_a_lower_kind_is_refused(row):
    arguments, results = plain(row)
    if results[-1].dtype is ebb.bool:
        return  # may be cast to anything
    outs = [ebb.zeros_like(one) for one in results]
    outs[-1] = outs[-1].to(ebb.bool)
    untouched(row, arguments, outs, "can't be cast to the type of 'out', bool")


@pytest.mark.parametrize("row", SEVERAL, ids=str)
def test_several_results_need_as_many_tensors(row):
    arguments, results = plain(row)
    outs = [ebb.zeros_like(one) for one in results]
    positional, named = split_arguments(row, arguments)
    count = len(outs)
    with pytest.raises(ebb.Error, match=f"'out' needs {count} tensors, got {count - 1}"):
        function_of(row)(*positional, **named, out=outs[1:])


def graded(row, arguments):
    """The arguments with floating tensors that require a gradient."""
    changed = dict(arguments)
    for name in arguments:
        value = arguments[name]
        if isinstance(value, ebb.Tensor) and value.dtype in (ebb.float32, ebb.float64):
            changed[name] = value.detach().clone().requires_grad_()
    return changed


FLOATING = [row for row in ROWS if "float32" in row.dtypes]


@each_of(FLOATING, by_family)
def test_no_gradient_passes_through_an_out(row):
    arguments, _ = plain(row, "float32")
    given = graded(row, arguments)
    results = results_of(row, given)
    outs = [ebb.zeros_like(one.detach()) for one in results]
    if any(one.requires_grad for one in results):
        untouched(row, given, outs, "out=")
    with ebb.no_grad():
        written = run(row, given, outs)
    first = written if isinstance(written, ebb.Tensor) else written[0]
    assert first is outs[0]
