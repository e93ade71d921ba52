# tests/fuzz/rows/test_threads.py -- values and gradients of every op do not depend on how many
# threads.
#
# For every row of the op table that takes tensors: cases enlarged (temporaries.py) until work is
# cut into pieces, called with 1, 2, 3, 4 and 8 threads. All bits of results and gradients are
# those of one thread. In `make test` a sample of the rows with one case each, in `make test-long`
# all of them.
import contextlib

import numpy as np
import pytest

import ebb
from tests.fuzz import seeds
from tests.fuzz.rows import temporaries
from tests.fuzz.rows.temporaries import tensors_in
from tests.python.ops.op_rows import call, load_rows, make_arguments

COUNTS = (2, 3, 4, 8)
ELEMENTS = 1 << 18  # eight pieces of what is cheap for each element
SLOW, TOO_SLOW = 2e-7, 2e-5  # seconds an element: the trial has to do, or nothing is tried
SAMPLE = 24
CASES = 3

ROWS = [row for row in load_rows() if row.test.get("inputs") and not row.is_inplace]
SAMPLED = seeds.fixed("threads").sample(ROWS, min(SAMPLE, len(ROWS)))


def enlarged(row, dtype):
    """Cases of the row with many elements, each along one of its sizes."""
    for case in row.cases():
        for size in temporaries.sizes_of(case)[:2]:
            trial = temporaries.enlarged(case, size, temporaries.TRIAL)
            try:
                taken = temporaries.of_call(row, trial, dtype)
            except (ebb.Error, ValueError, TypeError, IndexError):
                continue  # sizes that do not go together
            count = temporaries.elements_of(trial)
            if taken.results > 64 * count or taken.seconds > TOO_SLOW * count:
                continue  # outer products, whole decompositions: smaller cases of theirs are tried
            yield trial if taken.seconds > SLOW * count else _large(case, size)


def _large(case, size):
    return temporaries.enlarged(case, size, ELEMENTS)


def weights(out):
    """Another number for each element of a result."""
    steps = ebb.arange(out.numel(), dtype=ebb.float64) % 1021
    return (steps / 1021 - 0.5).to(out.dtype).reshape(out.shape)


def outcome(row, case, dtype):
    """Bytes of the results and of the gradients of all operands that have one."""
    ebb.manual_seed(7)
    arguments = make_arguments(row, case, dtype)
    is_smooth = getattr(ebb, dtype).is_floating_point or getattr(ebb, dtype).is_complex
    leaves = [
        tensor.requires_grad_()
        for name, value in arguments.items()
        if is_smooth and name in row.differentiable
        for tensor in tensors_in([value])
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex
    ]
    outs = tensors_in([call(row, arguments)])
    recorded = [one for one in outs if one.requires_grad]
    grads = []
    if leaves and recorded:
        seeds_of = [weights(one) for one in recorded]
        # There is none of such operands now and then, or it has too many numbers on its way.
        with contextlib.suppress(ebb.Error, MemoryError):
            grads = ebb.autograd.grad(recorded, leaves, seeds_of, allow_unused=True)
    found = [*outs, *(one for one in grads if one is not None)]
    return [np.ascontiguousarray(as_array(one)).tobytes() for one in found]


def as_array(tensor):
    plain = tensor.detach()
    return plain.view(ebb.int16).numpy() if plain.dtype == ebb.bfloat16 else plain.numpy()


def check(row, dtype, most):
    for tried, case in enumerate(enlarged(row, dtype)):
        if tried == most:
            return
        ebb.set_num_threads(1)
        wanted = outcome(row, case, dtype)
        for count in COUNTS:
            ebb.set_num_threads(count)
            assert outcome(row, case, dtype) == wanted, f"{row.op} {dtype} {case}: {count} threads"


def first_dtype(row):
    return "float32" if "float32" in row.dtypes else row.dtypes[0]


@pytest.mark.parametrize("row", SAMPLED, ids=str)
def test_some_ops_give_the_same_with_any_number_of_threads(row):
    check(row, first_dtype(row), 1)


@pytest.mark.long
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_op_gives_the_same_with_any_number_of_threads(row):
    dtypes = {first_dtype(row), *({"float64", "bfloat16", "complex64", "int64"} & set(row.dtypes))}
    for dtype in sorted(dtypes):
        check(row, dtype, CASES)


def test_a_sum_cut_by_threads_is_seen(monkeypatch):
    def by_threads(row, arguments):
        pieces = arguments["input"].tensor_split(ebb.get_num_threads())
        return sum(piece.sin().sum() for piece in pieces)  # of numbers that are not round

    monkeypatch.setattr("tests.fuzz.rows.test_threads.call", by_threads)
    row = next(row for row in ROWS if row.test["inputs"] == "unary")
    with pytest.raises(AssertionError, match="threads"):
        check(row, "float32", 1)
