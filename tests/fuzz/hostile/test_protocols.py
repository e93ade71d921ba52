# tests/fuzz/hostile/test_protocols.py -- subclasses of Tensor, and objects with __ebb_function__ or
# __torch_function__, given to every public function and method.
"""The calls are made by protocols.py, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import seeds

ROOT = Path(__file__).parents[3]


def run(seed, count):
    """Return how many callables were tried, and the calls that ended otherwise."""
    command = [sys.executable, "-m", "tests.fuzz.hostile.protocols", str(seed), str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    *found, (_, tried, _) = [json.loads(line) for line in done.stdout.splitlines()]
    return tried, found


def test_calls_with_tensors_of_other_classes_end_as_with_plain_ones():
    tried, found = run(seeds.FIXED, 1)
    assert tried > 1500 and found == []


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_many_calls_with_tensors_of_other_classes():
    _, found = run(seeds.fresh_seed(), 20)
    assert found == []
