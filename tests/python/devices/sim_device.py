# tests/python/devices/sim_device.py -- the simulated device for tests, built as tests/device/ says.
"""Load the plug-in of the device ``sim``, and steer it."""

import ctypes
from pathlib import Path

import pytest

import ebb


def path():
    """Return the plug-in's file; skips the test where it was not built."""
    found = Path(ebb._C.__file__).resolve().parents[2] / "lib" / "libebb_sim_device.so"
    if not found.exists():
        pytest.skip("the simulated device was not built")
    return found


def load():
    """Load the plug-in, slow it down a little, and return its functions."""
    ebb.load_device_plugin(path())
    library = ctypes.CDLL(str(path()))
    library.ebb_sim_live_bytes.restype = ctypes.c_int64
    library.ebb_sim_set_delay(ctypes.c_int64(100), ctypes.c_uint32(3))
    return library
