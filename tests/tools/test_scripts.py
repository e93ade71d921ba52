# tests/tools/test_scripts.py -- the package linker, the setup script and the choice of tests do as
# they say.
import os
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import pytest_collection_modifyitems
from tests.cases import each_of
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


def run_script(tmp_path, files: list[str], commands: dict[str, str]) -> subprocess.CompletedProcess:
    """Run a copy of the first file where the given commands stand before the real ones."""
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "bin").mkdir()
    for name, script in commands.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    return subprocess.run(
        ["bash", files[0]], cwd=tmp_path, env=environment, capture_output=True, text=True
    )


def run_setup(tmp_path, commands: dict[str, str]) -> subprocess.CompletedProcess:
    files = ["tools/setup.sh", "tools/apt-packages.txt", "requirements.txt"]
    return run_script(tmp_path, files, commands)


def test_continuous_integration_ends_with_the_names_of_what_failed(tmp_path):
    make = """case $1 in
    test) echo 'FAILED tests/a.py::test_b - AssertionError: c'; echo 'a dot'; exit 1;;
    check) echo '[check] sizes FAILED (0.1 s)'; echo '  a.py has 601 lines'; exit 2;;
    *) echo 'E   of a test that is to fail';;
    esac"""
    result = run_script(tmp_path, [".ci/run"], {"make": make})
    assert result.returncode == 1
    lines = [
        line for line in result.stdout.split("what failed in make test ")[1].split("\n") if line
    ]
    assert lines[1] == "FAILED tests/a.py::test_b - AssertionError: c"
    assert lines[2] == "=== what failed in make check ==="
    assert lines[3:5] == ["[check] sizes FAILED (0.1 s)", "  a.py has 601 lines"]
    assert [line.split(" in ")[0] for line in lines[-3:]] == [
        "test              FAILED",
        "check             FAILED",
        "test-asan-sample  passed",
    ]


def test_continuous_integration_passes_where_all_parts_do(tmp_path):
    result = run_script(tmp_path, [".ci/run"], {"make": "exit 0"})
    assert result.returncode == 0
    assert "what failed" not in result.stdout


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


CMAKE = """echo "$@" >> cmake.log
[ "$1" = --preset ] || exit 0
mkdir -p "build/$2"
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" > "build/$2/CMakeCache.txt"
touch "build/$2/build.ninja\""""
GREP = 'case "$*" in */proc/cpuinfo) exit {};; *) exec /usr/bin/grep "$@";; esac'


@pytest.fixture
def build(tmp_path):
    """Return a function that runs a copy of build.sh; cmake only tells what it was called with."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/build.sh").write_bytes((ROOT / "tools/build.sh").read_bytes())
    (tmp_path / "bin").mkdir()

    presets = tmp_path / "CMakePresets.json"
    presets.write_text("{}")
    os.utime(presets, (0, 0))

    def run(*arguments: str, has_avx2: bool = True) -> list[str]:
        for name, script in {"cmake": CMAKE, "grep": GREP.format(0 if has_avx2 else 1)}.items():
            (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / "bin" / name).chmod(0o755)
        log = tmp_path / "cmake.log"
        log.write_text("")
        environment = os.environ | {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "EBB_JOBS": "2"}
        command = ["bash", "tools/build.sh", *arguments]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)
        return log.read_text().splitlines()

    return run


BUILD_ALL = "--build build/release -j 2"


def test_a_quick_build_is_completed_by_the_next_that_is_not(build):
    library = f"{BUILD_ALL} --target ebb"
    quick = "--preset release -DEBB_ONE_ISA=ON -DEBB_BATCH=ON -DEBB_WARNINGS=OFF"
    whole = "--preset release -DEBB_ONE_ISA=OFF -DEBB_BATCH=OFF -DEBB_WARNINGS=ON"
    assert build("--quick", "release", "ebb") == [quick, library]
    assert build("--quick", "release", "ebb") == [library]
    assert build("release") == [whole, BUILD_ALL]
    assert build("release") == [BUILD_ALL]
    assert build("--quick", "release") == [BUILD_ALL]  # it stays complete


def test_a_quick_build_without_avx2_is_a_whole_one(build):
    assert build("--quick", "release", has_avx2=False) == ["--preset release", BUILD_ALL]


def test_changed_presets_are_read_again(build, tmp_path):
    assert build("asan") == ["--preset asan", BUILD_ALL.replace("release", "asan")]
    later = time.time() + 60
    os.utime(tmp_path / "CMakePresets.json", (later, later))
    assert build("asan")[0] == "--preset asan"


def test_make_help_lists_every_public_target():
    result = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    listed = [line.split()[0] for line in result.stdout.splitlines()[1:]]
    wanted = "build demo demo-score demo-cpp test test-long check coverage bench mutate clean help"
    assert set(wanted.split()) <= set(listed)


def test_cmake_reads_the_presets():
    result = subprocess.run(
        ["cmake", "--list-presets"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for preset in ("release", "debug", "asan", "tsan", "coverage", "mutate"):
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


def sampled(every):
    """The configuration of a run with --every."""
    return SimpleNamespace(getoption={"every": every}.get)


def test_a_failure_of_many_cases_names_those_that_failed():
    tried = []

    @each_of(range(6))
    def test(number):
        tried.append(number)
        assert number % 4 != 1, "too odd"

    with pytest.raises(ExceptionGroup, match="2 of 6 cases failed") as caught:
        test("all", sampled(1))
    assert tried == [0, 1, 2, 3, 4, 5]
    assert [one.__notes__ for one in caught.value.exceptions] == [
        ["in the case 1"],
        ["in the case 5"],
    ]
    with pytest.raises(AssertionError, match="too odd"):
        test("all", sampled(5))  # 0 and 5


def test_a_sample_of_grouped_cases_is_that_of_single_ones():
    tried = []

    @each_of([(place % 2, place) for place in range(8)], lambda end, _: str(end))
    def test(_, place):
        tried.append(place)

    items = [SimpleNamespace(nodeid=f"test_a.py::test[{end}]", function=test) for end in "01"]
    kept = list(items)
    pytest_collection_modifyitems(sampled(3), kept)
    assert kept == items
    for end in "01":
        test(end, sampled(3))
    assert tried == [0, 6, 3]


def test_a_case_of_many_must_not_skip():
    @each_of([1])
    def test(_):
        pytest.skip("none")

    with pytest.raises(RuntimeError, match="would skip the cases behind it"):
        test("all", sampled(1))
