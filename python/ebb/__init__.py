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

from ebb._C import *

# Error classes that share their name with a builtin stay in ebb.errors.
_HIDDEN = ("ValueError", "IndexError", "NotImplementedError", "backward", "grad", "Node",
           "SavedTensor", "Function", "FunctionCtx")  # fmt: skip
for _name in _HIDDEN:
    del globals()[_name]

from ebb import _tensor, autograd, errors, ops
from ebb._arrange import (
    broadcast_tensors as broadcast_tensors,
    einsum as einsum,
    meshgrid as meshgrid,
    nonzero as nonzero,
    tensordot as tensordot,
)
from ebb._devices import (
    Event as Event,
    Stream as Stream,
    current_stream as current_stream,
    default_device as default_device,
    device_count as device_count,
    device_memory_stats as device_memory_stats,
    reset_peak_device_memory as reset_peak_device_memory,
    stream as stream,
    synchronize as synchronize,
)
from ebb._functions import (
    allclose as allclose,
    equal as equal,
    finfo as finfo,
    iinfo as iinfo,
    is_complex as is_complex,
    is_floating_point as is_floating_point,
    is_tensor as is_tensor,
    numel as numel,
    rand_like as rand_like,
    randn_like as randn_like,
)
from ebb._sparse import (
    layout as layout,
    selected_rows as selected_rows,
    sparse_coo as sparse_coo,
    sparse_coo_tensor as sparse_coo_tensor,
    sparse_csr as sparse_csr,
    sparse_csr_tensor as sparse_csr_tensor,
    strided as strided,
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
from ebb import (
    _naming,
    amp,
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
from ebb.amp import (
    autocast as autocast,
    get_autocast_dtype as get_autocast_dtype,
    is_autocast_available as is_autocast_available,
    is_autocast_enabled as is_autocast_enabled,
)
from ebb.autograd.anomaly import trace_cuts as trace_cuts
from ebb.graphs import explain as explain, graph as graph
from ebb.io import load as load, load_npz as load_npz, save as save, save_npz as save_npz
from ebb.linalg import _norm_of_tensor as norm

_naming.name_errors()

# `from ebb import *` must not hide builtins such as sum and max.
__all__ = [name for name in dir() if not name.startswith("_") and not hasattr(_builtins, name)]
