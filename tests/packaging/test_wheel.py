# tests/packaging/test_wheel.py -- the wheel works in an environment that has NumPy and no more.
import base64
import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import ebb
from tests.packaging.conftest import ROOT, install_beside_numpy, run, run_isolated

MIB = 1 << 20
VERSION = ebb.__version__

# Trains, saves, loads, reads data, then prints the files that were mapped.
SCRIPT = """
import ebb, sys
from ebb import nn, optim
ebb.manual_seed(0)
model = nn.Linear(200, 200)
optimizer = optim.SGD(model.parameters(), lr=0.1)
loss = model(ebb.ones(200, 200)).sum()
loss.backward()
optimizer.step()
ebb.save(model.state_dict(), sys.argv[1])
model.load_state_dict(ebb.load(sys.argv[1]))
assert ebb.data.digits.load().train_images.shape == (1438, 64)
assert ebb.ones(3).numpy().sum() == 3
assert "</canvas>" in ebb.viz.to_html({"format": "ebb.graph", "version": 1})
from ebb import info
assert ebb.cmake_prefix_path() == ebb.__file__.rpartition("/")[0]
assert len(info.collect()["commit"]) == 40 or info.collect()["commit"] == "unknown"
for kind in ("process", "thread"):
    assert len(list(ebb.data.DataLoader(range(9), 3, num_workers=2, worker_type=kind))) == 3
print(ebb.__file__)
maps = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
print("\\n".join(sorted(maps)))
"""


def test_the_wheel_runs_where_only_numpy_is(environment, tmp_path):
    package, *libraries = run_isolated(environment, SCRIPT, tmp_path / "w.safetensors").split()
    assert package.startswith(str(environment))
    names = {Path(path).name for path in libraries if "/site-packages/ebb/" in path}
    for wanted in ("_C", "libebb", "libopenblas", "libdnnl", "libhwy", "libgomp", "libgfortran"):
        assert any(name.startswith(wanted) for name in names), wanted
    allowed = (
        r"ld-linux|lib(c|m|dl|rt|z|bz2|lzma|pthread|stdc\+\+|gcc_s|util|expat|ffi|crypto|ssl)[.-]"
    )
    outside = [
        path
        for path in libraries
        if "/site-packages/" not in path
        and not re.match(allowed, Path(path).name)
        and "lib-dynload" not in path
        and "/numpy" not in path
        and not Path(path).name.startswith("libpython")
    ]
    assert outside == [], "the wheel uses libraries of this machine"


def test_the_wheel_is_small_enough(wheel):
    with zipfile.ZipFile(wheel) as archive:
        installed = sum(entry.file_size for entry in archive.infolist())
    # libdnnl and OpenBLAS take 21, libebb.so 6.4.
    assert wheel.stat().st_size <= 31.5 * MIB
    assert installed <= 125 * MIB


def test_the_tag_of_the_wheel_is_true(wheel, environment):
    """No file asks for more than glibc and the C++ library of what the tag promises."""
    python, abi, tag = wheel.stem.split("-")[2:]
    assert (python, abi) == ("cp311", "cp311")
    with zipfile.ZipFile(wheel) as archive:
        names = {Path(name).name: name for name in archive.namelist() if "dist-info/" in name}
        about = archive.read(names["WHEEL"])
        assert f"Tag: cp311-cp311-{tag}" in about.decode().splitlines()
        digest = base64.urlsafe_b64encode(hashlib.sha256(about).digest()).decode().rstrip("=")
        assert f"{names['WHEEL']},sha256={digest}," in archive.read(names["RECORD"]).decode()
    glibc = int(re.fullmatch(r"manylinux_2_(\d+)_x86_64", tag)[1])
    assert 17 <= glibc <= 36  # Debian 12 has 2.36
    (package,) = environment.glob("lib/python*/site-packages/ebb")
    files = [*package.rglob("*.so*")]
    asked = [run("readelf", "--dyn-syms", "--wide", file) for file in files]
    newest = max(int(number) for text in asked for number in re.findall(r"@GLIBC_2\.(\d+)", text))
    assert newest <= glibc
    cpp = max(int(number) for text in asked for number in re.findall(r"@GLIBCXX_3\.4\.(\d+)", text))
    # GCC 12 brought 3.4.30; no distribution with glibc 2.34 has that.
    assert cpp <= {34: 29, 35: 30, 36: 30}[glibc]
    needed = {
        name
        for file in files
        for name in re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", file))
    }
    allowed = r"(libc\.so\.6|libm\.so\.6|libstdc\+\+\.so\.6|libgcc_s\.so\.1|ld-linux-x86-64\.so\.2)"
    own = {file.name for file in files}
    assert [name for name in needed - own if not re.fullmatch(allowed, name)] == []


@pytest.mark.parametrize(
    ("version", "glibc"),
    [("GLIBC_2.2.5", 2), ("GLIBC_2.34", 34), ("GLIBCXX_3.4", 5), ("GLIBCXX_3.4.29", 34),
     ("GLIBCXX_3.4.30", 35), ("CXXABI_1.3.13", 34), ("GCC_3.0", 17), ("GCC_12.0.0", 35),
     ("HWY_0", 0)],
)  # fmt: skip
def test_a_symbol_version_says_which_glibc_it_comes_with(monkeypatch, version, glibc):
    monkeypatch.syspath_prepend(ROOT / "tools/wheel")
    import platform_tag

    assert platform_tag.glibc_for(version) == glibc
    for unknown in ("GLIBC_PRIVATE", "GLIBCXX_3.4.99", "CXXABI_2.0"):
        with pytest.raises(SystemExit, match=f"FIRST_GLIBC knows, got {unknown}"):
            platform_tag.glibc_for(unknown)


def test_the_wheel_holds_what_it_should(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"ebb-{VERSION}.dist-info/METADATA").decode()
        stub = archive.read("ebb/_C.pyi").decode()
    for name in ("ebb/__init__.py", "ebb/py.typed", "ebb/nn/layers.py",
                 "ebb/data/digits.safetensors", "ebb/include/ebb/autograd/ops.h",
                 "ebb/lib/cmake/ebb/ebbConfig.cmake",
                 f"ebb-{VERSION}.dist-info/licenses/LICENSE"):  # fmt: skip
        assert name in names, name
    assert "def matmul(" in stub
    assert "Requires-Dist: numpy" in metadata
    below = [name.removeprefix("ebb/lib/") for name in names if name.startswith("ebb/lib/lib")]
    libraries = {name.split("-")[0] for name in below} - {f"libebb.so.{VERSION}"}
    licences = {name.split("/")[-1].split("-")[0] for name in names if "/licences/" in name}
    headers = {"nlohmann_json.txt"}
    assert {"libopenblas", "libdnnl", "libhwy", "libgomp"} <= libraries == licences - headers
    assert headers <= licences
    assert not [name for name in names if "__pycache__" in name or "README" in name]
    # What satellites bring.
    others = re.compile(r"ebb/(vision|torch_compat|_beside|jit\.py|lib/libebb_)")
    assert [name for name in names if others.match(name)] == []


def test_a_program_builds_against_the_wheel(environment, tmp_path):
    prefix = run_isolated(environment, "import ebb; print(ebb.cmake_prefix_path())").strip()
    source = Path(__file__).with_name("consumer")
    build = tmp_path / "build"
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    arguments = (tmp_path / "w.safetensors", build / "libtoy_device.so")
    assert run(build / "consumer", *arguments) == "24.000 23.976 6.000\n"


def test_a_program_is_built_against_the_wheel_by_pkg_config(environment, tmp_path):
    (prefix,) = environment.glob("lib/python*/site-packages/ebb")
    places = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "ebb", env=places).split()
    source = Path(__file__).with_name("consumer") / "small.cpp"
    run("g++", source, "-o", tmp_path / "small", *flags, f"-Wl,-rpath,{prefix}/lib")
    assert run(tmp_path / "small") == "12.0\n"


def test_a_source_package_builds_by_the_same_back_end(tmp_path):
    """It holds what the build reads, and nothing that a build made but the page's code."""
    run("tools/wheel/sdist.sh", tmp_path, env=os.environ | {"PYTHON": sys.executable})
    (file,) = tmp_path.iterdir()
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        metadata = archive.extractfile(f"ebb-{VERSION}/PKG-INFO").read().decode()
    for name in ("pyproject.toml", "CMakeLists.txt", "codegen/CMakeLists.txt", "ops/README.md",
                 "python/ebb/__init__.py", "tools/wheel/bundle.py", "LICENSE",
                 "satellites/torch/pyproject.toml", "satellites/vision/ebb/vision/__init__.py",
                 "data/digits/digits.safetensors"):  # fmt: skip
        assert name in names, name
    made = {name for name in names if name.startswith("build/")}
    assert made <= {"build/release/python/ebb/viz/page/layout.wasm"}
    assert "Requires-Python: >=3.10" in metadata
    needed = re.findall(r"Requires-Dist: (.*)", metadata)
    assert [one for one in needed if "extra ==" not in one] == ["numpy>=1.26"]


@pytest.mark.long
@pytest.mark.timeout(5400)
def test_a_wheel_of_the_source_package_runs(tmp_path):
    """The build folder and the headers are those of a release build, so that ccache serves it."""
    run("tools/wheel/sdist.sh", tmp_path, env=os.environ | {"PYTHON": sys.executable})
    with tarfile.open(next(tmp_path.iterdir())) as archive:
        archive.extractall(tmp_path)
    options = ("EBB_PCH", "EBB_WARNINGS_AS_ERRORS")
    settings = ("build-dir=build/release", *(f"cmake.define.{one}=ON" for one in options))
    run(
        *(sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "."),
        *("--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", tmp_path),
        *(f"--config-settings={one}" for one in settings),
        cwd=tmp_path / f"ebb-{VERSION}",
        env=os.environ | {"CXX": "g++", "CMAKE_GENERATOR": "Ninja"},
        timeout=5400,
    )
    (wheel,) = tmp_path.glob("ebb-*.whl")
    install_beside_numpy(tmp_path / "environment", wheel)
    package, *_ = run_isolated(tmp_path / "environment", SCRIPT, tmp_path / "w.safetensors").split()
    assert package.startswith(str(tmp_path / "environment"))


def test_making_a_wheel_leaves_the_build_folder_as_it_was(wheel):
    with open(ROOT / "build/release.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # no other worker is making one
        cache = (ROOT / "build/release/CMakeCache.txt").read_text()
    assert "SKBUILD" not in cache
    assert "CMAKE_INSTALL_PREFIX:PATH=/usr/local" in cache


def test_versions_are_the_same_everywhere():
    pinned = set((ROOT / "requirements.txt").read_text().split("\n"))
    configured = (ROOT / "build/release/CMakeCache.txt").read_text()
    assert f"CMAKE_PROJECT_VERSION:STATIC={VERSION}\n" in configured
    files = [ROOT / "pyproject.toml", *ROOT.glob("satellites/*/pyproject.toml")]
    assert len(files) == 5
    for file in files:
        project = tomllib.loads(file.read_text())
        assert [pin for pin in project["build-system"]["requires"] if pin not in pinned] == []
        provider = project["tool"]["scikit-build"]["metadata"]["version"]
        assert f'__version__ = "{VERSION}"' in (file.parent / provider["input"]).read_text()


def test_a_wheel_without_a_build_says_what_to_do(tmp_path):
    script = tmp_path / "tools/wheel/build.sh"
    script.parent.mkdir(parents=True)
    script.write_bytes((ROOT / "tools/wheel/build.sh").read_bytes())
    result = subprocess.run(["bash", script], capture_output=True, text=True)
    assert result.returncode == 1
    assert "needs build/release, found none" in result.stderr
