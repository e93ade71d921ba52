# tests/python/tensor/test_info.py -- `python -m ebb.info` says what a bug report needs.
import os
import subprocess
import sys

import pytest

import ebb
from ebb import info


def test_everything_that_matters_is_there():
    known = info.collect()
    for name in ("ebb", "commit", "build type", "compiler", "instruction set in use", "OpenBLAS",
                 "oneDNN", "Highway", "threads", "memory live", "NumPy", "Python"):  # fmt: skip
        assert known[name] and isinstance(known[name], str), name
    assert known["ebb"] == ebb.__version__
    assert known["compiler"].startswith(("GCC ", "Clang "))
    assert "SINGLE_THREADED" in known["OpenBLAS"]  # ebb splits the work itself


@pytest.mark.parametrize("isa", ["baseline", "avx2"])
def test_the_module_prints_what_is_in_use(isa):
    environment = os.environ | {"EBB_ISA": isa, "EBB_NUM_THREADS": "1"}
    result = subprocess.run(
        [sys.executable, "-m", "ebb.info"], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0 and result.stderr == ""
    lines = dict(line.split("  ", 1) for line in result.stdout.splitlines())
    used = {name: text.strip() for name, text in lines.items()}
    compiled = used["instruction sets compiled"].split(", ")
    assert used["instruction set in use"] == (isa if isa in compiled else compiled[0])
    assert used["instruction set of libraries"] == isa and used["EBB_ISA"] == isa
    assert used["threads"].startswith("1 of ")


def test_it_works_without_git(monkeypatch):
    def fail(*arguments, **options):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", fail)
    assert info.collect()["commit"] == "unknown"
