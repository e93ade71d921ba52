# python/ebb/__init__.py -- the package: what `import ebb` offers.
#
# Everything public in ebb._C becomes public here, then what is written in Python. Nothing is
# imported that takes time: NumPy comes when an array is first needed.
"""ebb: tensors whose operations are recorded, and their gradients.

The names are PyTorch's.
"""

import builtins as _builtins
import sys as _sys

from ebb import _C

_C._set_package(__file__.rpartition("/")[0])

from ebb._C import *  # noqa: E402,F403

# Error classes that share their name with a builtin stay in ebb.errors.
_HIDDEN = ("ValueError", "IndexError", "NotImplementedError", "backward", "grad", "Node",
           "SavedTensor", "Function", "FunctionCtx")  # fmt: skip
for _name in _HIDDEN:
    del globals()[_name]

from ebb import _tensor, autograd, errors, ops  # noqa: E402,F401
from ebb._arrange import (  # noqa: E402,F401
    broadcast_tensors,
    einsum,
    meshgrid,
    nonzero,
    tensordot,
)
from ebb._devices import (  # noqa: E402,F401
    Event,
    Stream,
    current_stream,
    default_device,
    device_count,
    device_memory_stats,
    reset_peak_device_memory,
    stream,
    synchronize,
)
from ebb._functions import (  # noqa: E402,F401
    allclose,
    equal,
    finfo,
    iinfo,
    is_complex,
    is_floating_point,
    is_tensor,
    numel,
    rand_like,
    randn_like,
)
from ebb._sparse import (  # noqa: E402,F401
    layout,
    selected_rows,
    sparse_coo,
    sparse_coo_tensor,
    sparse_csr,
    sparse_csr_tensor,
    strided,
)

__version__ = "0.1.0"

# Short names of dtypes, as PyTorch has them; `bool` came with the dtypes.
float = _C.float32
double = _C.float64
half = _C.float16
short = _C.int16
int = _C.int32
long = _C.int64
cfloat = _C.complex64
cdouble = _C.complex128

inf = _sys.float_info.max * 2
nan = inf - inf
pi = 3.141592653589793
e = 2.718281828459045
newaxis = None

# The parts are imported at once (15 ms), not by a module-level __getattr__: with one, Python
# cannot specialise the look-up of `ebb.add`, which then costs 10 ns more each time.
from ebb import (  # noqa: E402,F401
    _naming,
    data,
    graphs,
    io,
    linalg,
    nn,
    optim,
    overrides,
    profiler,
    utils,
    viz,
)
from ebb.autograd.anomaly import trace_cuts  # noqa: E402,F401
from ebb.graphs import explain, graph  # noqa: E402,F401
from ebb.io import load, load_npz, save, save_npz  # noqa: E402,F401
from ebb.linalg import _norm_of_tensor as norm  # noqa: E402,F401

_naming.name_errors()

# `from ebb import *` must not hide builtins such as sum and max.
__all__ = [name for name in dir() if not name.startswith("_") and not hasattr(_builtins, name)]
