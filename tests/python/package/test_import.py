# tests/python/package/test_import.py -- what `import ebb` loads, and what it leaves for its use.
import importlib
import re
import subprocess
from pathlib import Path

import pytest

import ebb
from ebb._base.lazy import LazyPackage
from tests.python.fresh import printed

# Parts of the package that wait for their first use.
LAZY = (
    "accelerator", "array_api", "autograd.functional", "backends", "compiler", "cpu", "cuda",
    "distributed", "distributions", "fft", "func", "info", "jit", "masked", "mps",
    "multiprocessing", "onnx", "overrides", "precision", "serialization", "signal", "sparse",
    "torch_compat", "utils.einops", "utils.scipy", "utils.tensorboard", "version", "vision", "viz",
    "xpu",
)  # fmt: skip
# Modules that take time, of Python's library and beyond.
HEAVY = ("numpy", "subprocess", "multiprocessing", "tempfile", "shutil", "fractions", "decimal",
         "difflib", "html", "urllib.request", "http", "ssl", "asyncio", "logging", "pickle",
         "argparse", "ctypes", "socket", "zipfile", "unittest", "inspect", "dataclasses",
         "pathlib", "json")  # fmt: skip
MOST_MODULES = 172  # of ebb, which each take half a millisecond or more


@pytest.fixture(scope="module")
def loaded():
    before, after = printed(
        "import sys; before = set(sys.modules); import ebb; "
        "print(*before); print(*(set(sys.modules) - before))"
    ).splitlines()
    return set(after.split()) - set(before.split())


def test_importing_ebb_loads_no_part_that_waits_for_its_use(loaded):
    assert [name for name in LAZY if f"ebb.{name}" in loaded] == []


def test_importing_ebb_loads_nothing_that_takes_time(loaded):
    assert [name for name in HEAVY if name in loaded] == []


def test_the_number_of_modules_stays_small(loaded):
    own = [name for name in loaded if name.partition(".")[0] == "ebb"]
    assert 100 < len(own) <= MOST_MODULES


def test_no_library_needs_static_room_for_the_thread_locals_of_another():
    """A program that has used libstdc++'s before, PyTorch's for one, could not import ebb."""
    loaded = set(re.findall(r"/.*/(?:libebb|_C)\S*\.so\S*", Path("/proc/self/maps").read_text()))
    beside = [plugin for one in loaded for plugin in Path(one).parent.glob("libebb*.so")]
    libraries = sorted({str(Path(one).resolve()) for one in [*loaded, *beside]})
    assert len(libraries) >= 2
    command = ["readelf", "--dyn-syms", "--wide", *libraries]
    symbols = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.search(r" FUNC .* UND _ZSt", symbols)
    assert re.findall(r" TLS .* UND (_ZSt\S+)", symbols) == []


# Each part in a process that has imported ebb and no more.
ASK_FOR_EACH = """
import os, sys, ebb
for name in sys.argv[1:]:
    if os.fork() == 0:
        if name == "torch_compat":
            import ebb.torch_compat
        part = getattr(ebb, name)
        part.__doc__, dir(part)
        print(name, "ebb." + name in sys.modules, flush=True)
        os._exit(0)
    os.wait()
"""


def test_a_part_is_there_when_it_is_asked_for():
    names = [one for one in LAZY if "." not in one and one != "info"]
    assert printed(ASK_FOR_EACH, *names).splitlines() == [f"{name} True" for name in names]


def test_what_is_set_on_a_package_held_since_before_its_first_use_counts(monkeypatch):
    monkeypatch.setattr(importlib.import_module("ebb.hub"), "_chosen", None)
    held = LazyPackage("ebb.hub")
    held._chosen = "/data/hub"
    assert held.get_dir() == ebb.hub.get_dir() == "/data/hub"
