# tests/python/ops/statistics/test_row_kinds.py -- what rows of kind reduce and scan say, at sizes
# that their cases do not reach.
import itertools

import numpy as np
import pytest

import ebb
from tests.python.ops.op_reference import reference
from tests.python.ops.op_rows import call, load_rows

ROWS = [row for row in load_rows() if row.data["body"] and "numpy" in row.test]
CONVERTING = [row for row in ROWS if row.data["body"]["dtype"] in ("widened", "truth", "counted")]
REFUSING = [row for row in ROWS if row.data["body"]["nothing"] == "refused"]
# Tensors that are converted a block at a time, along whole rows, columns or parts of them.
CUT = [(300, 400), (70000, 3), (3, 70000), (2, 3, 40000), (40000, 2, 3), (130, 50, 20), (200000,)]


def dims_of(row, ndim):
    """Return each way to name dims in a call of the row."""
    kinds = {param["name"]: param["type"] for param in row.params}
    if "dim" not in kinds:
        return [{}]
    if kinds["dim"].startswith("int[]"):
        counts = range(1, ndim + 1)
        chosen = [itertools.combinations(range(ndim), count) for count in counts]
        return [{"dim": list(dims)} for dims in itertools.chain(*chosen)]
    return [{"dim": dim} for dim in range(ndim)]


@pytest.mark.parametrize("row", CONVERTING, ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "bool"])
def test_elements_that_are_converted_block_by_block_give_the_row_s_result(row, dtype):
    for shape in CUT:
        array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
        x = ebb.tensor(array)
        for one in (x, x.permute(*range(x.ndim)[::-1])):
            for more in dims_of(row, x.ndim):
                arguments = {"input": one, **more}
                [wanted] = reference(row, arguments)
                assert np.array_equal(call(row, arguments).numpy(), wanted), (shape, more)


@pytest.mark.parametrize("row", REFUSING, ids=str)
def test_a_row_that_refuses_nothing_says_what_it_needs(row):
    for more in dims_of(row, 1):
        with pytest.raises((IndexError, ValueError), match="needs at least one element"):
            call(row, {"input": ebb.zeros(0), **more})
