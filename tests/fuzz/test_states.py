# tests/fuzz/test_states.py -- hooks that do hostile things in the middle of a run (states.py).
#
# Each sample is a process of its own, since a fault may end it, with memory that is filled with
# 0x55 when it is freed and small blocks that do not come back as they were. A failure names seed
# and case: `python -m tests.fuzz.states SEED CASE 1` runs that one again.
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import seeds, states

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


def run_cases(seed, count, timeout=280):
    done = run_apart("-m", "tests.fuzz.states", seed, 0, count, timeout=timeout)
    last = (done.stdout.splitlines() or ["none"])[-1]
    assert done.returncode == 0, f"seed {seed}, {last}: exit {done.returncode}\n{done.stderr}"


def test_hostile_hooks_leave_the_engine_whole():
    run_cases(seeds.FIXED, SAMPLE)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_many_hostile_hooks_leave_the_engine_whole():
    run_cases(seeds.fresh_seed(), LONG, timeout=3500)


# Apart as well: cases leave packed values in cycles, while which every run here has one thread.
NAMES_DONE = """
from tests.fuzz import states
print(*{name for number in range(40) for name in states.run_case(%d, number)}, sep="\\n")
"""


def test_the_drawn_cases_do_all_that_hooks_may_do():
    done = run_apart("-c", NAMES_DONE % seeds.FIXED)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()) >= set(states.ACTIONS)
