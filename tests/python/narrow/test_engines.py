# tests/python/narrow/test_engines.py -- what multiplies and convolves half types: instruction
# sets that EBB_ISA allows, no threads but ebb's own, forks, nothing printed.
from pathlib import Path

import pytest

from tests.python.fresh import printed

PROGRAM = """
import os
import ebb
from ebb.nn import functional

ebb.manual_seed(0)
CONVS = [
    (functional.conv1d, (4, 32, 64), (64, 32, 3), {}),
    (functional.conv2d, (4, 32, 16, 16), (64, 32, 3, 3), {}),
    (functional.conv2d, (4, 32, 16, 16), (32, 1, 3, 3), {"groups": 32}),
    (functional.conv2d, (4, 32, 16, 16), (64, 16, 3, 3), {"groups": 2}),
    (functional.conv3d, (2, 32, 8, 8, 8), (64, 32, 3, 3, 3), {}),
    (functional.conv_transpose2d, (4, 32, 16, 16), (32, 64, 3, 3), {}),
]


def agrees(function, *shapes, **options):
    wide = [(ebb.rand(*shape) - 0.5).bfloat16().float().requires_grad_() for shape in shapes]
    narrow = [one.detach().bfloat16().requires_grad_() for one in wide]
    results = []
    for operands in (wide, narrow):
        out = function(*operands, **options)
        seed = (ebb.arange(out.numel()).reshape(out.shape) % 7 - 3).to(out.dtype)
        results.append([out, *ebb.autograd.grad(out, operands, seed)])
    for right, got in zip(*results):
        error = (got.float() - right).abs().max().item()
        assert error <= 0.008 * right.abs().max().item(), (function, shapes, error)


def try_all():
    agrees(lambda a, b: a @ b, (256, 128), (128, 192))
    agrees(lambda a, b: a @ b, (3, 65, 70), (3, 70, 64))
    agrees(functional.linear, (64, 96), (128, 96), (128,))
    agrees(functional.scaled_dot_product_attention, *[(2, 4, 130, 32)] * 3)
    for function, image, weight, options in CONVS:
        agrees(function, image, weight, **options)


before = len(os.listdir("/proc/self/task"))
try_all()
assert len(os.listdir("/proc/self/task")) == before
child = os.fork()
if child == 0:
    try_all()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""

# With its log on, oneDNN asks for OpenCL's devices, whose drivers start threads of their own.
VARIABLES = {"EBB_NUM_THREADS": "1", "OMP_NUM_THREADS": "4", "OCL_ICD_VENDORS": "/none"}


@pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline"])
def test_narrow_engines_start_no_threads_survive_a_fork_and_print_nothing(isa):
    assert printed(PROGRAM, timeout=300, EBB_ISA=isa, **VARIABLES) == ""


def kernels(isa):
    """What oneDNN says it ran."""
    said = printed(PROGRAM, timeout=300, EBB_ISA=isa, ONEDNN_VERBOSE="1", **VARIABLES)
    return [line.split(",")[4] for line in said.splitlines() if ",exec," in line]


def test_a_cap_on_instructions_reaches_the_narrow_products_of_onednn():
    ran = kernels("avx2")
    assert ran
    assert not [name for name in ran if "avx512" in name or "bf16" in name or "amx" in name]


def test_bfloat16_runs_by_its_instructions_where_they_are_faster_than_float32s():
    processor = Path("/proc/cpuinfo").read_text()
    is_fast = "amx_bf16" in processor or (
        "avx512_bf16" in processor and "GenuineIntel" not in processor
    )
    ran = [name for name in kernels("avx512") if "bf16" in name or "amx" in name]
    if is_fast:
        assert len(ran) >= 2 * 3 * 6  # two processes, three passes, six convolutions
    else:  # half the rate of float32 on Intel's, or none at all
        assert not ran
