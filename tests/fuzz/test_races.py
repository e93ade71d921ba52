# tests/fuzz/test_races.py -- ops whose indices or masks another thread writes meanwhile end in a
# result or in a typed error: no signal, no InternalError.
#
# The short run tries each race for a moment, all in one process; the long one gives each op a
# process and EBB_RACE_SECONDS (60), shared by its forms.
import os
import subprocess
import sys

import pytest

from tests.fuzz.races import all_races, reads_indices
from tests.python.ops.op_rows import load_rows

SECONDS = float(os.environ.get("EBB_RACE_SECONDS", "60"))
RACES = all_races()


def groups():
    """Names of races by op, or by program."""
    found = {}
    for race in RACES:
        name = race.name.split(" ")[0] if race.is_row else race.name
        found.setdefault(name, []).append(race.name)
    return found


def run(seed, seconds, *names):
    command = [sys.executable, "-m", "tests.fuzz.races", seed, str(seconds), *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def test_a_row_with_an_operand_of_indices_has_a_race():
    raced = {op for race in RACES for op in race.ops}
    missing = {row.op for row in load_rows() if reads_indices(row)} - raced
    assert missing == set(), "add cases to the row or a program to race_programs.py"


def test_a_write_by_another_thread_ends_in_a_typed_error():
    lines = run("fixed", 0.03).splitlines()
    assert len(lines) == len(RACES)


@pytest.mark.long
@pytest.mark.parametrize("names", groups().values(), ids=groups())
def test_a_minute_of_writes_by_another_thread_ends_in_typed_errors(names):
    run("fresh", SECONDS / len(names), *names)
