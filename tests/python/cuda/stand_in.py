# tests/python/cuda/stand_in.py -- chooses the stand-in of CUDA's driver and compiler, and asks it.
#
# tests/devices/cuda/stand_in.h says what it does. With the toolkit on the machine each kernel also
# goes through the true NVRTC, for sm_80 and sm_90; what that warns of is a violation. So is a graph
# for which the true cuDNN, where it is, has no engine.
import ctypes
import os
from pathlib import Path

import ebb

LIBRARIES = Path(ebb._C.__file__).resolve().parents[2] / "lib"
LIBRARY = LIBRARIES / "libebb_cuda_stand_in.so"
CUDNN = Path("/usr/local/cuda/lib64/libcudnn.so.9")
NVRTC = sorted(Path("/usr/local/cuda/lib64").glob("libnvrtc.so.*"))


def choose():
    """Name the stand-in to the plug-in, which must not be loaded yet."""
    for name in ("CUDA", "NVRTC", "CUBLAS", "CUDNN"):
        os.environ[f"EBB_{name}_LIBRARY"] = str(LIBRARY)
    os.environ["EBB_KERNEL_CACHE"] = str(LIBRARIES.parent / "kernel_cache_cuda")
    os.environ["STAND_IN_DEVICES"] = "2"
    if NVRTC:
        os.environ["STAND_IN_NVRTC"] = str(NVRTC[0])
    if CUDNN.exists():
        os.environ["STAND_IN_CUDNN"] = str(CUDNN)


class StandIn:
    """The functions of the stand-in that tests call."""

    def __init__(self):
        self._library = ctypes.CDLL(str(LIBRARY))
        self._library.stand_in_violations.restype = ctypes.c_char_p

    def fail(self, call, status, calls_before=0):
        """Let a later call of this name fail."""
        self._library.stand_in_fail(call.encode(), calls_before, status)

    def live(self, kind):
        return self._library.stand_in_live(kind.encode())

    def calls(self, name):
        return self._library.stand_in_calls(name.encode())

    def violations(self):
        return self._library.stand_in_violations().decode()
