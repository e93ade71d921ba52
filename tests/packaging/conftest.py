# tests/packaging/conftest.py -- the packages that the tests look at, made once a run.
"""The release build, installed below a prefix, and as a wheel."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*command, **options) -> str:
    """Return what a command prints; show all of it if the command fails."""
    options = {"cwd": ROOT, "timeout": 250} | options
    result = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    assert result.returncode == 0, result.stdout
    return result.stdout


@pytest.fixture(scope="session")
def prefix(tmp_path_factory) -> Path:
    """Return a folder that the C++ library was installed into."""
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", ROOT / "build/release", "--prefix", folder)
    return folder


@pytest.fixture(scope="session")
def wheels(tmp_path_factory) -> dict[str, Path]:
    """Return the wheels of the release build, by the names of their distributions."""
    folder = tmp_path_factory.mktemp("wheel")
    run("tools/wheel/build.sh", folder, env=os.environ | {"PYTHON": sys.executable})
    return {file.name.partition("-")[0].replace("_", "-"): file for file in folder.iterdir()}


@pytest.fixture(scope="session")
def wheel(wheels) -> Path:
    """Return the wheel of ebb itself."""
    return wheels["ebb"]


def install_beside_numpy(folder: Path, *wheels: Path) -> None:
    """Make a virtual environment with wheels and NumPy, without pip."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python"]
    run(*pip, folder / "bin/python", "install", "--no-index", "--no-deps", *wheels)
    import numpy

    packages = Path(numpy.__file__).parents[1]
    (target,) = folder.glob("lib/python*/site-packages")
    for name in ("numpy", "numpy.libs"):
        (target / name).symlink_to(packages / name)


@pytest.fixture(scope="session")
def environment(wheel, tmp_path_factory) -> Path:
    """Return a virtual environment with this wheel and NumPy, without pip."""
    folder = tmp_path_factory.mktemp("environment")
    install_beside_numpy(folder, wheel)
    return folder


def run_isolated(environment, script, *arguments) -> str:
    """Run a script in the environment, where nothing of the caller's settings is seen."""
    python = environment / "bin/python"
    return run(python, "-I", "-c", script, *arguments, cwd="/", env={"HOME": "/nonexistent"})
