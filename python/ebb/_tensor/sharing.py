# python/ebb/_tensor/sharing.py -- tensors whose memory several processes share.
#
# The memory is a file without a name (memfd), mapped by each process. Processes that were forked
# have the mapping; to others, and through queues, the descriptor is sent instead of the values.
"""``Tensor.share_memory_``; imported when it is first called."""

from __future__ import annotations

import os
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ebb import _C
from ebb._base import seam


class _Block(np.ndarray[Any, np.dtype[np.uint8]]):
    """Mapped bytes, and the descriptor that makes more mappings of them."""

    descriptor = -1  # also of arrays derived from this one, which own none

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)


_blocks: WeakValueDictionary[int, _Block] = WeakValueDictionary()  # by their address


def _mapped(descriptor: int, size: int) -> _Block:
    """Map a file, whose descriptor the mapping closes when it goes; so does a failure."""
    try:
        block = _C._map_descriptor("share_memory_", descriptor, size).numpy().view(_Block)
        block.descriptor = descriptor
    except BaseException:
        os.close(descriptor)
        raise
    _blocks[block.ctypes.data] = block
    return block


def _new_block(size: int) -> _Block:
    try:
        descriptor = os.memfd_create("ebb_shared")
    except OSError as error:
        raise _C.IoError(
            f"share_memory_: needs a free file descriptor, got none: {error.strerror}\n"
            "hint: ulimit -n; each shared tensor takes one"
        ) from None
    try:
        os.ftruncate(descriptor, size)
    except OSError as error:
        os.close(descriptor)
        raise _C.IoError(
            f"share_memory_: needs a file of {size} bytes, got none: {error.strerror}"
        ) from None
    return _mapped(descriptor, size)


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
    if not (tensor.is_dense and tensor.is_cpu):
        raise _C.NotImplementedError(
            "share_memory_: needs a dense tensor on the CPU, "
            f"got {tensor.layout} on {tensor.device}"
        )
    if not _C._owns_storage_alone(tensor):
        raise _C.ValueError(
            "share_memory_: needs memory that nothing else uses, got a tensor with views or arrays "
            "over it\nhint: share a clone, or call it before they are made"
        )
    block = _new_block(max(tensor.nbytes, tensor.itemsize))
    with _C.no_grad():
        shared = _C.from_numpy(block).view(tensor.dtype)[: tensor.numel()].view(tensor.shape)
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
    whole = _C.from_numpy(_mapped(sent.detach(), size)).view(dtype)
    data = whole.as_strided(shape, stride, offset).detach()
    made = _C.Tensor._make_subclass(kind, data, requires_grad)
    vars(made).update(attributes)
    return made


def _register() -> None:
    for kind in (_C.Tensor, seam.filled("parameter")):
        ForkingPickler.register(kind, _reduced)


_register()
