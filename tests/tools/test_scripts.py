# tests/tools/test_scripts.py -- the package linker, the setup script and the choice of tests do as
# they say.
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

from tests.conftest import pytest_collection_modifyitems
from tools.link_package import link_package

ROOT = Path(__file__).resolve().parents[2]


def test_links_follow_added_and_removed_files_and_spare_real_ones(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "nn").mkdir(parents=True)
    (source / "a.py").write_text("A = 1\n")
    (source / "nn" / "b.py").write_text("B = 1\n")
    target.mkdir()
    (target / "_C.so").write_text("a module")
    link_package([source], target)
    assert (target / "nn" / "b.py").read_text() == "B = 1\n"
    (source / "a.py").unlink()
    (source / "c.py").write_text("C = 1\n")
    link_package([source], target)
    assert sorted(path.name for path in target.iterdir()) == ["_C.so", "c.py", "nn"]


def run_setup(tmp_path, commands: dict[str, str]) -> subprocess.CompletedProcess:
    """Run a copy of setup.sh where the given commands stand before the real ones."""
    (tmp_path / "tools").mkdir()
    for name in ("tools/setup.sh", "tools/apt-packages.txt", "requirements.txt"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "bin").mkdir()
    for name, script in commands.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    return subprocess.run(
        ["bash", "tools/setup.sh"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )


def test_setup_tells_how_much_disk_it_needs(tmp_path):
    result = run_setup(tmp_path, {"df": "echo Avail; echo 17"})
    assert result.returncode == 1
    assert "needs 3000 MiB of disk, got 17 MiB free" in result.stderr
    assert "hint: free some space" in result.stderr


def test_setup_without_root_and_sudo_names_the_packages(tmp_path):
    commands = {"df": "echo Avail; echo 9999", "dpkg-query": "exit 1", "id": "echo 1000"}
    result = run_setup(tmp_path, commands | {"sudo": "exit 1"})
    assert result.returncode == 1
    assert "apt-get could not install: g++ clang-14 lld-14 cmake" in result.stderr


def test_setup_without_network_says_so(tmp_path):
    commands = {"df": "echo Avail; echo 9999", "dpkg-query": "exit 1", "id": "echo 0"}
    result = run_setup(tmp_path, commands | {"apt-get": "exit 100"})
    assert result.returncode == 1
    assert "hint: check the network" in result.stderr


def test_make_help_lists_every_public_target():
    result = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    listed = [line.split()[0] for line in result.stdout.splitlines()[1:]]
    wanted = "build demo demo-score demo-cpp test test-long check bench mutate clean help"
    assert set(wanted.split()) <= set(listed)


def test_cmake_reads_the_presets():
    result = subprocess.run(
        ["cmake", "--list-presets"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for preset in ("release", "debug", "asan", "tsan"):
        assert f'"{preset}"' in result.stdout


def test_a_sample_leaves_no_test_function_out():
    nodes = [f"test_a.py::test_many[{case}]" for case in range(7)] + ["test_a.py::test_one"]
    items = [SimpleNamespace(nodeid=node) for node in nodes]
    left_out = []
    config = SimpleNamespace(
        getoption={"every": 3}.get,
        hook=SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items)),
    )
    pytest_collection_modifyitems(config, items)
    kept = [item.nodeid for item in items]
    assert kept == [nodes[0], nodes[3], nodes[6], nodes[7]]
    assert len(left_out) == 4
