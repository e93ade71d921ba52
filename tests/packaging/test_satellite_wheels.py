# tests/packaging/test_satellite_wheels.py -- wheels of satellites beside the core's, and without.
import re
import zipfile
from pathlib import Path

import pytest

from ebb import __version__
from tests.packaging.conftest import install_beside_numpy, run, run_isolated

PURE = ("ebb-torch", "ebb-vision")
ALONE = """
import ebb
for ask in ("import ebb.vision", "ebb.vision.ops", "import ebb.torch_compat", "ebb.jit.script",
            "ebb.ones(1, device='opencl')"):
    try:
        exec(ask)
    except (ImportError, ValueError) as error:
        print(str(error).partition("hint: ")[2])
try:
    print(ebb.add(ebb.ones(1), 2, ebb.ones(1)))
except TypeError:
    pass  # PyTorch's older order of arguments is known to ebb-torch
x = ebb.tensor([1.0, 2.0], requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2.0, 4.0]
"""
BESIDE = """
import ebb
from ebb.vision.models import resnet18
from ebb.torch_compat import install
import torch, torchvision
assert torchvision.models.resnet18 is resnet18
assert torch.add(ebb.ones(1), 2, ebb.ones(1)).tolist() == [3.0]
print(ebb.vision._version.version, ebb.torch_compat._version.version)
"""


@pytest.fixture(scope="session")
def surroundings(wheels, tmp_path_factory) -> Path:
    """Return a virtual environment with all wheels and NumPy."""
    folder = tmp_path_factory.mktemp("surroundings")
    install_beside_numpy(folder, *wheels.values())
    return folder


def metadata(wheel) -> str:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        return archive.read(name).decode()


def test_the_core_alone_says_which_distribution_is_missing(environment):
    vision, torch = (f"pip install {name}, or ebb[all]" for name in ("ebb-vision", "ebb-torch"))
    opencl = "pip install ebb-opencl, or build ebb with -DEBB_OPENCL=ON"
    printed = run_isolated(environment, ALONE).splitlines()
    assert printed == [vision, vision, torch, torch, opencl]


def test_satellites_work_beside_the_core(surroundings):
    assert run_isolated(surroundings, BESIDE).split()[-2:] == [__version__, __version__]


def test_an_installed_plug_in_is_loaded_and_linked_to_the_core_beside_it(wheels, surroundings):
    (folder,) = surroundings.glob("lib/python*/site-packages/ebb/lib")
    plugins = {file.name: file for file in folder.glob("libebb_*.so")}
    kinds = {name.removeprefix("ebb-") for name in wheels} - {"ebb", "torch", "vision"}
    assert {f"libebb_{kind}.so" for kind in kinds} == {*plugins}
    for file in plugins.values():
        dynamic = run("readelf", "-d", file)
        assert f"[libebb.so.{__version__}]" in dynamic and "[$ORIGIN]" in dynamic
        found = run("ldd", file)
        assert f"{folder}/libebb.so.{__version__}" in found


@pytest.mark.parametrize("name", PURE)
def test_python_alone_fits_any_machine(wheels, name):
    assert wheels[name].name.endswith(f"{__version__}-py3-none-any.whl")
    assert wheels[name].stat().st_size < 100_000
    with zipfile.ZipFile(wheels[name]) as archive:
        names = archive.namelist()
    assert [one for one in names if not re.match(r"ebb/.*\.py$|.*\.dist-info/", one)] == []
    assert any(one.endswith("/licenses/LICENSE") for one in names)


def test_no_file_is_in_two_wheels(wheels):
    found = []
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as archive:
            found += archive.namelist()
    assert len(found) == len({*found})


def test_versions_are_pinned_to_one_another(wheels):
    core = metadata(wheels["ebb"])
    for name, wheel in wheels.items():
        pin = f"~={__version__}" if name in PURE else f"=={__version__}"
        if name != "ebb":
            assert f"Requires-Dist: ebb{pin}" in metadata(wheel)
            kind = name.removeprefix("ebb-")
            for extra in (kind, "all"):
                line = rf"Requires-Dist: {name}{re.escape(pin)}; extra == ['\"]{extra}['\"]"
                assert re.search(line, core), line
