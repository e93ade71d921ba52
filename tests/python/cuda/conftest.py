# tests/python/cuda/conftest.py -- the CUDA plug-in over the stand-in: no test here needs a GPU.
import os

import pytest

import ebb
from tests.python.cuda import stand_in as chosen

os.environ["TEST_DEVICE"] = "stand-in"  # of the tests that are shared with OpenCL
chosen.choose()


@pytest.fixture(autouse=True)
def stand_in():
    """The stand-in, which at the end has seen no wrong call; skips where it was not built."""
    if not chosen.LIBRARY.exists():
        pytest.skip("the CUDA plug-in was not built: it needs the toolkit's headers")
    ebb.set_kernel_fallback(False)
    found = chosen.StandIn()
    found.violations()
    yield found
    ebb.set_kernel_fallback(True)
    assert found.violations() == ""


@pytest.fixture
def opencl():
    """The device that tests shared with OpenCL run on here."""
    return "cuda:0"
