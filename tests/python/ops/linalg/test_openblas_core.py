# tests/python/ops/linalg/test_openblas_core.py -- which of its kernels OpenBLAS runs: never those
# of an ancient processor only because it does not know this one.
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import ctypes
import os
import ebb

with open("/proc/self/maps") as maps:
    paths = {line.split()[-1] for line in maps if "libopenblas" in line}
for path in sorted(paths):
    library = ctypes.CDLL(path)
    library.openblas_get_corename.restype = ctypes.c_char_p
    print(library.openblas_get_corename().decode())
x = ebb.rand(40, 50, dtype=ebb.float64)
product = sum(x[:, i : i + 1] * x[i] for i in range(40))
assert (x[:, :40] @ x - product).abs().max().item() < 1e-12
assert (ebb.linalg.inv(x[:, :40]) @ x[:, :40] - ebb.eye(40)).abs().max().item() < 1e-6
assert os.environ.get("OPENBLAS_CORETYPE") == CHOSEN
"""
FLAGS = Path("/proc/cpuinfo").read_text().split()


def cores(chosen=None, **environment):
    """The names of the kernels in use, of each OpenBLAS that is loaded."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS", "EBB_ISA"))}
    given = {} if chosen is None else {"OPENBLAS_CORETYPE": chosen}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("CHOSEN", repr(chosen))],
        env=variables | given | environment,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = done.stdout.split()
    if not found:
        pytest.skip("this build has OpenBLAS linked in")
    return found


@pytest.mark.parametrize("isa", ["avx512", "avx2"])
def test_a_processor_that_openblas_does_not_know_is_none_from_before_avx2(isa):
    if "avx2" not in FLAGS:
        pytest.skip("this processor has no AVX2")
    assert "Prescott" not in cores(EBB_ISA=isa)


def test_a_users_choice_of_kernels_stands():
    if "avx2" not in FLAGS:
        pytest.skip("this processor has no AVX2")
    assert set(cores("Haswell")) == {"Haswell"}
    assert set(cores("Prescott")) == {"Prescott"}
