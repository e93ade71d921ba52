# tests/fuzz/rows/test_temporaries.py -- what a call takes beside operands and results does not
# grow.
#
# For every op of the table: its memory above operands and results, at two sizes of its operands
# (temporaries.py). An op whose row names `temporaries` or `backward_temporaries`, and why, may take
# so many bytes an element (of eight bytes: twice as many); all others at most 64 MB. In `make test`
# a sample of the ops in one dtype each, in `make test-long` all.
import functools

import numpy as np
import pytest

import ebb
from tests.fuzz import seeds
from tests.fuzz.rows import temporaries
from tests.python.ops.op_rows import load_rows

SAMPLE = 16
SLACK = 1.0  # workspaces of half a megabyte, of which a thread may keep one more or less
WORKSPACE = 64 << 20  # what grows may do so up to here
ROUNDED = 1.34  # blocks of memory are up to a third larger than asked for

ROWS = [row for row in load_rows() if row.test.get("inputs") and not row.is_inplace]
SAMPLED = seeds.fixed("temporaries").sample(ROWS, min(SAMPLE, len(ROWS)))


@functools.cache
def growths(row, dtype, measure):
    """The bytes an element of the first case of the row that can be enlarged, by size."""
    for case in row.cases():
        found = [
            (temporaries.bytes_an_element(row, case, size, dtype, measure), case, size)
            for size in temporaries.sizes_of(case)[:2]
        ]
        found = [one for one in found if one[0] is not None]
        if found:
            return found
    return []


def allowed(row, key="temporaries"):
    """The bytes an element that the row gives a reason for."""
    return next(iter(map(int, row.test.get(key, {}))), 0)


def float_copies(row, dtype):
    """What is made of several ops computes half types in float32: operands, and its result.

    Where integers compute in the default dtype, it does so with operands of these.
    """
    is_half = getattr(ebb, dtype).is_floating_point and getattr(ebb, dtype).itemsize == 2
    is_integer = not getattr(ebb, dtype).is_floating_point
    tensors = sum(param["type"] in ("Tensor", "Tensor?") for param in row.params)
    return 4 * (tensors + is_half) if (is_half or is_integer) and row.data["is_composite"] else 0


def check(row, dtype, each, measure=temporaries.of_call):
    each = each * max(1, getattr(ebb, dtype).itemsize / 4) + float_copies(row, dtype)
    for growth, case, size in growths(row, dtype, measure):
        if growth <= each + SLACK:
            continue
        assert temporaries.at_most(row, case, size, dtype, measure, WORKSPACE), (
            f"{row.op} of {dtype} takes {growth:.2f} bytes an element for {case} along {size}, "
            f"its row allows {each:g}"
        )


def check_needed(row, key, dtypes, measure):
    """A key that the row no longer needs would hide what comes to take memory later."""
    taken = [growth for dtype in dtypes for growth, _, _ in growths(row, dtype, measure)]
    each = allowed(row, key)
    assert each == 0 or max(taken) > each / 2, f"{row.op}: `{key}` of the row is more than it takes"


@pytest.fixture(autouse=True)
def one_thread():
    ebb.set_num_threads(1)


@pytest.mark.nosan  # sanitizers serve memory themselves, uncounted
@pytest.mark.parametrize("row", SAMPLED, ids=str)
def test_temporaries_do_not_grow_with_the_operands(row):
    check(row, "float32" if "float32" in row.dtypes else row.dtypes[0], allowed(row))


def known_dtypes(row):
    return [
        dtype
        for dtype in ("float32", "uint8", "float16", "bfloat16", "float64")
        if dtype in row.dtypes
    ]


DIFFERENTIABLE = [row for row in ROWS if row.differentiable and "float32" in row.dtypes]
SAMPLED_BACKWARD = seeds.fixed("backward temporaries").sample(
    DIFFERENTIABLE, min(SAMPLE, len(DIFFERENTIABLE))
)


def check_backward(row):
    key = "backward_temporaries"
    check(row, "float32", allowed(row, key), temporaries.of_backward)
    check_needed(row, key, ["float32"], temporaries.of_backward)


@pytest.mark.nosan
@pytest.mark.parametrize("row", SAMPLED_BACKWARD, ids=str)
def test_a_backward_pass_holds_few_temporaries(row):
    check_backward(row)


@pytest.mark.long
@pytest.mark.nosan
@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=str)
def test_no_backward_pass_holds_many_temporaries(row):
    check_backward(row)


@pytest.mark.long
@pytest.mark.nosan
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_no_dtype_needs_more(row):
    dtypes = known_dtypes(row) or row.dtypes[:1]
    for dtype in dtypes:
        check(row, dtype, allowed(row))
    check_needed(row, "temporaries", dtypes, temporaries.of_call)


def gradients(row, case, layout, create_graph):
    outs, leaves, _ = temporaries.differentiated(row, case, "float32", layout)
    rng = seeds.fixed("gradients", row.op)
    grads = [ebb.full_like(one, rng.uniform(-1, 1)) for one in outs]
    options = {"create_graph": create_graph, "allow_unused": True}
    found = ebb.autograd.grad(outs, leaves, grads, **options)
    return [None if one is None else one.detach().numpy() for one in found]


def check_same(row, got, wanted, text=""):
    """LAPACK rounds otherwise where memory lies otherwise; all else gives the same bits."""
    if not row.matrices:
        return np.testing.assert_array_equal(got, wanted, text)
    most = np.abs(wanted).max(initial=1) if wanted is not None else 1
    return np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-5 * most, err_msg=text)


def check_blocks(row):
    """What is made of large tensors is made block by block, unless it is recorded."""
    rng = seeds.fixed("blocks", row.op)
    for _, case, size in growths(row, "float32", temporaries.of_backward)[:1]:
        large = temporaries.enlarged(case, size, temporaries.ELEMENTS)
        layout = rng.choice(row.layouts)
        whole = gradients(row, large, layout, create_graph=True)
        for got, wanted in zip(gradients(row, large, layout, False), whole, strict=True):
            check_same(row, got, wanted, f"{row.op} {large} {layout}")
        recorded, _, _ = temporaries.differentiated(row, large, "float32", layout)
        arguments = temporaries.make_arguments(row, large, "float32", layout)
        made = temporaries.tensors_in([temporaries.call(row, arguments)])[: len(recorded)]
        if not row.data["generator"] and "unordered" not in row.test:
            for got, wanted in zip(made, recorded, strict=True):
                check_same(row, got.numpy(), wanted.detach().numpy())


@pytest.mark.parametrize("row", SAMPLED_BACKWARD, ids=str)
def test_what_is_made_in_blocks_is_what_is_made_at_once(row):
    check_blocks(row)


@pytest.mark.long
@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=str)
def test_what_all_ops_make_in_blocks_is_what_is_made_at_once(row):
    check_blocks(row)


def test_a_copy_of_an_operand_is_seen():
    row = next(row for row in ROWS if row.test["inputs"] == "reduce")

    def measure(row, case, dtype):
        arguments = temporaries.make_arguments(row, case, dtype)
        return temporaries.memory_of(
            lambda: temporaries.call(row, {**arguments, "input": arguments["input"].clone()})
        )

    case = row.cases()[0]
    found = temporaries.bytes_an_element(row, case, 4, "float32", measure)
    assert 3.9 <= found <= 4 * ROUNDED
