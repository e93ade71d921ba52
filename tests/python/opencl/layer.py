# tests/python/opencl/layer.py -- puts a layer between the plug-in and its driver, and asks it.
#
# tests/devices/opencl/layer.cpp says what it does.
import ctypes
import gc
import os
from pathlib import Path

import ebb

LIBRARY = Path(ebb._C.__file__).resolve().parents[2] / "lib" / "libebb_opencl_layer.so"
KINDS = ("memory", "buffers", "events", "queues", "programs", "kernels")
OUT_OF_RESOURCES = -5


def choose():
    """Name the layer to OpenCL's loader, which must not be loaded yet."""
    os.environ["OPENCL_LAYERS"] = str(LIBRARY)


class Layer:
    """The functions of the layer that tests call."""

    def __init__(self):
        self._library = ctypes.CDLL(str(LIBRARY))
        self._library.layer_fail.argtypes = [
            ctypes.c_char_p,
            ctypes.c_int64,
            ctypes.c_int64,
            ctypes.c_int,
        ]
        self._library.layer_calls.restype = ctypes.c_int64
        self._library.layer_live.restype = ctypes.c_int64

    def fail(self, call, calls_before=0, failures=1):
        """Let later calls of this name fail."""
        self._library.layer_fail(call.encode(), calls_before, failures, OUT_OF_RESOURCES)

    def forget_failures(self):
        self._library.layer_forget_failures()

    def set_idle(self, is_idle):
        """Say whether launches return at once and do nothing."""
        self._library.layer_set_idle(int(is_idle))

    def live(self, kind):
        return self._library.layer_live(kind.encode())

    def calls(self, name):
        return self._library.layer_calls(name.encode())

    def settled(self):
        """How much of each kind there is once nothing is kept, and the bytes of tensors."""
        gc.collect()
        for device in (one for one in ebb.devices() if str(one).startswith("opencl")):
            ebb.synchronize(device)
            ebb.current_stream(device).query()
            ebb._C._empty_device_cache(device)
        counts = {kind: self.live(kind) for kind in KINDS}
        return {**counts, "bytes": ebb.device_memory_stats("opencl:0")["live"]}
