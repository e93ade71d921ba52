# python/ebb/nn/utils/rnn.py -- sequences of different lengths as one tensor, padded or packed.
#
# A packed sequence has the elements of all sequences, longest first, time after time. Its times
# fall into runs of one batch size, which `runs()` lists: recurrent layers and padding go run by
# run, so what a call costs grows with the number of different lengths, not with the times.
"""Padded and packed sequences, under PyTorch's names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ebb import _C
from ebb._C import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None


class PackedSequence(_Packed):
    """Sequences of different lengths without padding; made by ``pack_padded_sequence``.

    Args:
        data: ``[sum of lengths, *]``: the first elements of all sequences, longest first, then
            the second ones of those that have one, and so on.
        batch_sizes: How many sequences have an element at each time, int64 ``[longest]``.
        sorted_indices: Where the sequences, longest first, stood in the batch; None if they did
            stand so.
        unsorted_indices: The inverse of ``sorted_indices``; worked out if None.

    Example:
        >>> packed = ebb.nn.utils.rnn.pack_sequence([ebb.tensor([1.0, 2.0]), ebb.tensor([3.0])])
        >>> packed.data, packed.batch_sizes
        (tensor([1., 3., 2.]), tensor([2, 1]))
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        """Check the batch sizes and invert the order."""
        if not isinstance(data, Tensor) or not isinstance(batch_sizes, Tensor):
            raise _C.DTypeError(
                "PackedSequence: needs data and batch_sizes as tensors, got "
                f"{type(data).__name__} and {type(batch_sizes).__name__}"
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the sequences with ``data.to(...)``, the same ones if nothing changes."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._replace(data=data)

    def cpu(self) -> PackedSequence:
        """Return the sequences in the CPU's memory."""
        return self.to("cpu")

    def pin_memory(self) -> PackedSequence:
        """Return the sequences in memory that devices read without a copy."""
        return self._replace(data=self.data.pin_memory())

    def float(self) -> PackedSequence:
        """Return the sequences in float32."""
        return self.to(_C.float32)

    def double(self) -> PackedSequence:
        """Return the sequences in float64."""
        return self.to(_C.float64)

    def half(self) -> PackedSequence:
        """Return the sequences in float16."""
        return self.to(_C.float16)

    def long(self) -> PackedSequence:
        """Return the sequences in int64."""
        return self.to(_C.int64)

    def int(self) -> PackedSequence:
        """Return the sequences in int32."""
        return self.to(_C.int32)

    def short(self) -> PackedSequence:
        """Return the sequences in int16."""
        return self.to(_C.int16)

    def char(self) -> PackedSequence:
        """Return the sequences in int8."""
        return self.to(_C.int8)

    def byte(self) -> PackedSequence:
        """Return the sequences in uint8."""
        return self.to(_C.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Return whether devices read the elements without a copy."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the order that undoes ``permutation``, int64 ``[n]``; None of None.

    Example:
        >>> ebb.nn.utils.rnn.invert_permutation(ebb.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    return None if permutation is None else _C.argsort(permutation)


def runs(batch_sizes: Tensor) -> list[tuple[int, int]]:
    """Return how many times in a row have one batch size, and that size."""
    found: list[tuple[int, int]] = []
    for size in batch_sizes.tolist():
        if found and found[-1][1] == size:
            found[-1] = (found[-1][0] + 1, size)
        else:
            found.append((1, size))
    return found


def run_tensors(sequence: PackedSequence) -> Iterator[Tensor]:
    """Yield a view ``[times, batch, *]`` of the data for each of its runs."""
    start = 0
    for times, batch in runs(sequence.batch_sizes):
        end = start + times * batch
        yield sequence.data[start:end].unflatten(0, (times, batch))
        start = end


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Return sequences ``[length, *]`` side by side, as long as the longest.

    Args:
        sequences: At least one tensor; all but their first sizes are equal.
        batch_first: Return ``[B, longest, *]``, not ``[longest, B, *]``.
        padding_value: What stands behind shorter sequences.
        padding_side: "right", or "left" to put it before them.

    Example:
        >>> ebb.nn.utils.rnn.pad_sequence([ebb.ones(2), ebb.ones(1)], batch_first=True)
        tensor([[1., 1.],
                [1., 0.]])
    """
    given = _sequences("pad_sequence", sequences)
    if padding_side not in ("left", "right"):
        raise _C.ValueError(f"pad_sequence: padding_side needs left or right, got {padding_side!r}")
    longest = max(one.shape[0] for one in given)
    is_left = padding_side == "left"
    padded = []
    for one in given:
        lacks = longest - one.shape[0]
        around = [0, 0] * (one.ndim - 1) + ([lacks, 0] if is_left else [0, lacks])
        padded.append(_C.constant_pad_nd(one, around, padding_value) if lacks else one)
    return _C.stack(padded, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False
) -> list[Tensor]:
    """Return the sequences of a padded batch, views without their padding.

    Args:
        padded_sequences: ``[longest, B, *]``, or ``[B, longest, *]`` if ``batch_first``.
        lengths: Of each sequence, ``[B]``.

    Example:
        >>> padded = ebb.tensor([[1.0, 2.0], [3.0, 0.0]])
        >>> ebb.nn.utils.rnn.unpad_sequence(padded, [2, 1], batch_first=True)
        [tensor([1., 2.]), tensor([3.])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    found = _lengths("unpad_sequence", lengths, rows.shape[0], rows.shape[1])
    return [row[:length] for row, length in zip(rows.unbind(0), found, strict=True)]


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Return the sequences of a padded batch without their padding, ready for a recurrent layer.

    Args:
        input: ``[longest, B, *]``, or ``[B, longest, *]`` if ``batch_first``.
        lengths: Of each sequence, at least 1 each, ``[B]``, on the CPU.
        enforce_sorted: Refuse sequences that do not stand longest first; else they are sorted,
            and come back in their order.

    Example:
        >>> packed = ebb.nn.utils.rnn.pack_padded_sequence(ebb.ones([3, 2, 4]), [3, 1])
        >>> packed.batch_sizes
        tensor([2, 1, 1])
    """
    name = "pack_padded_sequence"
    if not isinstance(input, Tensor) or input.ndim < 2:
        got = list(input.shape) if isinstance(input, Tensor) else type(input).__name__
        raise _C.ShapeError(f"{name}: input needs at least 2 dims, got {got}")
    if batch_first:
        input = input.transpose(0, 1)
    if input.shape[1] == 0:
        raise _C.ValueError(f"{name}: needs at least one sequence, got {list(input.shape)}")
    found = _lengths(name, lengths, input.shape[1], input.shape[0], smallest=1)
    order = None
    if any(before < after for before, after in itertools.pairwise(found)):
        if enforce_sorted:
            raise _C.ValueError(
                f"{name}: lengths need to fall, got {found}\n"
                "hint: enforce_sorted=False sorts the sequences"
            )
        order = _C.argsort(_C.tensor(found, dtype=_C.int64), descending=True, stable=True)
        input, found = _C.index_select(input, 1, order), sorted(found, reverse=True)
    elif not enforce_sorted:
        order = _C.arange(len(found))
    sizes = _batch_sizes(found)
    parts, start = [], 0
    for times, batch in runs(sizes):
        parts.append(input[start : start + times, :batch].flatten(0, 1))
        start += times
    return PackedSequence(_C.cat(parts), sizes, order)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return packed sequences as a padded batch in their first order, and their lengths.

    Args:
        batch_first: Return ``[B, longest, *]``, not ``[longest, B, *]``.
        padding_value: What stands behind shorter sequences.
        total_length: Pad to this length; at least that of the longest.

    Returns:
        The batch, and int64 ``[B]``.

    Example:
        >>> packed = ebb.nn.utils.rnn.pack_sequence([ebb.tensor([1.0, 2.0]), ebb.tensor([3.0])])
        >>> ebb.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        (tensor([[1., 2.],
                [3., 0.]]), tensor([2, 1]))
    """
    _check_packed("pad_packed_sequence", sequence)
    sizes = sequence.batch_sizes.tolist()
    lacks = 0 if total_length is None else total_length - len(sizes)
    if lacks < 0:
        raise _C.ValueError(
            f"pad_packed_sequence: total_length needs at least {len(sizes)}, the longest sequence, "
            f"got {total_length}"
        )
    parts = []
    for part in run_tensors(sequence):
        around = [0, 0] * (part.ndim - 2) + [0, sizes[0] - part.shape[1]]
        parts.append(_C.constant_pad_nd(part, around, padding_value) if around[-1] else part)
    padded = _C.cat(parts)
    if lacks:
        padded = _C.constant_pad_nd(padded, [0, 0] * (padded.ndim - 1) + [0, lacks], padding_value)
    lengths = _C.tensor(_lengths_of(sequence.batch_sizes), dtype=_C.int64)
    if sequence.unsorted_indices is not None:
        padded = _C.index_select(padded, 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices]
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def pack_sequence(
    sequences: Tensor | Sequence[Tensor], enforce_sorted: bool = True
) -> PackedSequence:
    """Return sequences ``[length, *]`` packed; see ``pack_padded_sequence``.

    Example:
        >>> packed = ebb.nn.utils.rnn.pack_sequence([ebb.tensor([1.0, 2.0]), ebb.tensor([3.0])])
        >>> packed.batch_sizes
        tensor([2, 1])
    """
    given = _sequences("pack_sequence", sequences)
    lengths = [one.shape[0] for one in given]
    return pack_padded_sequence(pad_sequence(given), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences ``[length, *]`` in their first order.

    Example:
        >>> packed = ebb.nn.utils.rnn.pack_sequence([ebb.tensor([1.0, 2.0]), ebb.tensor([3.0])])
        >>> ebb.nn.utils.rnn.unpack_sequence(packed)
        [tensor([1., 2.]), tensor([3.])]
    """
    _check_packed("unpack_sequence", packed_sequences)
    return unpad_sequence(*pad_packed_sequence(packed_sequences))


def _sequences(name: str, given: object) -> list[Tensor]:
    if isinstance(given, Tensor):
        return list(given.unbind(0))
    if not isinstance(given, list | tuple) or not all(isinstance(one, Tensor) for one in given):
        raise _C.DTypeError(f"{name}: needs a list of tensors, got {type(given).__name__}")
    if not given:
        raise _C.ValueError(f"{name}: needs at least one sequence, got none")
    rest = tuple(given[0].shape[1:])
    for position, one in enumerate(given):
        if one.ndim == 0 or tuple(one.shape[1:]) != rest:
            wanted = ", ".join(["length", *map(str, rest)])
            raise _C.ShapeError(
                f"{name}: each sequence needs shape [{wanted}], got {list(one.shape)} at position "
                f"{position}"
            )
    return list(given)


def _lengths(name: str, given: Any, batch: int, longest: int, smallest: int = 0) -> list[int]:
    found = given.tolist() if isinstance(given, Tensor) else [int(one) for one in given]
    if len(found) != batch:
        raise _C.ShapeError(f"{name}: needs a length for each of {batch} sequences, got {found}")
    for position, length in enumerate(found):
        if not smallest <= length <= longest:
            raise _C.ValueError(
                f"{name}: lengths must be from {smallest} to {longest}, got {length} at position "
                f"{position}"
            )
    return found


def _batch_sizes(lengths: list[int]) -> Tensor:
    """Return how many of ``lengths``, which fall, are above 0, 1, ..."""
    sizes, batch = [], len(lengths)
    for time in range(lengths[0] if lengths else 0):
        while lengths[batch - 1] <= time:
            batch -= 1
        sizes.append(batch)
    return _C.tensor(sizes, dtype=_C.int64)


def _lengths_of(batch_sizes: Tensor) -> list[int]:
    """Return the lengths that ``_batch_sizes`` came from."""
    ends: list[int] = []
    found = runs(batch_sizes)
    time = sum(times for times, _ in found)
    for times, batch in reversed(found):
        ends += [time] * (batch - len(ends))
        time -= times
    return ends


def _check_packed(name: str, sequence: object) -> None:
    if not isinstance(sequence, PackedSequence):
        raise _C.DTypeError(f"{name}: needs a PackedSequence, got {type(sequence).__name__}")


class RecurrentChecks:
    """PyTorch's checks of inputs and states, which ``forward`` of a subclass may call."""

    input_size: int
    hidden_size: int
    num_layers: int
    proj_size: int
    bidirectional: bool
    batch_first: bool

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise unless the input is of the layer: 3 dims, or 2 if it is packed.

        Raises:
            ShapeError: If it is not.
        """
        dims = 3 if batch_sizes is None else 2
        if input.ndim != dims or input.shape[-1] != self.input_size:
            raise _C.ShapeError(
                f"check_input: needs {dims} dims, the last of {self.input_size}, "
                f"got {list(input.shape)}"
            )

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """Return the shape of the state h for an input."""
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.shape[0] if self.batch_first else input.shape[1]
        layers = self.num_layers * (2 if self.bidirectional else 1)
        return layers, batch, self.proj_size or self.hidden_size

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """Return the shape of the state c for an input."""
        return (*self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size)

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raise unless a state has a shape.

        Args:
            msg: The error's text, with places for the shape that is wanted and for the other.

        Raises:
            ShapeError: If it has another.
        """
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise _C.ShapeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise unless the input and the state, or the pair of an LSTM's, fit each other."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        if isinstance(hidden, Tensor):
            self.check_hidden_size(hidden, expected)
            return
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        cell = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], cell, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return a state, or a pair of them, with its batch in another order; None: the same."""
        if permutation is None:
            return hx
        if isinstance(hx, Tensor):
            return hx.index_select(1, permutation)
        return tuple(one.index_select(1, permutation) for one in hx)
