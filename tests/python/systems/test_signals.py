# tests/python/systems/test_signals.py -- signals amid ops, in processes of their own: pytest
# enables faulthandler, which gives handlers a stack of their own and so hides what they overwrite.
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.python.fresh import printed
from tests.python.systems.programs import module

HERE = Path(__file__).parent
SHARES = 40  # of the ops, into so many programs
LEVELS = ["baseline", "avx2", "avx512"]


@pytest.fixture(scope="session")
def probe(tmp_path_factory):
    """Return the compiled handler."""
    made = tmp_path_factory.mktemp("probe") / "probe.so"
    source = HERE / "probe.c"
    compiler = shutil.which("cc") or "gcc"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", made, source], check=True)
    return made


PRODUCTS = """
    import ctypes, sys, time, ebb

    probe = ctypes.CDLL(sys.argv[1])
    x, square, vector = ebb.randn(40, 128, 128), ebb.randn(600, 600), ebb.randn(600, 1)
    images, filters = ebb.randn(4, 16, 30, 30), ebb.randn(32, 16, 3, 3)
    q = ebb.randn(1, 4, 256, 64)
    programs = [
        lambda: square @ square,
        lambda: square.t() @ square,
        lambda: square @ square.t(),
        lambda: square @ vector,
        lambda: square[:, :4].t() @ square,
        lambda: x @ x,
        lambda: square.half() @ square.half(),
        lambda: square.bfloat16() @ square.bfloat16(),
        lambda: square.double() @ square.double(),
        lambda: square.to(ebb.complex64) @ square.to(ebb.complex64),
        lambda: ebb.nn.functional.scaled_dot_product_attention(q, q, q),
        lambda: ebb.conv2d(images, filters),
        lambda: ebb.linalg.svd(square[:100, :100])[1],
        lambda: ebb.fft.fft(x),
    ]
    for number, program in enumerate(programs):
        wanted = program()
        probe.probe_every(200)
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            assert program().equal(wanted), number
        probe.probe_every(0)
        assert probe.probe_calls_outside() == 0, number
    assert probe.probe_calls() > 10 * len(programs)
"""


@pytest.mark.nosan  # sanitizers run handlers later, where they please
@pytest.mark.parametrize("isa", LEVELS)
def test_a_handler_without_a_stack_of_its_own_overwrites_nothing_of_a_product(probe, isa):
    printed(PRODUCTS, probe, PYTHONFAULTHANDLER="", EBB_ISA=isa)


@pytest.mark.nosan
def test_signals_change_no_result_of_a_sample_of_ops(probe):
    assert module("beside_signals", probe, 3, SHARES, 2) == ""


@pytest.mark.nosan
@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("isa", LEVELS)
@pytest.mark.parametrize("share", range(8))
def test_signals_change_no_result_of_any_op(probe, share, isa):
    assert module("beside_signals", probe, share, 8, 20, timeout=1100, EBB_ISA=isa) == ""


@pytest.mark.nosan  # ThreadSanitizer allows no threads in the child of a process with threads
@pytest.mark.parametrize("subject", ["train", "load", "save"])
def test_work_that_was_interrupted_can_be_done_again(tmp_path, subject):
    assert module("interrupted", subject, 8, tmp_path) == ""


@pytest.mark.nosan
@pytest.mark.long
@pytest.mark.parametrize("subject", ["train", "load", "save"])
def test_work_that_was_interrupted_two_hundred_times_can_be_done_again(tmp_path, subject):
    assert module("interrupted", subject, 200, tmp_path) == ""
