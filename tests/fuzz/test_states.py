# tests/fuzz/test_states.py -- hooks that do hostile things in the middle of a run (states.py).
#
# Each sample is a process of its own, since a fault may end it, with memory that is filled with
# 0x55 when it is freed and small blocks that do not come back as they were. A failure is the
# smallest case that drawing.py finds to fail too, in a file: `python -m tests.fuzz.states FILE`
# runs it again, and so does the next run, first.
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.fuzz import drawing, seeds, states

FRESH_MEMORY = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0", "MALLOC_PERTURB_": "85"}
SAMPLE, LONG = 100, 4000
ROOT = Path(__file__).parents[2]


def run_apart(*command, timeout=280):
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", *map(str, command)],
        cwd=ROOT,
        env=os.environ | FRESH_MEMORY,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_blob(blob, timeout=60):
    with tempfile.NamedTemporaryFile(suffix=".case") as file:
        file.write(blob)
        file.flush()
        done = run_apart("-m", "tests.fuzz.states", file.name, timeout=timeout)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stderr}"


def run_cases(seed, count, timeout=280):
    done = run_apart("-m", "tests.fuzz.states", seed, count, timeout=timeout)
    if done.returncode == 0:
        return drawing.try_all("states", run_blob, [])
    number = int((done.stdout.splitlines() or ["case 0"])[-1].split()[1])
    drawing.try_all("states", run_blob, states.cases(seed, number + 1)[-1:], shrinks=60)
    pytest.fail(f"seed {seed}, case {number}, after others: {done.returncode}\n{done.stderr}")


def test_hostile_hooks_leave_the_engine_whole():
    run_cases(seeds.FIXED, SAMPLE)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_many_hostile_hooks_leave_the_engine_whole():
    run_cases(seeds.fresh_seed(), LONG, timeout=3500)


def test_a_case_that_ends_the_process_is_shrunk_in_processes_of_its_own(monkeypatch, tmp_path):
    def crash(*command, timeout):
        kept = Path(command[2]).read_bytes() if len(command) == 3 else None
        is_fault = kept is None or max(kept, default=0) > 99
        return subprocess.CompletedProcess(command, -11 * is_fault, "case 0\ncase 3\n", "fault")

    monkeypatch.setattr(drawing, "KEPT", tmp_path)
    monkeypatch.setitem(globals(), "run_apart", crash)
    with pytest.raises(AssertionError, match="exit -11"):
        run_cases(seeds.FIXED, 9)
    assert [path.read_bytes() for path in drawing.remembered("states")] == [b"d"]


# Apart as well: cases leave packed values in cycles, while which every run here has one thread.
NAMES_DONE = """
from tests.fuzz import states
print(*{name for blob in states.cases(%d, 40) for name in states.run_case(blob)}, sep="\\n")
"""


def test_the_drawn_cases_do_all_that_hooks_may_do():
    done = run_apart("-c", NAMES_DONE % seeds.FIXED)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()) >= set(states.ACTIONS)
