# python/ebb/data/transfer.py -- sends Python objects between processes, arrays in shared memory.
#
# A message is a header, and then either a short pickle or a descriptor of anonymous shared memory
# (memfd) that holds the arrays and the pickle:
#   lengths of the arrays (8 bytes each) | arrays, each on a multiple of 64 bytes | pickle
# The receiver maps that memory, and the tensors that it builds are views of the mapping. The memory
# has no name, so it ends with its last user, whatever that one dies of. All messages on the socket
# are short, so nobody waits for a slow reader.
"""``send`` and ``receive``, over Unix sockets."""

from __future__ import annotations

import io
import os
import pickle
import socket
import struct
from multiprocessing.reduction import ForkingPickler
from typing import Any

from ebb import _C

_HEADER = struct.Struct("<qqq")  # bytes of the pickle, arrays, bytes of the shared memory or -1
_SMALL = 1024  # arrays below this travel within the pickle
_SHORT = 4096  # pickles below this travel through the socket
_ALIGNMENT = 64


class _Pickler(ForkingPickler):
    """Tensors without history are sent as the arrays that they share memory with."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is not _C.Tensor or obj.__dict__:
            return NotImplemented
        plain = obj.detach()
        is_bfloat16 = plain.dtype is _C.bfloat16
        array = (plain.float() if is_bfloat16 else plain).numpy()
        return _tensor_of, (array, is_bfloat16, obj.requires_grad)


def _tensor_of(array: Any, is_bfloat16: bool, requires_grad: bool) -> _C.Tensor:
    tensor = _C.from_numpy(array)
    if is_bfloat16:
        tensor = tensor.bfloat16()
    return tensor.requires_grad_() if requires_grad else tensor


def send(channel: socket.socket, obj: Any) -> None:
    """Send an object. Raises what pickling raises, before anything was sent."""
    arrays: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        view = buffer.raw()
        if view.nbytes < _SMALL:
            return True  # stays in the pickle
        arrays.append(view)
        return False

    file = io.BytesIO()
    _Pickler(file, 5, True, keep).dump(obj)
    text = file.getbuffer()
    if not arrays and text.nbytes < _SHORT:
        channel.sendall(_HEADER.pack(text.nbytes, 0, -1) + text)
        return
    descriptor = os.memfd_create("ebb_data")
    try:
        size = _write(descriptor, arrays, text)
        header = _HEADER.pack(text.nbytes, len(arrays), size)
        socket.send_fds(channel, [header], [descriptor])
    finally:
        os.close(descriptor)


def _write(descriptor: int, arrays: list[memoryview], text: memoryview) -> int:
    """Write everything into the memory; return its size."""
    with open(descriptor, "wb", closefd=False) as memory:
        size = memory.write(struct.pack(f"<{len(arrays)}q", *(view.nbytes for view in arrays)))
        for view in arrays:
            size += memory.write(bytes(-size % _ALIGNMENT))
            size += memory.write(view)
        return size + memory.write(text)


def receive(channel: socket.socket) -> Any:
    """Return the next object. Raises EOFError where the other side has gone."""
    header, descriptors = _read_header(channel)
    length, count, size = _HEADER.unpack(header)
    if size < 0:
        return pickle.loads(_read(channel, length))
    try:
        memory = memoryview(_C._map_descriptor(descriptors[0], size))
    finally:
        os.close(descriptors[0])
    lengths = struct.unpack_from(f"<{count}q", memory)
    arrays, place = [], 8 * count
    for nbytes in lengths:
        place += -place % _ALIGNMENT
        arrays.append(memory[place : place + nbytes])
        place += nbytes
    return pickle.loads(memory[place : place + length], buffers=arrays)


def _read_header(channel: socket.socket) -> tuple[bytes, list[int]]:
    header, descriptors, _, _ = socket.recv_fds(channel, _HEADER.size, 1)
    if not header:
        raise EOFError
    return header + _read(channel, _HEADER.size - len(header)), descriptors


def _read(channel: socket.socket, count: int) -> bytes:
    parts = []
    while count > 0:
        part = channel.recv(count)
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
