# python/ebb/_tensor/legacy.py -- names of older programs: FloatTensor and other types, apply_;
# and of compilers.
"""Types of tensors by their dtype, as PyTorch spelled them before it had dtypes."""

from __future__ import annotations

import builtins
from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb._devices import cuda_device

# What PyTorch's names of types begin with, by dtype.
NAMES = {
    _C.float32: "Float", _C.float64: "Double", _C.float16: "Half", _C.bfloat16: "BFloat16",
    _C.uint8: "Byte", _C.int8: "Char", _C.int16: "Short", _C.int32: "Int", _C.int64: "Long",
    _C.bool: "Bool", _C.complex64: "ComplexFloat", _C.complex128: "ComplexDouble",
    _C.uint16: "UInt16", _C.uint32: "UInt32", _C.uint64: "UInt64",
}  # fmt: skip
_DTYPES = {f"{name}Tensor": dtype for dtype, name in NAMES.items()}


class LegacyType(type):
    """The class of these types: an instance is a tensor of the CPU with that dtype."""

    dtype: _C.dtype

    def __instancecheck__(cls, one: object) -> bool:
        return isinstance(one, Tensor) and one.is_dense and one.is_cpu and one.dtype is cls.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], Tensor) and not kwargs:
            return args[0].to(cls.dtype)
        return _make(cls.__name__, cls.dtype, args, kwargs)


class CudaType(LegacyType):
    """The class of these types of ``cuda``: an instance is a tensor there with that dtype."""

    def __instancecheck__(cls, one: object) -> bool:
        return isinstance(one, Tensor) and one.is_cuda and one.dtype is cls.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs).to(cuda_device(None))


def cuda_types() -> dict[str, CudaType]:
    """Return ``FloatTensor`` and the other types, those of ``cuda`` included, by name.

    >>> isinstance(ebb.ones(1), ebb.cuda.FloatTensor)
    False
    """
    kinds = (FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, ByteTensor, CharTensor,
             ShortTensor, IntTensor, LongTensor, BoolTensor)  # fmt: skip
    return {one.__name__: _cuda_type(one) for one in kinds}


def _cuda_type(like: LegacyType) -> CudaType:
    doc = (
        f"The type of {like.dtype.name} tensors on a device of CUDA.\n\nRaises:\n"
        "    ValueError: If it is called and there is none.\n\n"
        f">>> isinstance(ebb.{like.__name__}([1]), ebb.cuda.{like.__name__})\nFalse\n"
    )
    return CudaType(
        like.__name__, (), {"dtype": like.dtype, "__doc__": doc, "__module__": "ebb.cuda"}
    )


def _make(name: str, dtype: _C.dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Return what ``FloatTensor(2, 3)``, ``FloatTensor(size)`` or ``FloatTensor(data)`` means."""
    if kwargs:
        raise _C.DTypeError(f"{name}: takes no keyword arguments, got {next(iter(kwargs))!r}")
    if not args:
        return _C.empty(0, dtype=dtype)
    memory = getattr(args[0], "_whole", None)  # of a storage
    if len(args) == 1 and memory is not None and memory().dtype is dtype:
        return memory()
    if len(args) == 1 and not isinstance(args[0], int | _C.Size):
        return _C.tensor(args[0], dtype=dtype)
    sizes = args[0] if isinstance(args[0], _C.Size) else args
    if not all(isinstance(one, int) for one in sizes):
        raise _C.DTypeError(f"{name}: needs sizes or one sequence of numbers, got {args!r}"[:200])
    return _C.empty(sizes, dtype=dtype)


def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """Return a new tensor of this dtype: of these sizes, with any elements, or with these values.

    Programs from before ``new_empty`` and ``new_tensor`` call it.

    Args:
        *args: Sizes; or one sequence of numbers, or a tensor, whose values it gets; or a storage,
            whose memory it then shows.
        device: Where it is; this tensor's device if None.
    Raises:
        DTypeError: If there is something else.

    >>> x = ebb.ones(1, dtype=ebb.float64)
    >>> x.new([1, 2]), x.new(2, 3).shape
    (tensor([1., 2.], dtype=ebb.float64), ebb.Size([2, 3]))
    """
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].detach().to(device or self.device, self.dtype, copy=True)
    return _make("new", self.dtype, args, {}).to(device or self.device)


def apply_(self: Tensor, callable: Any) -> Tensor:
    """Exchange each element for what a function of Python's makes of it; slow.

    Raises:
        AutogradError: If a gradient is recorded: the function has no derivative.

    >>> ebb.tensor([1.0, 2.0]).apply_(lambda one: one * 10)
    tensor([10., 20.])
    """
    return _mapped("apply_", callable, self)


def map_(self: Tensor, other: Tensor, callable: Any) -> Tensor:
    """Exchange each element for what a function makes of it and of another tensor's; slow.

    Raises:
        AutogradError: If a gradient is recorded.
        ShapeError: If the shapes differ.

    >>> ebb.tensor([1.0, 2.0]).map_(ebb.tensor([3.0, 5.0]), max)
    tensor([3., 5.])
    """
    return _mapped("map_", callable, self, other)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Do as ``map_`` with two other tensors.

    >>> ebb.tensor([1.0, 2.0]).map2_(ebb.tensor([3.0, 5.0]), ebb.tensor([4.0, 0.0]), max)
    tensor([4., 5.])
    """
    return _mapped("map2_", callable, self, x, y)


def _mapped(name: str, function: Any, *tensors: Tensor) -> Tensor:
    first = tensors[0]
    if not builtins.callable(function):
        raise _C.DTypeError(f"{name}: needs a function, got {type(function).__name__}")
    if any(one.requires_grad for one in tensors):
        raise _C.AutogradError(
            f"{name}: needs tensors without gradient, got one that requires it\n"
            "hint: use it on x.detach(), or a function of tensors"
        )
    if any(one.shape != first.shape for one in tensors):
        raise _C.ShapeError(
            f"{name}: needs tensors of one shape, got {[list(one.shape) for one in tensors]}"
        )
    columns = (one.flatten().tolist() for one in tensors)
    made = [function(*row) for row in zip(*columns, strict=True)]
    return first.copy_(_C.tensor(made, dtype=first.dtype).reshape(first.shape))


def _new_type(name: str, dtype: _C.dtype) -> LegacyType:
    doc = (
        f"The type of {dtype.name} tensors: ``{name}(2, 3)`` has sizes and any elements, "
        f"``{name}([1, 2])`` these.\n\n>>> isinstance(ebb.{name}([1]), ebb.{name})\nTrue\n"
    )
    return LegacyType(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "ebb"})


FloatTensor: LegacyType = _new_type("FloatTensor", _C.float32)
DoubleTensor: LegacyType = _new_type("DoubleTensor", _C.float64)
HalfTensor: LegacyType = _new_type("HalfTensor", _C.float16)
BFloat16Tensor: LegacyType = _new_type("BFloat16Tensor", _C.bfloat16)
ByteTensor: LegacyType = _new_type("ByteTensor", _C.uint8)
CharTensor: LegacyType = _new_type("CharTensor", _C.int8)
ShortTensor: LegacyType = _new_type("ShortTensor", _C.int16)
IntTensor: LegacyType = _new_type("IntTensor", _C.int32)
LongTensor: LegacyType = _new_type("LongTensor", _C.int64)
BoolTensor: LegacyType = _new_type("BoolTensor", _C.bool)


def dtype_of(kind: Any) -> _C.dtype | None:
    """Return the dtype of "torch.FloatTensor", of ``FloatTensor``, or None of anything else."""
    if isinstance(kind, LegacyType):
        return kind.dtype
    if isinstance(kind, str) and kind.startswith(("torch.", "ebb.")):
        name = kind.rpartition(".")[2]
        dtype = _DTYPES.get(name) or getattr(_C, name, None)
        return dtype if isinstance(dtype, _C.dtype) else None
    return None


def set_default_tensor_type(t: Any) -> None:
    """Set the dtype of new floating tensors by a type or its name.

    Args:
        t: ``ebb.FloatTensor``, ``ebb.DoubleTensor`` and so on, or "torch.DoubleTensor".
    Raises:
        DTypeError: If it is no such type.
    Example:
        >>> ebb.set_default_tensor_type(ebb.FloatTensor)
    """
    dtype = dtype_of(t)
    if dtype is None:
        raise _C.DTypeError(
            f"set_default_tensor_type: needs a type such as ebb.FloatTensor, got {t!r}"[:200]
        )
    _C.set_default_dtype(dtype)


def _sizes_of_compilers(name: str, plain: str) -> type:
    doc = (
        f"What PyTorch's compilers have for a {plain} that is not known yet: nothing is one.\n\n"
        f">>> isinstance(3, ebb.{name})\nFalse\n"
    )
    return type(name, (), {"__doc__": doc, "__module__": "ebb"})


SymInt: type = _sizes_of_compilers("SymInt", "size")
SymFloat: type = _sizes_of_compilers("SymFloat", "float")
SymBool: type = _sizes_of_compilers("SymBool", "bool")


def _type(self, dtype=None, non_blocking=False, *, memory_format=None):
    """Return PyTorch's name of the type, or, with a dtype or a type, the tensor in it.

    Args:
        dtype: A dtype, a type such as FloatTensor, or the name of either; that of a type says too
            whether the tensor is to be on the CPU or on CUDA's device.
        non_blocking: See ``to``.
        memory_format: See ``to``.

    Example:
        >>> ebb.ones(1).type(ebb.float64)
        tensor([1.], dtype=ebb.float64)
        >>> ebb.ones(1).type()
        'torch.FloatTensor'
    """
    if dtype is None:
        place = "cuda." if self.is_cuda else ""
        layout = "sparse." if self.is_sparse else ""
        return f"torch.{place}{layout}{NAMES[self.dtype]}Tensor"
    options = {"non_blocking": non_blocking, "memory_format": memory_format}
    if isinstance(dtype, str) and dtype.endswith("Tensor") and (self.is_cuda or ".cuda." in dtype):
        options["device"] = cuda_device(None) if ".cuda." in dtype else "cpu"
    return self.to(dtype=dtype_of(dtype) or dtype, **options)


def _cuda(self, device=None, non_blocking=False, memory_format=None):
    """Return the tensor on CUDA's device, which a plug-in brings; an int is its index.

    Example:
        >>> x = ebb.ones(2)
        >>> y = x.cuda() if ebb.cuda.is_available() else x
        >>> y.cpu()
        tensor([1., 1.])
    """
    place = cuda_device(device)
    return self.to(place, non_blocking=non_blocking, memory_format=memory_format)


def _to_named(name: str) -> Any:
    def move(self, device=None, non_blocking=False, memory_format=None):
        place = name if device is None else f"{name}:{device}"
        return self.to(place, non_blocking=non_blocking, memory_format=memory_format)

    move.__name__ = name
    move.__qualname__ = f"Tensor.{name}"
    move.__doc__ = (
        f'Return the tensor on a device "{name}", if a plug-in brings it; an int is its index.\n\n'
        f"Raises:\n    ValueError: If there is none.\n\nExample:\n    >>> x = ebb.ones(1)\n"
        f'    >>> y = x.{name}() if x.device.type == "{name}" else x\n'
    )
    return move


Tensor.type = _type
Tensor.cuda = _cuda


for _method in (new, apply_, map_, map2_, *map(_to_named, ("xpu", "ipu", "mtia"))):
    setattr(Tensor, _method.__name__, _method)
