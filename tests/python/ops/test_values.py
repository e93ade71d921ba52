# tests/python/ops/test_values.py -- every op of the table gives what NumPy says, in every form.
#
# One test per op and dtype runs all cases of the row: odd sizes, zero-size, 0-d, broadcast pairs,
# strided, transposed and offset memory, positional and keyword arguments, in-place and out=.
import operator

import pytest

import ebb
from tests.cases import by_family, by_op, each_of
from tests.python.ops.op_reference import assert_close, default_of, expected_dtype, reference
from tests.python.ops.op_rows import (
    ALL_DTYPES,
    BOOL,
    COMPLEX,
    FLOATING,
    INTEGERS,
    call,
    dtype_of,
    function_of,
    inplace_of,
    load_rows,
    make_arguments,
    split_arguments,
    without_phases,
)

ROWS = [row for row in load_rows() if "none" not in row.test]
COMPUTED = [row for row in ROWS if not row.is_creation]
PLAIN = [(row, dtype) for row in COMPUTED if not row.is_inplace for dtype in row.dtypes]
INPLACE = [(row, dtype) for row in COMPUTED if "inplace" in row.forms for dtype in row.dtypes]
OUT = [(row, dtype) for row in COMPUTED if "out" in row.forms for dtype in row.dtypes]


def wraps_negative(row, case, dtype):
    """A negative or fractional number has no value in the integers of NumPy's reference."""
    return dtype.startswith("u") and "alpha" in case.arguments and case.arguments["alpha"] < 0


def as_list(result):
    return list(result) if isinstance(result, tuple | list) else [result]


def in_layouts(row, case, dtype):
    """Each layout, the arguments in it, and what NumPy gives for their values, always the same."""
    wanted = None
    for layout in row.layouts:
        arguments = make_arguments(row, case, dtype, layout)
        wanted = wanted or reference(row, arguments)
        yield layout, arguments, wanted


def check_results(row, arguments, results, wanted, dtype, what):
    assert len(results) == len(wanted), what
    for index, (result, values) in enumerate(zip(results, wanted, strict=True)):
        is_index = row.data["results"][0] == "values" and index == 1
        index_dtype = row.test.get("index_dtype", "int64")
        expected = index_dtype if is_index else expected_dtype(row, arguments, dtype, index)
        assert_close(result, values, expected, what)


@each_of(PLAIN, by_op)
def test_values_match_numpy(row, dtype):
    for case in row.cases():
        if wraps_negative(row, case, dtype):
            continue
        for layout, arguments, wanted in in_layouts(row, case, dtype):
            what = f"{row.op}({case}) {dtype} {layout}"
            check_results(row, arguments, as_list(call(row, arguments)), wanted, dtype, what)


@pytest.fixture
def double_default():
    ebb.set_default_dtype(ebb.float64)


WHOLE = [(row, dtype) for row, dtype in PLAIN if dtype in ("bool", "uint8", "int64")]


@each_of(WHOLE, by_op)
@pytest.mark.usefixtures("double_default")
def test_what_ops_make_of_integers_has_the_default_dtype(row, dtype):
    for case in row.cases():
        if not wraps_negative(row, case, dtype):
            arguments = make_arguments(row, case, dtype)
            what = f"{row.op}({case}) {dtype}, float64 by default"
            wanted = reference(row, arguments)
            check_results(row, arguments, as_list(call(row, arguments)), wanted, dtype, what)


CREATION = [row for row in ROWS if row.is_creation]
CREATION = [row for row in CREATION if row.test.get("inputs")]


@pytest.mark.parametrize("row", CREATION, ids=str)
def test_new_tensors_of_floating_numbers_have_the_default_dtype(row, double_default):
    for case in row.cases():
        for arguments in (case.arguments, in_floats(case.arguments)):
            positional, named = split_arguments(row, arguments)
            wanted = dtype_of(expected_dtype(row, arguments, "float64"))
            assert function_of(row)(*positional, **named).dtype is wanted, arguments


def in_floats(arguments):
    """The arguments with floats for their numbers, where the function takes numbers."""
    numbers = ("fill_value", "start", "end", "step")
    return {name: float(v) if name in numbers else v for name, v in arguments.items()}


@each_of([row for row in COMPUTED if not row.is_inplace], by_family)
def test_keywords_methods_and_aliases_are_the_same_op(row):
    case = row.cases()[0]
    arguments = make_arguments(row, case, row.dtypes[-1])
    wanted = as_list(call(row, arguments))
    positional, named = split_arguments(row, arguments)
    kind = row.data["python"]
    calls = []
    if kind in ("both", "function"):
        calls += [operator.attrgetter(name)(ebb) for name in row.function_names]
        calls += [getattr(ebb._C._ops, row.name)]
        same = as_list(without_phases(row, calls[0](**arguments)))
        assert [one.tolist() for one in same] == [one.tolist() for one in wanted]
    for function in calls:
        same = as_list(without_phases(row, function(*positional, **named)))
        assert [one.tolist() for one in same] == [one.tolist() for one in wanted]
    if kind in ("both", "method"):
        for name in row.method_names:
            same = getattr(positional[0], name)(*positional[1:], **named)
            same = as_list(without_phases(row, same))
            assert [one.tolist() for one in same] == [one.tolist() for one in wanted]


@each_of([row for row in COMPUTED if not row.is_inplace], by_family)
def test_defaults_that_are_given_by_name_change_nothing(row):
    case = row.cases()[0]
    arguments = make_arguments(row, case, row.dtypes[-1])
    wanted = as_list(call(row, arguments))
    given = {p["name"]: default_of(p) for p in row.params if p["default"] is not None} | arguments
    kind, first = row.data["python"], given[row.params[0]["name"]]
    found = []
    if kind in ("both", "function"):
        found.append(operator.attrgetter(row.function_names[0])(ebb)(**given))
    if kind in ("both", "method") and isinstance(first, ebb.Tensor):
        named = {name: value for name, value in given.items() if name != row.params[0]["name"]}
        found += [getattr(first, name)(**named) for name in row.method_names[:1]]
    for results in found:
        same = as_list(without_phases(row, results))
        assert [one.tolist() for one in same] == [one.tolist() for one in wanted]


def rank(dtype):
    kinds = (BOOL, INTEGERS, FLOATING, COMPLEX)
    return next(index for index, names in enumerate(kinds) if dtype in names)


def run_inplace(row, arguments):
    """Call the in-place form; return the tensor written to and what the call returned."""
    positional, named = split_arguments(row, arguments)
    return positional[0], inplace_of(row)(*positional, **named)


@each_of(INPLACE, by_op)
def test_inplace_forms_write_their_first_operand(row, dtype):
    for case in row.cases():
        if wraps_negative(row, case, dtype):
            continue
        for layout, arguments, wanted in in_layouts(row, case, dtype):
            what = f"{row.op}({case}) {dtype} {layout}, in place"
            check_inplace(row, arguments, wanted[0], dtype, what)


def check_inplace(row, arguments, wanted, dtype, what):
    own = next(iter(arguments.values()))
    result = dtype if row.is_inplace else expected_dtype(row, arguments, dtype)
    is_refused = rank(result) > rank(dtype) or row.refuses_inplace(dtype)
    if tuple(own.shape) != wanted.shape or is_refused:
        before = own.tolist()
        with pytest.raises(ebb.Error, match=row.shown_name):
            run_inplace(row, arguments)
        assert own.tolist() == before, what
        return
    version = own._version
    written, returned = run_inplace(row, arguments)
    assert returned is written, what
    assert written._version > version or written.numel() == 0, what
    assert_close(written, wanted, dtype, what)


@each_of([row for row in COMPUTED if "inplace" in row.forms], by_family)
def test_what_writes_its_operand_is_a_function_and_a_method(row):
    names = [name if row.is_inplace else name + "_" for name in row.method_names]
    kind = row.data["python"]
    for name in names:
        assert hasattr(ebb, name) == (kind in ("both", "function")), name
        assert hasattr(ebb.Tensor, name) == (kind in ("both", "method")), name


@each_of(OUT, by_op)
def test_out_forms_write_where_they_are_told(row, dtype):
    for case in row.cases():
        for layout, arguments, wanted in in_layouts(row, case, dtype):
            what = f"{row.op}({case}) {dtype} {layout}, out="
            positional, named = split_arguments(row, arguments)
            plain = as_list(function_of(row)(*positional, **named))
            outs = [ebb.empty_like(one) for one in plain]
            given = outs[0] if len(outs) == 1 else tuple(outs)
            results = as_list(function_of(row)(*positional, **named, out=given))
            assert all(one is out for one, out in zip(results, outs, strict=True)), what
            written = as_list(without_phases(row, outs)) if len(outs) > 1 else outs
            check_results(row, arguments, written, wanted, dtype, what)


@pytest.mark.parametrize("row", [row for row in COMPUTED if "dtypes" in row.test], ids=str)
def test_other_dtypes_are_refused(row):
    case = row.cases()[0]
    for dtype in set(row.data["dtypes"][row.main]) - set(row.dtypes):
        with pytest.raises(ebb.Error, match=f"{row.shown_name.split('_')[0]}|log_softmax"):
            call(row, make_arguments(row, case, dtype))


def narrowed(row, arguments):
    """The arguments with int32 indices where the op takes those."""
    takes = row.data["dtypes"]
    return {
        name: value.to(ebb.int32)
        if isinstance(value, ebb.Tensor)
        and value.dtype is ebb.int64
        and "int32" in takes.get(name, ())
        else value
        for name, value in arguments.items()
    }


INDEXED = [row for row in COMPUTED if ["int32", "int64"] in row.data["dtypes"].values()]


@pytest.mark.parametrize("row", INDEXED, ids=str)
def test_int32_indices_mean_what_int64_ones_do(row):
    dtype = "float32" if "float32" in row.dtypes else row.dtypes[0]
    for case in row.cases():
        arguments = make_arguments(row, case, dtype)
        given = narrowed(row, arguments)
        for got, wanted in zip(
            as_list(call(row, given)), as_list(call(row, arguments)), strict=True
        ):
            assert got.tolist() == wanted.tolist()


CREATED = [row for row in ROWS if row.is_creation]


@pytest.mark.parametrize("row", CREATED, ids=str)
def test_creation_matches_numpy(row):
    for case in row.cases():
        for dtype in (None, "int64", "float16", "bfloat16", "float32", "float64", "bool"):
            if dtype is not None and dtype not in row.dtypes:
                continue
            given = {} if dtype is None else {"dtype": dtype_of(dtype)}
            result = function_of(row)(**case.arguments, **given)
            (wanted,) = reference(row, case.arguments)
            expected = dtype or expected_dtype(row, case.arguments, "float32")
            assert_close(result, wanted, expected, f"{row.op}({case}) {dtype}")


def test_every_dtype_is_tried():
    tried = {dtype for _, dtype in PLAIN}
    assert tried >= set(ALL_DTYPES) or len(ROWS) < 10
