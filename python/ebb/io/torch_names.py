# python/ebb/io/torch_names.py -- what names in PyTorch's files stand for.
#
# All that a file may have made is in TABLE: tensors of memory that the file holds, and containers.
# Nothing in it runs code of the file or of other packages. add_safe_globals() adds classes that
# a program trusts.
"""``TABLE`` and the functions that make tensors; used by ``torch_files.py``."""

from __future__ import annotations

import codecs
import math
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from ebb import _C
from ebb._base import seam
from ebb._tensor import sparse
from ebb.io.unpickler import Maker, RefusedError, check_hashed, told

STORAGES = {
    "DoubleStorage": _C.float64,
    "FloatStorage": _C.float32,
    "HalfStorage": _C.float16,
    "BFloat16Storage": _C.bfloat16,
    "LongStorage": _C.int64,
    "IntStorage": _C.int32,
    "ShortStorage": _C.int16,
    "CharStorage": _C.int8,
    "ByteStorage": _C.uint8,
    "BoolStorage": _C.bool,
    "ComplexFloatStorage": _C.complex64,
    "ComplexDoubleStorage": _C.complex128,
}
DTYPES = (*STORAGES.values(), _C.uint16, _C.uint32, _C.uint64)


class Storage(NamedTuple):
    """The memory of tensors, as a file names it; its values are asked for when one is made."""

    # All of it, as a tensor of one dim; conjugated, negated.
    read: Callable[[_C.dtype, bool, bool], _C.Tensor]
    dtype: _C.dtype | None


def _nothing(dtype: _C.dtype, is_conj: bool, is_neg: bool) -> _C.Tensor:
    raise RefusedError("it makes a tensor of a class of storages")


def _tensor(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any = False,
    hooks: Any = None, metadata: Any = None, *, dtype: _C.dtype | None = None,
) -> _C.Tensor:  # fmt: skip
    """Make a tensor over a part of a storage."""
    if not isinstance(storage, Storage):
        raise RefusedError("it makes a tensor of what is no storage")
    wanted = dtype or storage.dtype
    if wanted is None:
        raise RefusedError("it makes a tensor without a dtype")
    marks = metadata if isinstance(metadata, dict) else {}
    whole = storage.read(wanted, bool(marks.get("conj")), bool(marks.get("neg")))
    size, stride = _counts(size), _counts(stride)
    (offset,) = _counts((offset,))
    if len(size) != len(stride) or len(size) > 64:
        raise RefusedError(f"it makes a tensor of sizes {size} and strides {stride}")
    if math.prod(size) * wanted.itemsize >= 1 << 62:
        raise RefusedError(f"it makes a tensor of {math.prod(size)} elements")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if 0 not in size and last >= whole.numel():
        raise RefusedError(f"a tensor reaches element {last} of {whole.numel()}")
    tensor = whole.as_strided(size, stride, min(offset, whole.numel())).detach()
    return tensor.requires_grad_() if requires_grad else tensor


def _tensor_of_dtype(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any,
    dtype: Any, metadata: Any = None,
) -> _C.Tensor:  # fmt: skip
    if not isinstance(dtype, _C.dtype):
        raise RefusedError("it makes a tensor without a dtype")
    return _tensor(storage, offset, size, stride, requires_grad, hooks, metadata, dtype=dtype)


def _sparse_tensor(layout: Any, parts: Any) -> _C.Tensor:
    """Make a tensor of the parts of a sparse one."""
    kind = layout.removeprefix("torch.") if isinstance(layout, str) else None
    count = {"sparse_coo": (2, (3, 4)), "sparse_csr": (3, (4,))}.get(kind)
    if count is None or type(parts) is not tuple or len(parts) not in count[1]:
        raise RefusedError(f"it makes a tensor of layout {told(layout)}")
    tensors, size = parts[: count[0]], _counts(parts[count[0]])
    if not all(isinstance(one, _C.Tensor) for one in tensors):
        raise RefusedError("it makes a sparse tensor of what are no tensors")
    if any(one.numel() * one.element_size() > _stored_bytes(one) for one in tensors):
        # Coalescing a few bytes that claim to be many would fill the memory.
        raise RefusedError("it makes a sparse tensor of parts that share elements")
    if kind == "sparse_csr":
        return sparse.sparse_csr_tensor(*tensors, size)
    made = sparse.sparse_coo_tensor(*tensors, size)
    return made.coalesce() if parts[3:] == (True,) else made  # what a file claims is not believed


def _stored_bytes(tensor: _C.Tensor) -> int:
    return max(tensor.untyped_storage().nbytes(), 1 << 16)


def _counts(values: Any) -> tuple[int, ...]:
    if not isinstance(values, tuple) or not all(type(one) is int and one >= 0 for one in values):
        parts = values if isinstance(values, tuple) else (values,)
        raise RefusedError(f"it makes a tensor of {', '.join(map(told, parts[:4]))}")
    return tuple(values)


def _parameter(data: Any, requires_grad: Any = True, hooks: Any = None, state: Any = None) -> Any:
    if not isinstance(data, _C.Tensor):
        raise RefusedError("it makes a parameter of what is no tensor")
    return seam.filled("parameter")(data.detach(), bool(requires_grad))


def _with_attributes(make: Any, kind: Any, args: Any, state: Any) -> Any:
    """Make a tensor that has attributes of its own."""
    function = make.make if isinstance(make, Maker) else make
    if function not in _TENSOR_MAKERS.values() or type(args) is not tuple:
        raise RefusedError("it makes a tensor by another name")
    tensor = function(*args)
    if isinstance(state, dict):
        vars(tensor).update({key: value for key, value in state.items()
                             if isinstance(key, str) and not key.startswith("_")})  # fmt: skip
    return tensor


def _encoded(text: Any, encoding: Any = "latin1") -> bytes:
    """Return bytes, which older protocols write as text."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1", "utf8", "utf-8"):
        raise RefusedError("it encodes what is no text")
    return codecs.encode(text, encoding)


def _defaultdict(kind: Any = None, *rest: Any) -> defaultdict[Any, Any]:
    """Make a defaultdict of one of the kinds of ``_FACTORIES``."""
    if not (kind is None or (isinstance(kind, Factory) and all(type(one) is dict for one in rest))):
        raise RefusedError("it makes a defaultdict of another kind")
    return defaultdict(kind and kind.kind, *rest)


class Factory(NamedTuple):
    """A class that a defaultdict may make its values with; nothing else may call it."""

    kind: type


def _of(kind: type, *allowed: type) -> Callable[..., Any]:
    """Return what makes a value of values of the allowed kinds."""

    def make(*args: Any) -> Any:
        if not all(isinstance(one, allowed) for one in args):
            raise RefusedError(f"it makes a {kind.__name__} of {', '.join(map(told, args[:4]))}")
        for one in args if kind in (set, frozenset, OrderedDict) else ():
            pairs = (pair[0] for pair in one if isinstance(pair, (list, tuple)) and pair)
            check_hashed(pairs if kind is OrderedDict else one)
        return kind(*args)

    return make


def _device(kind: Any, index: Any = None) -> Any:
    """Return a device; one that is not here as its name."""
    if not isinstance(kind, str) or not (index is None or type(index) is int):
        raise RefusedError(f"it makes a device of {told(kind)} and {told(index)}")
    name = f"{kind}:{index}" if index is not None else str(kind)
    try:
        return _C.device(name)
    except _C.Error:
        return name


_BUILTINS: dict[str, Any] = {
    **{kind.__name__: Factory(kind) for kind in (dict, list, int, float)},
    "long": Factory(int),  # of Python 2
    "set": _of(set, list, tuple),
    "frozenset": _of(frozenset, list, tuple),
    "complex": _of(complex, int, float),
    "bytearray": _of(bytearray, bytes),
    "slice": _of(slice, int, type(None)),
}
_TENSOR_MAKERS: dict[str, Callable[..., Any]] = {
    "torch._utils _rebuild_tensor": _tensor,
    "torch._utils _rebuild_tensor_v2": _tensor,
    "torch._utils _rebuild_tensor_v3": _tensor_of_dtype,
    "torch._utils _rebuild_sparse_tensor": _sparse_tensor,
    "torch._utils _rebuild_parameter": _parameter,
    "torch._utils _rebuild_parameter_with_state": _parameter,
}
_MADE: dict[str, Any] = {
    "collections OrderedDict": _of(OrderedDict, list, tuple, dict),
    "collections Counter": _of(Counter, dict),
    "collections defaultdict": _defaultdict,
    "_codecs encode": _encoded,
    "torch Size": lambda sizes=(): _C.Size(_counts(sizes)),
    "torch device": _device,
    "torch.serialization _get_layout": lambda name: name,
    "torch Tensor": "Tensor",  # told to _with_attributes
    "torch.nn.parameter Parameter": "Parameter",
    "torch._tensor _rebuild_from_type_v2": _with_attributes,
    "torch.storage UntypedStorage": Storage(_nothing, None),
    **_TENSOR_MAKERS,
    **{f"torch {name}": Storage(_nothing, dtype) for name, dtype in STORAGES.items()},
    **{f"torch {dtype.name}": dtype for dtype in DTYPES},
    **{f"{room} {name}": made for name, made in _BUILTINS.items()
       for room in ("builtins", "__builtin__")},
}  # fmt: skip
TABLE = {name: Maker(name, made) for name, made in _MADE.items()}
