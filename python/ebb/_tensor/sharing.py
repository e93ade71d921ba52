# python/ebb/_tensor/sharing.py -- tensors whose memory several processes share.
#
# The memory is a file without a name (memfd), mapped by each process. Processes that were forked
# have the mapping; to others, and through queues, the descriptor is sent instead of the values.
"""``Tensor.share_memory_``; imported when it is first called."""

from __future__ import annotations

import importlib
import mmap
import os
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ebb import _C


class _Block(mmap.mmap):
    """A mapping, and the descriptor that makes more of them."""

    descriptor: int

    def __del__(self) -> None:
        os.close(self.descriptor)


_blocks: WeakValueDictionary[int, _Block] = WeakValueDictionary()  # by their address


def _mapped(descriptor: int, size: int) -> _Block:
    block = _Block(descriptor, size)
    block.descriptor = descriptor
    _blocks[np.frombuffer(block, np.uint8).ctypes.data] = block
    return block


def _block_of(tensor: _C.Tensor) -> _Block | None:
    if not (tensor.is_dense and tensor.is_cpu):
        return None
    return _blocks.get(tensor.data_ptr() - tensor.storage_offset() * tensor.itemsize)


def is_shared(tensor: _C.Tensor) -> bool:
    """Return whether processes share the tensor's memory."""
    return _block_of(tensor) is not None


def share(tensor: _C.Tensor) -> None:
    """Move a tensor's values into memory that processes can share."""
    if is_shared(tensor):
        return
    if not (tensor.is_dense and tensor.is_cpu) or tensor.dtype is _C.bfloat16:
        raise _C.NotImplementedError(
            "share_memory_: needs a dense tensor on the CPU of a dtype of NumPy, "
            f"got {tensor.dtype} on {tensor.device}"
        )
    if not _C._owns_storage_alone(tensor):
        raise _C.ValueError(
            "share_memory_: needs memory that nothing else uses, got a tensor with views or arrays "
            "over it\nhint: share a clone, or call it before they are made"
        )
    size = max(tensor.nbytes, 1)
    descriptor = os.memfd_create("ebb_shared")
    os.ftruncate(descriptor, size)
    array = np.ndarray(tuple(tensor.shape), tensor.dtype.name, _mapped(descriptor, size))
    with _C.no_grad():
        shared = _C.from_numpy(array)
        shared.copy_(tensor.detach())
        tensor.data = shared


def _reduced(tensor: _C.Tensor) -> Any:
    block = _block_of(tensor)
    if block is None:
        return tensor.__reduce_ex__(2)
    geometry = (tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())
    return _again, (type(tensor), DupFd(block.descriptor), len(block), tensor.dtype, *geometry,
                    tensor.requires_grad, dict(vars(tensor)))  # fmt: skip


def _again(
    kind: type, sent: Any, size: int, dtype: _C.dtype, shape: tuple[int, ...],
    stride: tuple[int, ...], offset: int, requires_grad: bool, attributes: dict[Any, Any],
) -> _C.Tensor:  # fmt: skip
    """Make a tensor over the memory that another process sent."""
    whole = np.frombuffer(_mapped(sent.detach(), size), dtype.name, size // dtype.itemsize)
    data = _C.from_numpy(whole).as_strided(shape, stride, offset).detach()
    made = _C.Tensor._make_subclass(kind, data, requires_grad)
    vars(made).update(attributes)
    return made


def _register() -> None:
    # Of a package above this one, which is there by now.
    parameters = importlib.import_module("ebb.nn.parameter")
    for kind in (_C.Tensor, parameters.Parameter):
        ForkingPickler.register(kind, _reduced)


_register()
