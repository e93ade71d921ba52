# tests/python/opencl/conftest.py -- the plug-in is there, its programs are kept in the build
# folder, and nothing runs on the CPU instead.
#
# TEST_DEVICE names another device to run these tests on: cuda:0 by `make test-cuda`, or "stand-in",
# which is cuda:0 over what stands in for a GPU (tests/python/cuda).
import os
from pathlib import Path

import pytest

import ebb
from tests.python.cuda import stand_in
from tests.python.opencl import layer as layers

LIBRARIES = Path(ebb._C.__file__).resolve().parents[2] / "lib"
DEVICE = os.environ.get("TEST_DEVICE", "opencl:0")
IS_STAND_IN = DEVICE == "stand-in"
if IS_STAND_IN:
    DEVICE = "cuda:0"
TYPE = DEVICE.partition(":")[0]

# Read when the plug-in is loaded: compiling takes most of the time of these tests. PoCL keeps what
# it has compiled itself, and would compile all once more to give it away.
os.environ["EBB_KERNEL_CACHE"] = "0" if TYPE == "opencl" else str(LIBRARIES.parent / "kernel_cache")
os.environ.setdefault("POCL_CACHE_DIR", str(LIBRARIES.parent / "pocl_cache"))
if IS_STAND_IN:
    stand_in.choose()
elif TYPE == "opencl" and layers.LIBRARY.exists():
    layers.choose()

opencl_only = pytest.mark.skipif(TYPE != "opencl", reason="of OpenCL alone")


@pytest.fixture(autouse=True)
def opencl():
    """Switch the fallback off; skips where the plug-in was not built."""
    if not (LIBRARIES / f"libebb_{TYPE}.so").exists():
        pytest.skip(f"the plug-in of {TYPE} was not built")
    ebb.set_kernel_fallback(False)
    yield DEVICE
    ebb.set_kernel_fallback(True)
    if IS_STAND_IN:
        assert stand_in.StandIn().violations() == ""


@pytest.fixture
def layer(opencl):
    """What stands between the plug-in and OpenCL's driver; skips on other devices."""
    if TYPE != "opencl" or not layers.LIBRARY.exists():
        pytest.skip("of OpenCL alone, with tests built")
    found = layers.Layer()
    yield found
    found.forget_failures()
