# tests/packaging/test_install.py -- programs outside the tree use an installed libebb.so.
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

import ebb
from tests.packaging.conftest import ROOT, run

CONSUMER = Path(__file__).with_name("consumer")
FETCH = Path(__file__).with_name("fetch")
PRIVATE = ("hwy/", "cblas", "dnnl", "nlohmann", "oneapi", "omp.h")


@pytest.mark.parametrize("compiler", ["g++", "clang++-14"])
def test_a_program_outside_the_tree_finds_builds_and_runs(prefix, tmp_path, compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is among the [dev] packages of tools/apt-packages.txt")
    build = tmp_path / "build"
    run(
        "cmake", "-S", CONSUMER, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
    )  # fmt: skip
    run("cmake", "--build", build)
    arguments = [tmp_path / "weight.safetensors", build / "libtoy_device.so"]
    refuse = os.environ | {"EBB_KERNEL_FALLBACK": "0"}  # the device's own kernels do it all
    assert run(build / "consumer", *arguments, env=refuse) == "24.000 23.976 6.000\n"
    includes = run("ninja", "-C", build, "-t", "deps")
    assert f"{prefix}/include/ebb/autograd/ops.h" in includes
    assert f"{prefix}/include/ebb/ops/registry.h" in includes
    assert str(ROOT / "ebb") not in includes
    assert [word for word in PRIVATE if word in includes] == []
    assert str(ROOT) not in run("readelf", "-d", build / "consumer")


def test_installed_headers_include_nothing_that_is_not_installed(prefix):
    headers = {
        str(path.relative_to(prefix / "include")): path.read_text()
        for path in (prefix / "include").rglob("*.h")
    }
    assert len(headers) > 50
    missing = [
        (name, included)
        for name, text in headers.items()
        for included in re.findall(r'#include\s+"([^"]+)"', text)
        if included not in headers
    ]
    assert missing == []
    foreign = [
        (name, word) for name, text in headers.items()
        for word in re.findall(r"#include\s+<([^>]+)>", text) if word.startswith(PRIVATE)
    ]  # fmt: skip
    assert foreign == []


def test_a_newer_version_than_the_installed_one_is_refused(prefix, tmp_path):
    script = tmp_path / "CMakeLists.txt"
    version = ebb.__version__
    major, minor = (int(part) for part in version.split(".")[:2])
    newer = f"{major}.{minor + 1}"
    for wanted, found in ((f"{major}.{minor}", 1), (newer, 0), (f"{major + 1}.0", 0)):
        script.write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES NONE)\n"
            f'find_package(ebb {wanted} QUIET)\nmessage("found: ${{ebb_FOUND}}")\n'
        )
        options = ["-S", tmp_path, "-B", tmp_path / f"b{wanted}", f"-DCMAKE_PREFIX_PATH={prefix}"]
        assert f"found: {found}" in run("cmake", *options)


def test_the_library_exports_only_what_is_marked(prefix):
    symbols = run("nm", "-D", "--defined-only", "-C", prefix / "lib/libebb.so").splitlines()
    names = [line.split(" ", 2)[2] for line in symbols]
    leaked = [name for name in names if "nlohmann" in name or "hwy::" in name]
    assert leaked == []
    assert any(name.startswith("ebb::matmul(") for name in names)


def test_a_program_finds_the_build_folder_by_what_the_package_says(tmp_path):
    assert ebb.cmake_prefix_path() == str(ROOT / "build/release")
    options = ["-G", "Ninja", f"-DCMAKE_PREFIX_PATH={ebb.cmake_prefix_path()}"]
    run("cmake", "-S", CONSUMER, "-B", tmp_path, *options)
    run("cmake", "--build", tmp_path, "--target", "small")
    assert run(tmp_path / "small") == "12.0\n"


def test_a_program_is_built_by_pkg_config(prefix, tmp_path):
    moved = prefix.rename(prefix.with_name("moved"))  # paths in it are relative
    try:
        places = os.environ | {"PKG_CONFIG_PATH": str(moved / "lib/pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "ebb", env=places).split()
        folder = run("pkg-config", "--variable=libdir", "ebb", env=places).strip()
        program = tmp_path / "small"
        source = CONSUMER / "small.cpp"
        run("g++", source, "-o", program, *flags, f"-Wl,-rpath,{folder}")
        assert run(program) == "12.0\n"
        assert run("pkg-config", "--modversion", "ebb", env=places).strip() == ebb.__version__
    finally:
        moved.rename(prefix)


def configure_fetching(folder) -> None:
    """Configure a project that fetches ebb, from this checkout instead of the network."""
    options = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DFETCHCONTENT_SOURCE_DIR_EBB={ROOT}"]
    options.append(f"-DPython_EXECUTABLE={sys.executable}")
    run("cmake", "-S", FETCH, "-B", folder, *options)


def test_a_project_that_fetches_ebb_gets_the_library_and_no_more(tmp_path):
    configure_fetching(tmp_path)
    targets = run("ninja", "-C", tmp_path, "-t", "targets", "all")
    names = {line.partition(":")[0] for line in targets.splitlines()}
    assert {"ebb", "program"} <= names
    assert not names & {"_C", "core_tests", "ebb_demo_cpp", "ebb_python_package"}
    page = (ROOT / "docs/install.md").read_text()
    for line in (FETCH / "CMakeLists.txt").read_text().splitlines()[2:]:
        assert line in page, "docs/install.md shows the project that is tested"


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_project_that_fetches_ebb_builds_and_runs(tmp_path):
    configure_fetching(tmp_path)
    run("cmake", "--build", tmp_path, timeout=3600)
    assert run(tmp_path / "program") == "12.0\n"
