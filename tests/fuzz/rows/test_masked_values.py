# tests/fuzz/rows/test_masked_values.py -- a gradient of 0 stays 0, whatever the operands hold.
#
# Each differentiable row runs with every tensor full of one hostile value, and with a mixture of
# them, and gets gradients of 0: what where() sends to the branch not taken. Rows that give NaN then
# say why in their `special` key (ops/schema.yaml), and docs/forward_mode.md names them: both lists
# are exact. What is made of other ops follows from those; test_special_values.py has second
# derivatives of pointwise rows.
import re
from pathlib import Path

import numpy as np
import pytest

import ebb
from tests.python.ops.op_rows import COMPLEX, FLOATING, call, load_rows, make_arguments, wide_array
from tests.python.ops.test_gradients import flatten, leaves, outputs_of

VALUES = (np.inf, -np.inf, np.nan, 0.0, 1.0, -1.0, 0.5, 88.0, 1e4, -1e4, 1e30)
PAGE = Path(__file__).parents[3] / "docs" / "forward_mode.md"
# The derivative of a derivative has the gradient itself as an operand, which may be NaN here.
ROWS = [
    row
    for row in load_rows()
    if row.differentiable and "inputs" in row.test and not row.is_inplace
    if row.params[0]["name"] != "grad" and not row.data["is_composite"]
]


def is_named(row):
    return "masked" in row.test.get("special", {})


def hostile_tensors(tensors):
    """The same tensors full of each value in turn, then of a mixture."""
    for value in VALUES:
        yield value, [ebb.full_like(one, value) for one in tensors]
    mixed = [np.resize(np.array(VALUES), one.numel()).reshape(tuple(one.shape)) for one in tensors]
    pairs = zip(mixed, tensors, strict=True)
    yield "mixed", [ebb.tensor(values).to(one.dtype).reshape(one.shape) for values, one in pairs]


def gradients_of_zeros(row, rebuilt, inputs):
    """The gradients of all inputs that get one; none where the row refuses such values."""
    try:
        outputs = outputs_of(call(row, rebuilt(*inputs)))
    except ValueError:
        return []
    outputs = [one for one in outputs if one.requires_grad]
    seeds = [ebb.zeros_like(one) for one in outputs]
    found = ebb.autograd.grad(outputs, inputs, seeds, allow_unused=True) if outputs else []
    return [one for one in found if one is not None]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_gradient_of_0_stays_0_through_all_rows_but_those_named(row):
    wrong = []
    for dtype in [one for one in (*FLOATING, *COMPLEX) if one in row.dtypes]:
        for case in row.cases():
            tensors, rebuilt = flatten(row, make_arguments(row, case, dtype))
            for value, hostile in hostile_tensors(tensors):
                found = gradients_of_zeros(row, rebuilt, leaves(hostile))
                if any((wide_array(one) != 0).any() for one in found):
                    wrong.append(f"{dtype} {value}: {case}")
    assert bool(wrong) == is_named(row), wrong[:6] or "its `masked` is out of date"


def test_the_page_names_exactly_the_ops_that_do_not_keep_0():
    (line,) = [one for one in PAGE.read_text().splitlines() if one.startswith("| masked parts |")]
    products = line.partition("but through")[2]
    homes = (ebb, ebb.Tensor, ebb.nn.functional)
    names = {row.name for row in ROWS if is_named(row) and any(hasattr(h, row.name) for h in homes)}
    assert set(re.findall(r"`(\w+)`", products)) == names
