# python/ebb/data/transfer.py -- sends Python objects between processes, arrays in shared memory.
#
# A message is a header, and then either a short pickle, or a block of anonymous shared memory
# (memfd) that holds the arrays and the pickle:
#   lengths of the arrays (8 bytes each) | arrays, each on a multiple of 64 bytes | pickle
# A new block comes with its descriptor; the receiver maps it, and the tensors that it builds are
# views of the mapping. Both sides keep a few blocks: once no tensor uses one any more, the receiver
# says so (released()), and the sender fills it again (release()), which spares the system's work of
# making and mapping pages. Blocks have no name, so they end with their last user, whatever that one
# dies of. All messages on the socket are short, so nobody waits for a slow reader.
"""``Sender`` and ``Receiver``, over Unix sockets."""

from __future__ import annotations

import io
import mmap
import os
import pickle
import socket
import struct
from collections.abc import Iterable
from multiprocessing.reduction import ForkingPickler
from typing import Any

from ebb import _C

# Bytes of the pickle, number of arrays, then of the block: its bytes (-1 without one), its number
# (-1 if it is not kept), and the number of the block that is not kept any more, or -1.
_HEADER = struct.Struct("<qqqqq")
_SMALL = 1024  # arrays below this travel within the pickle
_SHORT = 4096  # pickles below this travel through the socket
_ALIGNMENT = 64
_PAGE = 4096
_MAP = mmap.MAP_SHARED | mmap.MAP_POPULATE


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


def _pickled(obj: Any) -> tuple[memoryview, list[memoryview]]:
    """Return the pickle of an object, and its large arrays."""
    arrays: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        view = buffer.raw()
        if view.nbytes < _SMALL:
            return True  # stays in the pickle
        arrays.append(view)
        return False

    file = io.BytesIO()
    _Pickler(file, 5, True, keep).dump(obj)
    return file.getbuffer(), arrays


def _places(lengths: Iterable[int], count: int) -> tuple[list[int], int]:
    """Return where ``count`` arrays begin in a block, and where the last one ends."""
    places, end = [], 8 * count
    for length in lengths:
        places.append(end + -end % _ALIGNMENT)
        end = places[-1] + length
    return places, end


class Sender:
    """Sends objects, in at most ``kept`` blocks that are used again and any number of others."""

    def __init__(self, channel: socket.socket, kept: int = 0):
        self._channel = channel
        self._kept = kept
        self._blocks: dict[int, mmap.mmap] = {}
        self._busy: set[int] = set()
        self._next = 0

    def send(self, obj: Any) -> None:
        """Send an object. Raises what pickling raises, before anything was sent."""
        text, arrays = _pickled(obj)
        if not arrays and text.nbytes < _SHORT:
            self._channel.sendall(_HEADER.pack(text.nbytes, 0, -1, -1, -1) + text)
            return
        lengths = [view.nbytes for view in arrays]
        places, end = _places(lengths, len(arrays))
        number = self._free_block(end + text.nbytes)
        if number >= 0:
            block = self._blocks[number]
            self._fill(block, lengths, places, end, arrays, text)
            self._channel.sendall(_HEADER.pack(text.nbytes, len(arrays), len(block), number, -1))
            return
        descriptor = os.memfd_create("ebb_data")
        try:
            size = end + text.nbytes
            # Batches differ a little in size: the next one may need more.
            size += (size // 8 if self._kept else 0) + _PAGE
            os.ftruncate(descriptor, size)
            block = mmap.mmap(descriptor, size, flags=_MAP)
            self._fill(block, lengths, places, end, arrays, text)
            number, dropped = self._keep(block)
            header = _HEADER.pack(text.nbytes, len(arrays), size, number, dropped)
            socket.send_fds(self._channel, [header], [descriptor])
        finally:
            os.close(descriptor)

    def release(self, numbers: Iterable[int]) -> None:
        """Note that the receiver uses these blocks no more."""
        self._busy.difference_update(numbers)

    def _free_block(self, size: int) -> int:
        for number, block in self._blocks.items():
            if number not in self._busy and size <= len(block) <= 2 * size + _PAGE:
                self._busy.add(number)
                return number
        return -1

    def _keep(self, block: mmap.mmap) -> tuple[int, int]:
        """Keep a block; return its number, and that of the one that is given up for it."""
        if self._kept == 0:
            return -1, -1
        dropped = -1
        if len(self._blocks) == self._kept:
            # One that is free is of the wrong size; else the oldest, which may be used for long.
            free = (number for number in self._blocks if number not in self._busy)
            dropped = next(free, next(iter(self._blocks)))
            del self._blocks[dropped]
            self._busy.discard(dropped)
        self._next += 1
        self._blocks[self._next] = block
        self._busy.add(self._next)
        return self._next, dropped

    @staticmethod
    def _fill(
        block: mmap.mmap, lengths: list[int], places: list[int], end: int,
        arrays: list[memoryview], text: memoryview,
    ) -> None:  # fmt: skip
        struct.pack_into(f"<{len(lengths)}q", block, 0, *lengths)
        for place, length, view in zip(places, lengths, arrays, strict=True):
            block[place : place + length] = view
        block[end : end + text.nbytes] = text


class Receiver:
    """Receives what a ``Sender`` sends."""

    def __init__(self, channel: socket.socket):
        self._channel = channel
        self._blocks: dict[int, _C.Tensor] = {}
        self._held: set[int] = set()  # received, and not said to be released since

    def receive(self) -> Any:
        """Return the next object. Raises EOFError where the other side has gone."""
        header, descriptors = self._read_header()
        length, count, size, number, dropped = _HEADER.unpack(header)
        if size < 0:
            return pickle.loads(self._read(length))
        if number not in self._blocks:
            block = self._map(descriptors, size)
            if number >= 0:
                self._blocks[number] = block
        else:
            block = self._blocks[number]
        self._blocks.pop(dropped, None)
        self._held.discard(dropped)
        self._held.add(number)
        memory = memoryview(block)
        lengths = struct.unpack_from(f"<{count}q", memory)
        places, end = _places(lengths, count)
        arrays = [memory[place : place + one] for place, one in zip(places, lengths, strict=True)]
        return pickle.loads(memory[end : end + length], buffers=arrays)

    def released(self) -> list[int]:
        """Return the kept blocks that no tensor uses any more, each once."""
        free = [
            number
            for number in self._held
            if number in self._blocks and _C._owns_storage_alone(self._blocks[number])
        ]
        self._held.difference_update(free)
        return free

    @staticmethod
    def _map(descriptors: list[int], size: int) -> _C.Tensor:
        if not descriptors:  # the system drops what finds no place in the table of open files
            raise _C.IoError("DataLoader: needs a free file descriptor, got none\nhint: ulimit -n")
        try:
            return _C._map_descriptor("DataLoader", descriptors[0], size)
        finally:
            os.close(descriptors[0])

    def _read_header(self) -> tuple[bytes, list[int]]:
        header, descriptors, _, _ = socket.recv_fds(self._channel, _HEADER.size, 1)
        if not header:
            raise EOFError
        return header + self._read(_HEADER.size - len(header)), descriptors

    def _read(self, count: int) -> bytes:
        parts = []
        while count > 0:
            part = self._channel.recv(count)
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
