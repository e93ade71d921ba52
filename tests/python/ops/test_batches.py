# tests/python/ops/test_batches.py -- functions of matrices treat each matrix of a batch alone.
#
# Beside a matrix a million times as large, and one a million times as small, each has the same bits
# as in a call of its own.
import numpy as np

import ebb
from tests.cases import by_op, each_of
from tests.python.ops.op_rows import Array, call, load_rows, make_arguments

SCALES = (1.0, 1e6, 1e-6)


def is_of_matrices(row, case):
    """Whether a batch may stand in front of each tensor of a call."""
    shapes = [one.shape for one in case.arguments.values() if isinstance(one, Array)]
    fronts = {one[:-2] for one in shapes}
    return len(fronts) == 1 and all(len(one) > 1 and 0 not in one for one in shapes)


CASES = [
    (row, case, dtype)
    for row in load_rows()
    if "inputs" in row.test and row.matrices
    for case in row.cases()
    if is_of_matrices(row, case)
    for dtype in ("float32", "complex128")
    if dtype in row.dtypes
]


def results_of(row, arguments):
    results = call(row, arguments)
    return [one.detach() for one in (results if isinstance(results, tuple | list) else [results])]


@each_of(CASES, by_op)
def test_each_matrix_of_a_batch_is_computed_as_if_alone(row, case, dtype):
    alone = []
    for seed, scale in enumerate(SCALES):
        drawn = make_arguments(row, case, dtype, seed=seed)
        for name in row.matrices:
            drawn[name] = drawn[name] * scale
        alone.append(drawn)
    together = {
        name: ebb.stack([one[name] for one in alone]) if isinstance(value, ebb.Tensor) else value
        for name, value in alone[0].items()
    }
    found = results_of(row, together)
    for place, arguments in enumerate(alone):
        for whole, own in zip(found, results_of(row, arguments), strict=True):
            assert np.array_equal(whole[place].numpy(), own.numpy(), equal_nan=True), place
