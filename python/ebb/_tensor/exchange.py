# python/ebb/_tensor/exchange.py -- memory shared with others: DLPack, Python's buffers, files.
#
# NumPy, which every such library knows, makes the capsules and reads them; it is imported at the
# first call. It has no bfloat16: such a capsule is one of int16 whose kind is overwritten.
"""Tensors over the memory of others, and others over that of tensors."""

from __future__ import annotations

import os
from typing import Any

from ebb import _C
from ebb._C import Tensor
from ebb._tensor.formats import check_leaf_options

# DLPack's number of the CPU.
_CPU = (1, 0)
# Its kinds of elements, and where the kind is, in bytes from the beginning of what a capsule holds.
_INT, _BFLOAT = 0, 4
_KIND_AT = {"dltensor": 20, "dltensor_versioned": 52}


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: Any = None) -> Tensor:
    """Return a tensor over the memory of an object that has ``__dlpack__``, on the CPU.

    Args:
        ext_tensor: It, or a capsule of DLPack, which can be taken once.
        device: Where the tensor is to be; elsewhere than on the CPU it is a copy.
        copy: True for a copy, False for an error where one is needed.
    Raises:
        DeviceError: If the object says, by ``__dlpack_device__``, that its memory is that of a
            device; it is not asked for it then.

    Example:
        >>> import numpy
        >>> ebb.from_dlpack(numpy.ones(2))
        tensor([1., 1.], dtype=ebb.float64)
    """
    if isinstance(ext_tensor, Tensor):
        made = ext_tensor.detach()
    elif type(ext_tensor).__name__ == "PyCapsule":
        made = _of_capsule(ext_tensor)
    elif not hasattr(ext_tensor, "__dlpack__"):
        raise _C.DTypeError(
            f"from_dlpack: needs an object that has __dlpack__, got {type(ext_tensor).__name__}"
        )
    else:
        made = _of_object(ext_tensor)
    moved = made if device is None else made.to(device)
    if copy is False and moved.device != made.device:
        raise _C.ValueError(f"from_dlpack: needs a copy to be on {moved.device}, got copy False")
    return moved.clone() if copy and moved is made else moved


# Kinds of memory that a processor reads: its own, pinned for CUDA or ROCm, managed by CUDA.
_READABLE = (1, 3, 11, 13)


def _check_device(ext_tensor: Any) -> None:
    """Refuse memory of a device before its owner makes a capsule, which may wait for the device."""
    ask = getattr(ext_tensor, "__dlpack_device__", None)
    if ask is None:
        return
    device = ask()
    is_pair = isinstance(device, tuple) and len(device) == 2
    if not is_pair or not all(isinstance(one, int) for one in device):
        raise _C.DTypeError(
            "from_dlpack: needs a pair of numbers from __dlpack_device__, got "
            f"{type(device).__name__}"
        )
    if device[0] not in _READABLE:
        raise _C.DeviceError(
            f"from_dlpack: needs memory of the CPU, got that of a device of kind {int(device[0])}"
            "\nhint: copy it to the CPU first"
        )


def _of_object(ext_tensor: Any) -> Tensor:
    import numpy

    _check_device(ext_tensor)
    try:
        return _C.from_numpy(numpy.from_dlpack(ext_tensor))
    except (BufferError, RuntimeError, ValueError):
        capsule = ext_tensor.__dlpack__()
        _check_capsule(capsule)
        if not _change_kind(capsule, _BFLOAT, _INT):
            raise
    return _C.from_numpy(_array_of(capsule)).view(_C.bfloat16)


def _of_capsule(capsule: Any) -> Tensor:
    _check_capsule(capsule)
    is_bfloat = _change_kind(capsule, _BFLOAT, _INT)
    made = _C.from_numpy(_array_of(capsule))
    return made.view(_C.bfloat16) if is_bfloat else made


def _check_capsule(capsule: Any) -> None:
    """Refuse what is no capsule of DLPack, or one whose tensor was taken."""
    if type(capsule).__name__ != "PyCapsule":
        raise _C.DTypeError(
            f"from_dlpack: needs a capsule from __dlpack__, got {type(capsule).__name__}"
        )
    name = repr(capsule).partition('"')[2].partition('"')[0]
    if name in _KIND_AT:
        return
    if name.removeprefix("used_") in _KIND_AT:
        raise _C.ValueError(
            "from_dlpack: needs a capsule whose tensor nobody took, got one that was taken\n"
            "hint: call __dlpack__() again"
        )
    raise _C.ValueError(
        f"from_dlpack: needs a capsule named 'dltensor' or 'dltensor_versioned', got {name!r}"
    )


def _change_kind(capsule: Any, old: int, new: int) -> bool:
    """Make elements of 16 bits of one kind those of another; return whether they were."""
    import ctypes

    name = "dltensor_versioned" if _is_versioned(capsule) else "dltensor"
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    find = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))
    kind_and_bits = (ctypes.c_uint8 * 2).from_address(find(capsule, name.encode()) + _KIND_AT[name])
    if tuple(kind_and_bits) != (old, 16):
        return False
    kind_and_bits[0] = new
    return True


def _is_versioned(capsule: Any) -> bool:
    return '"dltensor_versioned"' in repr(capsule)


class _Capsule:
    """What NumPy asks for: an object that gives the capsule."""

    def __init__(self, capsule: Any):
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU  # NumPy looks into the capsule, and refuses another


class _Writable:
    """The memory of an array that NumPy takes for read-only."""

    def __init__(self, array: Any):
        self._array = array  # keeps the memory
        self.__array_interface__ = {
            **array.__array_interface__,
            "data": (array.__array_interface__["data"][0], False),
        }


def _array_of(capsule: Any) -> Any:
    import numpy

    is_versioned = _is_versioned(capsule)
    array = numpy.from_dlpack(_Capsule(capsule))
    # Capsules from before versions do not say whether memory may be written, and NumPy then says
    # that it may not.
    return array if is_versioned else numpy.asarray(_Writable(array))


def to_dlpack(tensor: Tensor) -> Any:
    """Return a DLPack capsule over the memory of a tensor on the CPU.

    Example:
        >>> ebb.from_dlpack(ebb.to_dlpack(ebb.ones(2)))
        tensor([1., 1.])
    """
    return tensor.__dlpack__()


def _dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """Return a DLPack capsule over this tensor's memory."""
    del stream
    if self.requires_grad:
        raise _C.AutogradError(
            "__dlpack__: needs a tensor that requires no gradient, got one that does\n"
            "hint: use tensor.detach()"
        )
    if not self.is_cpu:
        raise _C.DeviceError(f"__dlpack__: needs a tensor on the CPU, got one on {self.device}")
    options = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
    given = {name: value for name, value in options.items() if value is not None}
    if self.dtype is not _C.bfloat16:
        return self.numpy().__dlpack__(**given)
    capsule = self.view(_C.int16).numpy().__dlpack__(**given)
    _change_kind(capsule, _INT, _BFLOAT)
    return capsule


def _dlpack_device(self):
    """Return DLPack's pair (kind of device, index)."""
    if not self.is_cpu:
        raise _C.DeviceError(f"__dlpack_device__: needs the CPU, got {self.device}")
    return _CPU


def frombuffer(
    buffer: Any, *, dtype: Any, count: Any = -1, offset: Any = 0, requires_grad: Any = False
) -> Tensor:
    """Return a 1-d tensor over the memory of an object with Python's buffer interface.

    Args:
        dtype: Of the elements, one that NumPy has too.
        count: How many there are; all that follow if -1.
        offset: Where they begin, in bytes.

    Example:
        >>> ebb.frombuffer(bytearray(b"\x01\x02"), dtype=ebb.uint8)
        tensor([1, 2], dtype=ebb.uint8)
    """
    import numpy

    if dtype is _C.bfloat16:
        raise _C.NotImplementedError("frombuffer: needs a dtype of NumPy, got bfloat16")
    try:
        array = numpy.frombuffer(buffer, numpy.dtype(dtype.name), count, offset)
    except ValueError as error:
        raise _C.ValueError(f"frombuffer: {error}") from None
    made = _C.from_numpy(array if array.flags.writeable else array.copy())
    return made.requires_grad_() if requires_grad else made


def _flat_array(buffer: Any, dtype: Any) -> Any:
    """Return a 1-d array over a buffer, its bytes as elements of ``dtype``, if that is given."""
    import numpy

    if dtype is _C.bfloat16:
        raise _C.NotImplementedError("asarray: needs a dtype of NumPy for a buffer, got bfloat16")
    array = numpy.asarray(memoryview(buffer)).reshape(-1)
    if dtype is None:
        return array
    try:
        return array.view(numpy.uint8).view(numpy.dtype(dtype.name))
    except ValueError:
        raise _C.ValueError(
            f"asarray: needs a buffer of whole elements of {dtype}, got {array.nbytes} bytes"
        ) from None


def _to_device(self, device, /, *, stream=None):
    """Return the tensor on a device.

    Example:
        >>> x = ebb.ones(2)
        >>> x.to_device("cpu") is x
        True
    """
    del stream
    return self.to(device)


Tensor.to_device = _to_device
Tensor.__dlpack__ = _dlpack
Tensor.__dlpack_device__ = _dlpack_device


def from_file(
    filename: Any,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor over the bytes of a file.

    Args:
        filename: Its path.
        shared: Whether writes to the tensor change the file, which is made, or made longer, where
            it has fewer bytes. Otherwise the file stays as it is.
        size: How many elements the tensor has.
        dtype: Of the elements; the default one if None.
        device: The CPU.

    Raises:
        ValueError: If the file is too short, or ``size`` negative.

    Example:
        >>> x = ebb.from_file("numbers.bin", shared=True, size=3, dtype=ebb.int64)
        >>> x.tolist()
        [0, 0, 0]
    """
    import numpy

    check_leaf_options("from_file", layout, pin_memory)
    dtype = dtype or _C.get_default_dtype()
    if device is not None and _C.device(device).type != "cpu":
        raise _C.DeviceError(f"from_file: device must be the CPU, got {_C.device(device)}")
    if size < 0:
        raise _C.ValueError(f"from_file: size must not be negative, got {size}")
    count = size * dtype.itemsize
    if shared:
        with open(filename, "ab") as file:
            if file.tell() < count:
                file.truncate(count)
    held = os.path.getsize(filename)
    if held < count:
        raise _C.ValueError(f"from_file: the file needs {count} bytes, got {held}")
    if count == 0:
        return _C.empty(0, dtype=dtype, requires_grad=requires_grad)
    mapped = numpy.memmap(filename, numpy.uint8, "r+" if shared else "c", shape=(count,))
    return _C.from_numpy(mapped).view(dtype).requires_grad_(requires_grad)
