# tests/python/ops/test_errors.py -- bad calls of the op table end in a typed error with its
# text.
import re

import numpy as np
import pytest

import ebb
from ebb import _C
from tests.cases import by_family, each_of
from tests.python.held import live_without_garbage
from tests.python.ops.op_rows import (
    ALL_DTYPES,
    Array,
    dtype_of,
    function_of,
    load_rows,
    make_arguments,
)

ROWS = load_rows()
BAD = [(row, text, wanted) for row in ROWS for text, wanted in row.test.get("bad", {}).items()]


def namespace():
    """Everything that the table's bad calls name: ops, private ones included, and creation."""
    names = {name: getattr(_C, name) for name in dir(_C) if not name.startswith("_")}
    names |= {name: getattr(_C._ops, name) for name in dir(_C._ops) if not name.startswith("_")}
    return {**names, "__builtins__": {}}


@each_of(BAD, by_family)
def test_bad_calls_say_what_is_needed_and_what_was_given(row, text, wanted):
    with pytest.raises(ebb.Error) as caught:
        eval(text, namespace())
    assert str(caught.value).split("\nhint:")[0] == wanted
    assert isinstance(caught.value, ValueError | TypeError | IndexError)


REFUSING = [
    (row, name)
    for row in ROWS
    if row.data["is_composite"] and not row.is_inplace and isinstance(row.test.get("inputs"), list)
    for name, accepted in row.data["dtypes"].items()
    if name in row.tensors and len(accepted) < len(ALL_DTYPES)
]


@each_of(REFUSING, by_family)
def test_a_function_made_of_others_names_its_own_argument_of_a_wrong_dtype(row, name):
    case = row.cases()[0]
    if not isinstance(case.arguments.get(name), Array):
        return  # the case does not give it
    given = make_arguments(row, case, row.dtypes[-1])
    for dtype in sorted({*ALL_DTYPES} - {*row.data["dtypes"][name]}):
        try:
            function_of(row)(**{**given, name: ebb.ones_like(given[name]).to(dtype_of(dtype))})
        except TypeError as error:
            assert re.match(rf"{row.shown_name}: (.*\W)?{name}\W", str(error))


MIXED = [
    (row, name)
    for row in ROWS
    if "inputs" in row.test and {"float32", "float64"} <= {*row.dtypes} and len(row.tensors) > 1
    for name in row.tensors
]


@each_of(MIXED, by_family)
def test_dtypes_that_must_be_one_are_told_with_the_names_of_both(row, name):
    given = make_arguments(row, row.cases()[0], "float64")
    value = given.get(name)
    if not isinstance(value, ebb.Tensor) or value.dtype != ebb.float64:
        return  # the case gives no numbers there
    try:
        function_of(row)(**{**given, name: value.float()})
    except TypeError as error:
        found = re.match(r"\S+: (\w+) and (\w+) need one dtype", str(error))
        if found:
            assert name in found.groups() and len({*found.groups()}) == 2
            assert {*found.groups()} <= {one["name"] for one in row.params}


WITH_TENSORS = [row for row in ROWS if row.tensors and hasattr(_C._ops, row.name)]
WITH_TENSORS = [row for row in WITH_TENSORS if row.data["python"] != "private"]


def some_argument(param):
    """A value that fits the type of a parameter."""
    values = {
        "Tensor": ebb.ones([2, 2]),
        "Tensor?": None,
        "Tensor[]": [ebb.ones([2, 2])],
        "Scalar": 1,
        "int": 0,
        "int?": 0,
        "int[]": [2],
        "int[]?": [0],
        "bool": True,
        "float": 0.5,
        "str": "none",
        "dtype": ebb.float32,
    }
    return values[param["type"]]


@each_of(WITH_TENSORS, by_family)
def test_an_argument_of_the_wrong_kind_is_named(row):
    required = [p for p in row.params if p["default"] is None]
    arguments = [some_argument(param) for param in required if not param["keyword_only"]]
    arguments[0] = "text"
    function = function_of(row)
    with pytest.raises(TypeError, match=rf"{row.shown_name}.*str"):
        function(*arguments)
    with pytest.raises(ebb.Error):
        function(*arguments)


INTS = ("int", "int?", "int[]", "int[]?")
TRUTHS = (True, False, np.True_, ebb.tensor(True))
WITH_INTS = [
    (row, param["name"])
    for row in WITH_TENSORS
    for param in row.params
    if param["type"] in INTS and not row.is_inplace
]


@each_of([(*one, truth) for one in WITH_INTS for truth in TRUTHS], by_family)
def test_a_truth_value_is_not_taken_for_an_int(row, name, truth):
    required = [p for p in row.params if p["default"] is None]
    arguments = {p["name"]: some_argument(p) for p in required} | {name: truth}
    with pytest.raises(TypeError, match=rf"{row.shown_name}.*(bool|Tensor)"):
        function_of(row)(**arguments)


@each_of(WITH_TENSORS, by_family)
def test_a_missing_and_a_surplus_argument_are_refused(row):
    function = function_of(row)
    with pytest.raises(TypeError, match=row.shown_name):
        function()
    with pytest.raises(TypeError, match=row.shown_name):
        function(*[ebb.ones([2])] * 12)
    with pytest.raises(TypeError, match=rf"(?s){row.shown_name}.*no_such_argument"):
        function(ebb.ones([2]), no_such_argument=1)


def test_every_error_text_has_the_house_form():
    for row, _, wanted in BAD:
        assert re.match(r"[a-z_0-9.]+: \S", wanted), f"{row}: {wanted}"
        assert not wanted.endswith("."), f"{row}: {wanted}"


def test_shapes_are_refused_before_memory_is_taken():
    wide, tall = ebb.empty(1 << 20, 1, 3), ebb.empty(1 << 10, 2)
    before = live_without_garbage()
    ebb.reset_peak_memory()
    for call in (lambda: wide + tall, lambda: wide @ tall, lambda: ebb.cat([wide, tall])):
        with pytest.raises(ValueError):
            call()
    assert ebb.memory_stats()["peak"] - before < 1 << 16
