# tests/python/package/test_examples.py -- each example learns what its README says.
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.long


def last_line(script, *arguments):
    """Run an example and return the last line that it prints."""
    command = [sys.executable, ROOT / "examples" / script, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("model", ["lstm", "gpt"])
def test_character_model_learns_the_text(model):
    line = last_line("char_models/train.py", model)
    loss = float(re.fullmatch(r"held-out loss: (\d\.\d+) nats per character", line).group(1))
    assert loss < 2.05


def test_gradient_penalty_hits_all_spots():
    line = last_line("gradient_penalty/train.py")
    found = re.fullmatch(r"spots hit: (\d) of 8, mean distance to a spot: (\d\.\d+)", line)
    assert int(found.group(1)) == 8
    assert float(found.group(2)) < 0.1


def test_physics_network_solves_the_equation():
    line = last_line("physics/train.py")
    error = float(re.fullmatch(r"relative error of the solution: (\d+\.\d+) %", line).group(1))
    assert error < 2.0
