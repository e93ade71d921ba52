# tests/python/amp/test_lists.py -- every op of the table under autocast, beside a slow reference:
# the same call outside, on operands that were cast by hand.
import itertools

import numpy as np
import pytest

import ebb
from tests.cases import by_family, each_of
from tests.python.amp import autocast_page
from tests.python.ops.op_rows import function_of, load_rows, make_arguments, split_arguments

NARROW = (ebb.float16, ebb.bfloat16)
CASTABLE = (*NARROW, ebb.float32)
# A row may say whether a call works for narrow dtypes; those that draw numbers differ each time.
ROWS = [
    row
    for row in load_rows()
    if "inputs" in row.test and not row.is_inplace and not row.data["generator"]
]
KERNELS = [row for row in ROWS if not row.data["is_composite"]]
MADE = [row for row in ROWS if row.data["is_composite"]]


def tensors_of(arguments):
    for value in arguments.values():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, ebb.Tensor):
                yield one


def wanted_dtype(row, level, lower, arguments):
    """What operands are cast to, or None."""
    floating = [one.dtype for one in tensors_of(arguments) if one.dtype.is_floating_point]
    kind = row.data["amp"]
    if not floating or kind == "none":
        return None
    if kind == "widest" and level == "O1":
        widest = sum(ebb.zeros(0, dtype=one) for one in floating).dtype
        return None if widest == ebb.float64 else widest
    return ebb.float32 if kind == "float32" and level != "O3" else lower


def cast_by_hand(value, dtype):
    if isinstance(value, (list, tuple)):
        return type(value)(cast_by_hand(one, dtype) for one in value)
    is_cast = isinstance(value, ebb.Tensor) and value.dtype in CASTABLE and dtype is not None
    return value.to(dtype) if is_cast else value


def results_of(row, arguments):
    positional, named = split_arguments(row, arguments)
    results = function_of(row)(*positional, **named)
    return list(results) if isinstance(results, (tuple, list)) else [results]


def with_leaves(row, arguments):
    """The arguments with leaves that require a gradient where they may, and those leaves."""
    leaves = []

    def leaf(value):
        if isinstance(value, (list, tuple)):
            return type(value)(leaf(one) for one in value)
        if not isinstance(value, ebb.Tensor) or not value.dtype.is_floating_point:
            return value
        leaves.append(value.detach().clone().requires_grad_())
        return leaves[-1]

    free = set(arguments) - {*row.refused, *np.atleast_1d(row.test.get("constant", []))}
    made = {name: leaf(value) if name in free else value for name, value in arguments.items()}
    return made, leaves


def gradients(results, leaves):
    roots = [one for one in results if one.requires_grad]
    sums = [(ebb.view_as_real(one) if one.dtype.is_complex else one).sum() for one in roots]
    return ebb.autograd.grad(sums, leaves, allow_unused=True)


def assert_same(got, expected):
    assert (got is None) == (expected is None)
    if got is not None:
        assert got.dtype == expected.dtype
        left, right = (np.asarray(one.detach().to(ebb.complex128)) for one in (got, expected))
        np.testing.assert_array_equal(left, right)


@each_of(itertools.product(KERNELS, ("O1", "O2", "O3")), by_family)
def test_a_call_is_that_of_operands_cast_by_hand(row, level):
    for dtype in ("float32", "bfloat16", "float64"):
        for case in row.cases()[:3] if dtype in row.dtypes else []:
            check_by_hand(row, case, dtype, level)


def check_by_hand(row, case, dtype, level):
    plain, leaves = with_leaves(row, make_arguments(row, case, dtype))
    target = wanted_dtype(row, level, ebb.bfloat16, plain)
    by_hand = {name: cast_by_hand(value, target) for name, value in plain.items()}
    # O3 asks for a dtype that the op may not have.
    if dtype == "float32" and target is ebb.bfloat16 and "bfloat16" not in row.dtypes:
        with ebb.autocast("cpu", level=level), pytest.raises(ebb.DTypeError, match="bfloat16"):
            results_of(row, plain)
        return
    expected = results_of(row, by_hand)
    with ebb.autocast("cpu", level=level):
        got = results_of(row, plain)
    for one, other in zip(got, expected, strict=True):
        assert_same(one, other)
    if not any(one.requires_grad for one in expected):
        return
    slopes = gradients(got, leaves)
    for slope, other, leaf in zip(slopes, gradients(expected, leaves), leaves, strict=True):
        assert_same(slope, other)
        assert slope is None or slope.dtype == leaf.dtype


@each_of(itertools.product(MADE, ("float32", "bfloat16")), by_family)
def test_ops_made_of_others_run_under_autocast(row, dtype):
    for case in row.cases()[:3] if dtype in row.dtypes else []:
        arguments, leaves = with_leaves(row, make_arguments(row, case, dtype))
        expected = results_of(row, arguments)
        with ebb.autocast("cpu"):
            got = results_of(row, arguments)
        assert [one.shape for one in got] == [one.shape for one in expected]
        if any(one.requires_grad for one in got):
            for slope, leaf in zip(gradients(got, leaves), leaves, strict=True):
                assert slope is None or slope.dtype == leaf.dtype


def test_every_op_that_computes_is_on_a_list():
    listed = {op for ops in ebb.amp.lists().values() for op in ops}
    assert {"matmul", "exp", "cat", "add"} <= listed
    assert listed == {row.name for row in load_rows() if row.data["amp"] != "none"}


def test_the_page_of_ops_is_that_of_the_op_table():
    assert autocast_page.PAGE.read_text() == autocast_page.page(), (
        "docs/autocast_ops.md is old: run python -m tests.python.amp.autocast_page"
    )


def test_no_op_is_on_two_lists_of_a_device():
    for lists in (autocast_page.CUDA, autocast_page.CPU):
        names = [name for key in lists for name in lists[key].split()]
        assert len(names) == len(set(names))
