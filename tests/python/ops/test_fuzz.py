# tests/python/ops/test_fuzz.py -- hostile arguments end in a value or in a typed error that
# names the op; never in a crash, a hang or an error of another kind.
#
# Every argument of a call is drawn from values that fit its type and from those that broke other
# systems: empty and 0-d tensors, dims and indices out of range, sizes that overflow, NaN, foreign
# objects, overlapping and aliased memory. The draws are seeded: a failure repeats.
import random
import resource
import zlib
from pathlib import Path

import numpy as np
import pytest

import ebb
from tests.cases import by_family, each_of
from tests.python.ops.op_rows import Array, call, function_of, inplace_of, load_rows, make_arguments

ROWS = load_rows()
DRAWS = 60

SHAPES = ((), (0,), (1,), (3,), (3, 4), (0, 0), (2, 0, 3), (1, 0, 2), (1,) * 8, (1,) * 32)
INTS = (0, 1, -1, 2, -2, 7, -7, 2**31 - 1, -(2**31), 2**62, -(2**63), 2**63 - 1, 2**63, 2**100)
FOREIGN = (None, "3", 3.0, True, [], (), object(), np.float32(2), np.int64(1), b"x", {}, [[1]])
SCALARS = (0, 1, -2, 1.5, float("nan"), float("inf"), 1e308, -0.0, 2**62, -(2**63), 2**63, 1 + 2j)
# Lists of sizes: small ones, and such that no machine has the memory for.
SIZES = (0, 1, 2, 3, 12, -1, -7, 2**45, 2**62, 2**63 - 1, -(2**63), 2**63)
LISTS = (
    [],
    [0],
    [0, 0],
    [0, -2],
    [1, 2, 3],
    [-1],
    [-1, -1],
    [12],
    [2**31] * 4,
    [2**62, 2],
    [1] * 40,
)
DTYPES = (ebb.float16, ebb.bfloat16, ebb.float32, ebb.float64, ebb.complex64, ebb.int64, ebb.uint8)
DTYPES = (*DTYPES, ebb.bool, ebb.uint16, ebb.int8, ebb.complex128)
EXTREMES = (0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e-310, 3e38, 0.5)


def draw_tensor(rng):
    """A tensor of any shape, dtype, layout and content."""
    shape = rng.choice(SHAPES)
    values = np.array([rng.choice(EXTREMES) for _ in range(int(np.prod(shape)))]).reshape(shape)
    dtype = rng.choice(DTYPES)
    with np.errstate(all="ignore"):
        whole = ebb.tensor(np.nan_to_num(values) if not is_float(dtype) else values)
    tensor = whole.to(dtype)
    layout = rng.randrange(6)
    if layout == 0 and tensor.ndim > 1:
        tensor = tensor.transpose(0, -1)
    elif layout == 1 and tensor.ndim > 0:
        tensor = tensor[..., ::2]
    elif layout == 2:
        tensor = tensor.expand([2, *tensor.shape]) if tensor.ndim < 32 else tensor
    if is_float(dtype) and rng.random() < 0.4:
        tensor = tensor.detach().requires_grad_()
    return tensor


def is_float(dtype):
    return dtype.is_floating_point or dtype.is_complex


def draw_hostile(rng, kind, is_size):
    """A value for a parameter of a type of the op table; one in eight is of another kind."""
    if rng.random() < 0.12:
        return rng.choice(FOREIGN)
    kind = kind.rstrip("?")
    if kind == "Tensor":
        return draw_tensor(rng)
    if kind == "Tensor[]":
        return [draw_tensor(rng) for _ in range(rng.randrange(4))]
    if kind == "int[]":
        sizes = [rng.choice(SIZES) for _ in range(rng.randrange(4))]
        return sizes if is_size or rng.random() < 0.5 else rng.choice(LISTS)
    return {
        "int": lambda: rng.choice(SIZES if is_size else INTS),
        "Scalar": lambda: rng.choice(SCALARS),
        "bool": lambda: rng.choice((True, False)),
        "float": lambda: rng.choice((0.0, 0.1, -1.0, 2.0, float("nan"))),
        "dtype": lambda: rng.choice(DTYPES),
        "device": lambda: rng.choice(("cpu", "cuda", "cpu:99999999999999999999", "%n%s\0")),
        "str": lambda: rng.choice(("none", "tanh", "relu", "floor", "bogus", "", "%n%s\0")),
        "Reduction": lambda: rng.choice(("none", "mean", "sum", "bogus", "")),
    }[kind]()


def draw_arguments(rng, row):
    """A good call of which some arguments are replaced, or one drawn altogether."""
    good = {}
    if "inputs" in row.test and row.dtypes and rng.random() < 0.7:
        case = rng.choice(row.cases())
        dtype = rng.choice(row.dtypes)
        good = make_arguments(row, case, dtype, rng.choice(row.layouts))
    hostile = {}
    for param in row.params:
        if param["name"] not in good or rng.random() < 0.35:
            if param["default"] is not None and rng.random() < 0.5:
                continue
            hostile[param["name"]] = draw_hostile(rng, param["type"], takes_sizes(row))
    return good | hostile


def takes_sizes(row):
    """Whether numbers say how much memory a call takes, so that large ones are an honest wish."""
    return row.is_creation or row.test.get("sizes", False)


def is_too_large(row, arguments):
    """An honest request for gigabytes: not tried."""
    numbers = [value for value in arguments.values() if isinstance(value, int | float)]
    return takes_sizes(row) and any(1e5 < abs(number) < 1e13 for number in numbers)


def try_call(row, function, arguments):
    """Call, and run backward if there is something to run."""
    try:
        result = function(arguments)
        results = result if isinstance(result, tuple | list) else [result]
        for one in results:
            if isinstance(one, ebb.Tensor) and one.requires_grad and one.numel() < 10**6:
                one.backward(ebb.ones_like(one.detach()))
    except ebb.Error as error:
        assert not isinstance(error, ebb.InternalError), (row.op, arguments)
        assert ":" in str(error), (row.op, str(error))


def rng_for(row, form):
    return random.Random(zlib.crc32(f"{row.op} {form}".encode()))


def resolve(row):
    return function_of(row) if row.is_creation else None


def plain(row, arguments):
    creation = resolve(row)
    if creation:
        positional = [arguments.pop(p["name"], 1) for p in row.params if not p["keyword_only"]]
        return creation(*positional, **arguments)
    is_method = row.is_inplace or row.data["python"] == "method"
    if is_method and not isinstance(next(iter(arguments.values()), None), ebb.Tensor):
        return None  # Python's own error, which is none of ours
    return call(row, arguments)


def fuzz(row, count):
    rng = rng_for(row, "plain")
    for _ in range(count):
        arguments = draw_arguments(rng, row)
        if not is_too_large(row, arguments):
            try_call(row, lambda given: plain(row, given), arguments)


@each_of(ROWS, by_family)
def test_hostile_arguments_end_in_a_value_or_a_typed_error(row):
    fuzz(row, DRAWS)
    assert (ebb.ones([2]) + 1).tolist() == [2.0, 2.0]


@pytest.fixture
def bounded_memory():
    """Room for 8 GiB more: a count of 2**31 is honest and would fill the machine, not fail."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (8 << 30), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.long
@pytest.mark.usefixtures("bounded_memory")
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_many_hostile_arguments(row):
    fuzz(row, 2000)


WRITERS = [row for row in ROWS if "inplace" in row.forms and row.data["python"] != "private"]


@each_of(WRITERS, by_family)
def test_hostile_arguments_of_inplace_forms(row):
    rng = rng_for(row, "inplace")
    for _ in range(DRAWS):
        arguments = draw_arguments(rng, row)
        target = arguments.pop(row.params[0]["name"], None)
        if isinstance(target, ebb.Tensor):
            try_call(row, lambda given, own=target: inplace_of(row)(own, **given), arguments)


OUTS = [row for row in ROWS if "out" in row.forms]


@each_of(OUTS, by_family)
def test_hostile_targets_of_out_forms(row):
    rng = rng_for(row, "out")
    for _ in range(DRAWS):
        arguments = draw_arguments(rng, row)
        arguments["out"] = draw_hostile(rng, "Tensor", False)
        if rng.random() < 0.2:
            arguments["out"] = next(iter(arguments.values()))
        positional = [arguments.pop(p["name"], 1) for p in row.params]
        try_call(row, lambda given, first=positional: function_of(row)(*first, **given), arguments)


BAD_INDICES = (-1, 3, 2**31, 2**62, -(2**62))
INDEX_NAMES = ("index", "target")


def has_indices(row):
    """Whether a case draws indices for a parameter of such a name."""
    given = [case.arguments.get(name) for case in row.cases() for name in INDEX_NAMES]
    return any(isinstance(one, Array) and one.below is not None for one in given)


INDEXED = [row for row in ROWS if has_indices(row)]


@pytest.mark.parametrize("row", INDEXED, ids=str)
@pytest.mark.parametrize("bad", BAD_INDICES)
def test_indices_out_of_range_are_refused(row, bad):
    for case in row.cases():
        name = "index" if "index" in case.arguments else "target"
        spec = case.arguments[name]
        if not isinstance(spec, Array) or spec.below is None or 0 in spec.shape:
            continue
        if (spec.below > 3 and bad == 3) or bad in row.test.get("ends_list", ()):
            continue
        arguments = make_arguments(row, case, row.dtypes[-1])
        values = arguments[name].numpy().copy()
        values[(-1,) * values.ndim] = bad
        arguments[name] = ebb.tensor(values)
        try:
            found = call(row, arguments)
        except ebb.Error as error:
            assert f"got {bad}" in str(error)
            continue
        assert bad == -1, "an index out of range was taken"
        values[(-1,) * values.ndim] = spec.below - 1  # -1 counts from the back
        last = call(row, {**arguments, name: ebb.tensor(values)})
        np.testing.assert_array_equal(found.numpy(), last.numpy())


OVERLAPS = {
    "expanded target": lambda: ebb.zeros([1]).expand([3]).add_(1),
    "expanded fill": lambda: ebb.zeros([1]).expand([3]).fill_(1),
    "expanded out": lambda: ebb.add(ebb.ones([3]), 1, out=ebb.zeros([1]).expand([3])),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_writing_to_overlapping_elements_is_refused(name):
    with pytest.raises(ValueError, match="no two elements of what is written may share memory"):
        OVERLAPS[name]()


def test_an_operand_may_overlap_the_target():
    base = np.arange(9.0).reshape(3, 3)
    square = ebb.tensor(base)
    square.add_(square.transpose(0, 1))
    assert square.tolist() == (base + base.T).tolist()
    line = ebb.tensor(np.arange(6.0))
    line[1:] = line[:-1]
    assert line.tolist() == [0, 0, 1, 2, 3, 4]
    line = ebb.tensor(np.arange(6.0))
    line[:-1].mul_(line[1:])
    assert line.tolist() == [0, 2, 6, 12, 20, 5]
    line = ebb.tensor(np.arange(6.0))
    ebb.add(line[:-1], line[1:], out=line[1:])
    assert line.tolist() == [0, 1, 3, 5, 7, 9]
    line = ebb.tensor(np.arange(4.0))
    ebb.exp(line, out=line)
    np.testing.assert_allclose(line.numpy(), np.exp(np.arange(4.0)))
