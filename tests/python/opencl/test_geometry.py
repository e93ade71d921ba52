# tests/python/opencl/test_geometry.py -- drawn calls give on a device what they give on the CPU:
# values, gradients and second derivatives, whatever their sizes, strides and dtypes.
#
# The draws are those of tests/fuzz/rows/geometry.py: sizes 0 and 1, broadcast, permuted, expanded
# and overlapping operands, all real dtypes. What has no kernel runs on the CPU here, so that each
# op is tried that has operands on a device. A part of the rows runs each time, all of them with
# `make test-long`, by fresh draws: EBB_FUZZ_SEED repeats them.
import zlib

import numpy as np
import pytest

import ebb
from tests.fuzz import seeds
from tests.fuzz.rows import geometry
from tests.fuzz.rows.function_rows import composed_rows
from tests.python.ops.op_reference import TOLERANCE
from tests.python.ops.op_rows import (
    COMPLEX,
    VIEW_LAYOUTS,
    call,
    load_rows,
    make_arguments,
    wide_array,
)
from tests.python.ops.test_gradients import flatten, is_differentiable, leaves

ROWS = [row for row in load_rows() if "inputs" in row.test and row.main] + composed_rows()
PART = 120
SAMPLED = [row for row in ROWS if zlib.crc32(row.op.encode()) % PART == 3]
TRIALS, LONG_TRIALS, MOST_DRAWS = 2, 8, 25

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*should have one shape:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*no kernel:UserWarning"),
]


def sent(value, device):
    """The argument on the device, in a copy of all the memory that it reaches."""
    if isinstance(value, list):
        return [sent(one, device) for one in value]
    if not isinstance(value, ebb.Tensor):
        return value
    sizes, strides, offset = tuple(value.shape), value.stride(), value.storage_offset()
    reach = sum(max(0, size - 1) * step for size, step in zip(sizes, strides, strict=True))
    length = offset + reach + 1 if value.numel() else offset
    memory = value.detach().as_strided((length,), (1,), 0)
    return memory.to(device).as_strided(sizes, strides, offset)


def listed(result):
    return list(result) if isinstance(result, tuple | list) else [result]


def drawn(row, rng):
    """Arguments that the op takes, or None."""
    cases = row.cases()
    dtype = rng.choice([one for one in row.dtypes if one not in COMPLEX] or ["float32"])
    is_dense = row.layouts == VIEW_LAYOUTS or bool(row.matrices)
    layouts = ("dense",) if is_dense else geometry.LAYOUTS
    for _ in range(MOST_DRAWS):
        case = geometry.draw_case(rng, row, cases)
        if not geometry.is_small(case):
            continue
        placed = geometry.place_tensors(rng, case, layouts)
        try:
            arguments = make_arguments(row, placed, dtype, seed=rng.getrandbits(30))
            results = listed(call(row, arguments))
        except (ebb.Error, np.linalg.LinAlgError):
            continue
        if sum(one.numel() for one in results) <= 4 * geometry.MOST_ELEMENTS:
            return arguments
    return None


def outcome(row, arguments, seed, device):
    """Values, gradients and second derivatives of a call, by name."""
    there = {name: sent(value, device) for name, value in arguments.items()}
    tensors, rebuilt = flatten(row, there)
    inputs = leaves(tensors)
    found = {"value": listed(call(row, rebuilt(*inputs))), "gradient": [], "second derivative": []}
    recorded = [one for one in found["value"] if is_differentiable(one) and one.requires_grad]
    if not recorded or not inputs:
        return found
    rng = np.random.default_rng(seed)

    def direction(like):
        numbers = ebb.tensor(rng.integers(-8, 9, tuple(like.shape)) / 8.0)
        return numbers.to(like.dtype).to(like.device).requires_grad_()

    directions = [direction(one) for one in recorded]
    grads = ebb.autograd.grad(recorded, inputs, directions, create_graph=True, allow_unused=True)
    found["gradient"] = list(grads)
    bent = [one for one in grads if one is not None and one.requires_grad]
    if bent:
        pulls = [direction(one).detach() for one in bent]
        behind = [*inputs, *directions]
        found["second derivative"] = list(ebb.autograd.grad(bent, behind, pulls, allow_unused=True))
    return found


def check_alike(name, here, there):
    """Hold a tensor of the device to the CPU's; where there is no derivative, it is 0."""
    if here is None and there is None:
        return
    here = ebb.zeros_like(there).cpu() if here is None else here
    there = ebb.zeros_like(here) if there is None else there
    assert there.dtype == here.dtype, name
    if here.layout != ebb.strided:
        here, there = here.to_dense(), there.to_dense()
    wanted, got = wide_array(here), wide_array(there.cpu())
    assert got.shape == wanted.shape, name
    if wanted.dtype.kind in "biu":
        assert np.array_equal(got, wanted), name
        return
    dtype = str(here.dtype).rpartition(".")[2]
    scale = max(1.0, float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)))
    factor = {"value": 4, "gradient": 8, "second derivative": 32}[name]
    limit = TOLERANCE[dtype] * factor * scale
    np.testing.assert_allclose(got, wanted, rtol=0, atol=limit, equal_nan=True, err_msg=name)


def try_drawn_calls(row, trials, rng_for, device):
    for number in range(trials):
        rng = rng_for("device", row.op, number)
        arguments = drawn(row, rng)
        if arguments is None:
            continue
        seed = rng.getrandbits(30)
        try:
            here = outcome(row, arguments, seed, "cpu")
        except (ebb.Error, NotImplementedError):
            continue  # a derivative that the row refuses, or a matrix without an inverse
        there = outcome(row, arguments, seed, device)
        for name, wanted in here.items():
            assert len(wanted) == len(there[name])
            for pair in zip(wanted, there[name], strict=True):
                check_alike(name, *pair)


@pytest.mark.parametrize("row", SAMPLED, ids=str)
def test_drawn_calls_are_those_of_the_cpu(row, opencl):
    ebb.set_kernel_fallback(True)
    try_drawn_calls(row, TRIALS, seeds.fixed, opencl)


@pytest.mark.long
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_many_drawn_calls_are_those_of_the_cpu(row, opencl):
    ebb.set_kernel_fallback(True)
    try_drawn_calls(row, LONG_TRIALS, seeds.fresh, opencl)
