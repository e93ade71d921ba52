# tests/python/ops/numbers/test_instruction_sets.py -- what holds with the processor's best
# instructions holds with those that EBB_ISA caps it to: without fused multiply-adds errors differ.
import os
import pathlib
import subprocess
import sys

import pytest

# The sanitizers' build has one set of instructions (EBB_ONE_ISA).
pytestmark = pytest.mark.nosan
HERE = pathlib.Path(__file__).parent
LESSER = ["baseline", "avx2"]


def run(isa, *tests):
    """Runs test files in a process of its own, as the set is chosen once."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "not long", *tests],
        env={**os.environ, "EBB_ISA": isa},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.parametrize("isa", LESSER)
def test_sums_of_exponentials_and_special_functions_keep_their_digits(isa):
    run(isa, HERE / "test_log_of_sums.py", HERE / "test_special.py")


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("isa", LESSER)
def test_every_op_keeps_its_values(isa):
    run(isa, HERE, f"--ignore={__file__}")
