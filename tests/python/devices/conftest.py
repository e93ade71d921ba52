# tests/python/devices/conftest.py -- the simulated device is there, and its fallbacks are quiet.
import warnings

import pytest

import ebb
from tests.python.devices import sim_device


@pytest.fixture(autouse=True, scope="module")
def sim():
    """Return the plug-in's functions; puts back what tests set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield sim_device.load()
    ebb.set_kernel_fallback(True)
    ebb.set_default_device("cpu")


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*no kernel on sim")
        yield
