# tests/python/ops/test_kept_gradients.py -- no op of the table loses a gradient without a word.
#
# A floating result that depends on a floating tensor requires a gradient if that does: its backward
# gives one, or raises. What rows call `constant` is left out, and what results do not depend on.
import numpy as np
import pytest

import ebb
from ebb.autograd import forward_ad
from tests.cases import by_op, each_of
from tests.python.ops.op_rows import call, load_rows, make_arguments

ROWS = [row for row in load_rows() if "inputs" in row.test and not row.is_inplace]
CASES = [(row, case) for row in ROWS if "float64" in row.dtypes for case in row.cases()[:2]]
REFUSED = [(row, name) for row in ROWS for name in row.refused]


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


@each_of(CASES, by_op)
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
