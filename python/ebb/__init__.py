# python/ebb/__init__.py -- the package: what `import ebb` offers.
#
# Everything public in ebb._C becomes public here, then what is written in Python. Nothing is
# imported that takes time: NumPy comes when an array is first needed.
"""ebb: tensors whose operations are recorded, and their gradients.

The names are PyTorch's.
"""

import builtins as _builtins
import sys as _sys
import typing as _typing

from ebb import _C

_C._set_package(__file__.rpartition("/")[0])

from ebb._C import *

# Error classes that share their name with a builtin stay in ebb.errors.
_HIDDEN = ("ValueError", "IndexError", "NotImplementedError", "backward", "grad", "Node",
           "SavedTensor", "Function", "FunctionCtx")  # fmt: skip
for _name in _HIDDEN:
    del globals()[_name]

from ebb import autograd, errors, ops
from ebb._base.install import cmake_prefix_path as cmake_prefix_path
from ebb._devices import (
    Event as Event,
    Stream as Stream,
    current_stream as current_stream,
    default_device as default_device,
    device_count as device_count,
    device_memory_stats as device_memory_stats,
    get_device_module as get_device_module,
    reset_peak_device_memory as reset_peak_device_memory,
    stream as stream,
    synchronize as synchronize,
)
from ebb._functions.arrange import (
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    block_diag as block_diag,
    broadcast_tensors as broadcast_tensors,
    cartesian_prod as cartesian_prod,
    chain_matmul as chain_matmul,
    einsum as einsum,
    meshgrid as meshgrid,
    nonzero as nonzero,
    tensordot as tensordot,
    unique as unique,
    unique_consecutive as unique_consecutive,
)
from ebb._functions.checks import (
    adjoint as adjoint,
    allclose as allclose,
    cond as cond,
    equal as equal,
    is_complex as is_complex,
    is_conj as is_conj,
    is_floating_point as is_floating_point,
    is_inference as is_inference,
    is_nonzero as is_nonzero,
    is_tensor as is_tensor,
    numel as numel,
    resolve_conj as resolve_conj,
    resolve_neg as resolve_neg,
    while_loop as while_loop,
)
from ebb._functions.creation import (
    broadcast_shapes as broadcast_shapes,
    empty_permuted as empty_permuted,
    empty_strided as empty_strided,
    logspace as logspace,
    rand_like as rand_like,
    randint_like as randint_like,
    randn_like as randn_like,
    range as range,
    tril_indices as tril_indices,
    triu_indices as triu_indices,
    vander as vander,
)
from ebb._functions.dtypes import (
    can_cast as can_cast,
    finfo as finfo,
    iinfo as iinfo,
    promote_types as promote_types,
    result_type as result_type,
)
from ebb._functions.lowrank import (
    lobpcg as lobpcg,
    pca_lowrank as pca_lowrank,
    svd_lowrank as svd_lowrank,
)
from ebb._functions.samples import (
    gradient as gradient,
    hash_tensor as hash_tensor,
    histogram as histogram,
    histogramdd as histogramdd,
    segment_reduce as segment_reduce,
)
from ebb._modes import (
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
    compile as compile,
    get_deterministic_debug_mode as get_deterministic_debug_mode,
    get_float32_matmul_precision as get_float32_matmul_precision,
    get_num_interop_threads as get_num_interop_threads,
    is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled as is_warn_always_enabled,
    set_deterministic_debug_mode as set_deterministic_debug_mode,
    set_float32_matmul_precision as set_float32_matmul_precision,
    set_flush_denormal as set_flush_denormal,
    set_num_interop_threads as set_num_interop_threads,
    set_warn_always as set_warn_always,
    use_deterministic_algorithms as use_deterministic_algorithms,
)
from ebb._tensor.exchange import (
    from_dlpack as from_dlpack,
    from_file as from_file,
    frombuffer as frombuffer,
    to_dlpack as to_dlpack,
)
from ebb._tensor.formats import (
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    memory_format as memory_format,
    preserve_format as preserve_format,
)
from ebb._tensor.legacy import (
    BFloat16Tensor as BFloat16Tensor,
    BoolTensor as BoolTensor,
    ByteTensor as ByteTensor,
    CharTensor as CharTensor,
    DoubleTensor as DoubleTensor,
    FloatTensor as FloatTensor,
    HalfTensor as HalfTensor,
    IntTensor as IntTensor,
    LongTensor as LongTensor,
    ShortTensor as ShortTensor,
    SymBool as SymBool,
    SymFloat as SymFloat,
    SymInt as SymInt,
    set_default_tensor_type as set_default_tensor_type,
)
from ebb._tensor.printing import (
    get_printoptions as get_printoptions,
    printoptions as printoptions,
    set_printoptions as set_printoptions,
)
from ebb._tensor.sparse import (
    layout as layout,
    selected_rows as selected_rows,
    sparse_coo as sparse_coo,
    sparse_coo_tensor as sparse_coo_tensor,
    sparse_csr as sparse_csr,
    sparse_csr_tensor as sparse_csr_tensor,
    spmm as spmm,
    strided as strided,
)
from ebb._tensor.storages import (
    BFloat16Storage as BFloat16Storage,
    BoolStorage as BoolStorage,
    ByteStorage as ByteStorage,
    CharStorage as CharStorage,
    ComplexDoubleStorage as ComplexDoubleStorage,
    ComplexFloatStorage as ComplexFloatStorage,
    DoubleStorage as DoubleStorage,
    FloatStorage as FloatStorage,
    HalfStorage as HalfStorage,
    IntStorage as IntStorage,
    LongStorage as LongStorage,
    ShortStorage as ShortStorage,
    TypedStorage as TypedStorage,
    UntypedStorage as UntypedStorage,
    is_storage as is_storage,
)

__version__ = "0.2.0"  # CMake and the wheels read it here

# Short names of dtypes, as PyTorch has them; `bool` came with the dtypes.
float: _C.dtype = _C.float32
double: _C.dtype = _C.float64
half: _C.dtype = _C.float16
short: _C.dtype = _C.int16
int: _C.dtype = _C.int32
long: _C.dtype = _C.int64
cfloat: _C.dtype = _C.complex64
cdouble: _C.dtype = _C.complex128

inf = _sys.float_info.max * 2
nan = inf - inf
pi = 3.141592653589793
e = 2.718281828459045
newaxis = None

# The parts are imported at once (15 ms), not by a module-level __getattr__: with one, Python
# cannot specialise the look-up of `ebb.add`, which then costs 10 ns more each time. What programs
# seldom use is a LazyPackage.
from ebb import (
    amp,
    data,
    flags,
    graphs,
    io,
    linalg,
    nn,
    optim,
    profiler,
    random,
    special,
    strings,
    utils,
)
from ebb._base.lazy import LazyPackage as _LazyPackage
from ebb._base.naming import name_errors as _name_errors
from ebb._imports import (
    compare_precision as compare_precision,
    help_imports as _help_imports,
    vmap as vmap,
)
from ebb._tensor.views import (
    as_strided_ as as_strided_,
    copies as _copies,
    detach_ as detach_,
    resize_as_ as resize_as_,
)
from ebb.amp import (
    GradScaler as GradScaler,
    autocast as autocast,
    get_autocast_cpu_dtype as get_autocast_cpu_dtype,
    get_autocast_dtype as get_autocast_dtype,
    get_autocast_gpu_dtype as get_autocast_gpu_dtype,
    is_autocast_available as is_autocast_available,
    is_autocast_cpu_enabled as is_autocast_cpu_enabled,
    is_autocast_enabled as is_autocast_enabled,
    set_autocast_cpu_dtype as set_autocast_cpu_dtype,
    set_autocast_cpu_enabled as set_autocast_cpu_enabled,
    set_autocast_dtype as set_autocast_dtype,
    set_autocast_enabled as set_autocast_enabled,
    set_autocast_gpu_dtype as set_autocast_gpu_dtype,
)
from ebb.autograd.anomaly import trace_cuts as trace_cuts
from ebb.graphs import explain as explain, graph as graph
from ebb.io import load as load, load_npz as load_npz, save as save, save_npz as save_npz
from ebb.linalg import _lu as lu, _norm_function as norm
from ebb.random import (
    initial_seed as initial_seed,
    seed as seed,
    thread_safe_generator as thread_safe_generator,
)
from ebb.strings import StringTensor as StringTensor

if _typing.TYPE_CHECKING:
    from ebb import (
        accelerator,
        array_api,
        backends,
        compiler,
        cpu,
        cuda,
        distributed,
        distributions,
        fft,
        func,
        hub,
        jit,
        masked,
        mps,
        multiprocessing,
        onnx,
        overrides,
        precision,
        serialization,
        signal,
        sparse,
        testing,
        version,
        vision,
        viz,
        xpu,
    )
else:
    for _name in (
        *("accelerator", "array_api", "backends", "compiler", "cpu", "cuda", "distributed"),
        *("distributions", "fft", "func", "hub", "jit", "masked", "mps", "multiprocessing", "onnx"),
        *("overrides", "precision", "serialization", "signal", "sparse", "testing", "version"),
        *("vision", "viz", "xpu"),
    ):
        globals()[_name] = _LazyPackage(f"ebb.{_name}")

globals().update(_copies)
_name_errors()
_help_imports()
flags._warn_of_environment()

# `from ebb import *` must not hide builtins such as sum and max.
__all__ = [name for name in dir() if not name.startswith("_") and not hasattr(_builtins, name)]
