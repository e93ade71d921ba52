# tests/python/opencl/test_op_rows.py -- rows of the op table whose kernels OpenCL has give what
# NumPy says.
#
# The samples are those of tests/python/ops/test_values.py, sent to the device in their memory
# layouts. `make test` runs one dtype of each row; the others are long, since each is compiled.
import ctypes
import functools
import zlib

import pytest

import ebb
from tests.python.opencl.conftest import DEVICE, LIBRARIES
from tests.python.ops.op_rows import call, inplace_of, load_rows, make_arguments, split_arguments
from tests.python.ops.test_values import as_list, check_results, in_layouts, wraps_negative

DTYPES = ("float32", "int64", "bool", "float64")
NUMBERS = {"bool": 0, "int32": 7, "int64": 8, "float32": 11, "float64": 12}  # of DType in C++


@functools.cache
def kernel_dtypes(name):
    """Bits of the dtypes for which the device has the kernel."""
    library = ctypes.CDLL(str(LIBRARIES / "libebb.so"))
    library.ebb_kernel_dtypes_on.restype = ctypes.c_int64
    return library.ebb_kernel_dtypes_on(name.encode(), DEVICE.encode())


def has_kernels(row, dtype):
    """Whether the device has all kernels that the row names, for what the op computes in."""
    rule = row.data["dtype_rule"]
    if rule == "promote_float" and dtype in ("bool", "int64"):
        dtype = "float32"
    elif rule == "promote_number" and dtype == "bool":
        dtype = "int64"
    bit = 1 << NUMBERS[dtype]
    return all(kernel_dtypes(name) & bit for name in row.data["kernels"])


ROWS = [row for row in load_rows() if row.data["kernels"] and "none" not in row.test]
PLAIN = [row for row in ROWS if not row.is_creation and not row.is_inplace]
INPLACE = [row for row in ROWS if "inplace" in row.forms and row.data["dtype_rule"]]
PAIRS = [(row, dtype) for row in PLAIN for dtype in DTYPES if dtype in row.dtypes]


def sampled(row, dtype):
    """Whether this dtype is the one that each run tries."""
    own = [one for one in DTYPES if one in row.dtypes]
    return dtype == own[zlib.crc32(row.op.encode()) % len(own)]


def marked(pairs):
    return [
        pytest.param(
            *pair, id=f"{pair[0]}-{pair[1]}", marks=() if sampled(*pair) else pytest.mark.long
        )
        for pair in pairs
    ]


def sent(value, device):
    """The argument on the device, in memory that lies as before."""
    if isinstance(value, list):
        return [sent(one, device) for one in value]
    if not isinstance(value, ebb.Tensor):
        return value
    made = ebb.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)
    made.copy_(value)
    return made


@pytest.mark.parametrize(("row", "dtype"), marked(PAIRS))
def test_values_match_numpy(row, dtype, opencl):
    if not has_kernels(row, dtype):
        pytest.skip("no kernel yet")
    for case in row.cases():
        if wraps_negative(row, case, dtype):
            continue
        for layout, arguments, wanted in in_layouts(row, case, dtype):
            there = {name: sent(value, opencl) for name, value in arguments.items()}
            what = f"{row.op}({case}) {dtype} {layout}"
            results = [one.cpu() for one in as_list(call(row, there))]
            check_results(row, arguments, results, wanted, dtype, what)


@pytest.mark.parametrize("row", INPLACE, ids=str)
def test_writes_in_place_are_those_of_the_cpu(row, opencl):
    dtype = next((one for one in DTYPES if one in row.dtypes and has_kernels(row, one)), None)
    if dtype is None or row.data["result_dtype"] != "same":
        pytest.skip("no kernel yet")
    for case in row.cases():
        arguments = make_arguments(row, case, dtype, row.layouts[-1])
        there = {name: sent(value, opencl) for name, value in arguments.items()}
        for made in (arguments, there):
            positional, named = split_arguments(row, made)
            try:
                inplace_of(row)(*positional, **named)
            except ValueError:
                assert made is arguments  # the shape does not fit: the CPU says so first
                break
        else:
            target = row.tensors[0]
            ebb.testing.assert_close(there[target].cpu(), arguments[target])
