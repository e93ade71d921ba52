# tests/python/opencl/conftest.py -- the plug-in is there, its programs are kept in the build
# folder, and nothing runs on the CPU instead.
import os
from pathlib import Path

import pytest

import ebb

LIBRARIES = Path(ebb._C.__file__).resolve().parents[2] / "lib"

# Read when the plug-in is loaded: compiling takes most of the time of these tests.
os.environ["EBB_KERNEL_CACHE"] = str(LIBRARIES.parent / "kernel_cache")
os.environ.setdefault("POCL_CACHE_DIR", str(LIBRARIES.parent / "pocl_cache"))


@pytest.fixture(autouse=True)
def opencl():
    """Switch the fallback off; skips where the plug-in was not built."""
    if not (LIBRARIES / "libebb_opencl.so").exists():
        pytest.skip("the OpenCL plug-in was not built")
    ebb.set_kernel_fallback(False)
    yield "opencl:0"
    ebb.set_kernel_fallback(True)
