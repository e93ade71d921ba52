# tests/fuzz/hostile/test_calls.py -- nonsense given to every public callable: no crash, no hang,
# and every error says which call it is about.
"""The calls are made by calls.py, in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import seeds
from tests.fuzz.hostile.callables import all_callables

pytestmark = pytest.mark.nosan  # the sanitizers take the address space that the limit is set on
ROOT = Path(__file__).parents[3]


def run(seed, count, group):
    """Return a report per callable."""
    command = [sys.executable, "-m", "tests.fuzz.hostile.calls", *map(str, (seed, count, group))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(reports):
    """Fail with all that went wrong."""
    wrong = [f"{report['key']}: {' '.join(one)}" for report in reports for one in report["wrong"]]
    assert len(reports) == len(all_callables())
    calls = sum(report["calls"] for report in reports)
    assert not wrong, f"{len(wrong)} of {calls} calls\n" + "\n".join(wrong)


def test_hostile_calls_end_in_a_value_or_an_error_that_names_the_call():
    check(run(seeds.FIXED, 3, 40))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_many_hostile_calls():
    check(run(seeds.fresh_seed(), 80, 1))
