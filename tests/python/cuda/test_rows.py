# tests/python/cuda/test_rows.py -- rows of the op table give what NumPy says, through the CUDA
# plug-in: its arguments and launches, and the kernels' CUDA C++, which the stand-in runs.
#
# These are the tests of tests/python/opencl/test_op_rows.py. A part of the rows runs each time; all
# of them with TEST_DEVICE=stand-in (`make test-long`).
import zlib

import pytest

from tests.python.opencl import test_op_rows as shared

PART = 40
PAIRS = [
    (row, dtype)
    for row, dtype in shared.PAIRS
    if shared.sampled(row, dtype) and zlib.crc32(row.op.encode()) % PART == 1
]


@pytest.mark.parametrize(("row", "dtype"), PAIRS, ids=[f"{row}-{dtype}" for row, dtype in PAIRS])
def test_values_match_numpy(row, dtype, opencl):
    shared.test_values_match_numpy(row, dtype, opencl)
