# python/ebb/nn/_indexed.py -- functions that networks use to look up and to put around: embedding,
# one_hot, pad.
"""Parts of ``ebb.nn.functional`` that index or rearrange."""

from __future__ import annotations

from collections.abc import Sequence

from ebb import _C
from ebb._C import NotImplementedError as _NotImplementedError
from ebb._C import Tensor
from ebb._C import ValueError as _ValueError


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return the rows of ``weight`` that ``input``, integers of any shape, names.

    Args:
        padding_idx: A row that gets no gradient; negative counts from the last.
        max_norm, scale_grad_by_freq, sparse: Not supported; only their defaults are.
    """
    del norm_type
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise _NotImplementedError(
            "embedding: needs max_norm None, scale_grad_by_freq False and sparse False, got "
            f"{max_norm}, {scale_grad_by_freq} and {sparse}"
        )
    if padding_idx is None:
        return _C.embedding(weight, input)
    rows = weight.shape[0] if weight.ndim > 0 else 0
    if not -rows <= padding_idx < rows:
        raise _ValueError(
            f"embedding: padding_idx must be from {-rows} to {rows - 1}, got {padding_idx}"
        )
    return _C.embedding(weight, input, padding_idx % rows)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return int64 zeros with a one at each class, in a new last dim.

    Args:
        num_classes: Its size; -1 means one more than the largest class.
    """
    return _C._ops.one_hot(tensor, num_classes)


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Return ``input`` with more around it.

    Args:
        pad: Counts before and after the last dim, then the one before it, and so on.
        mode: "constant" (of ``value``, 0 unless given; negative counts cut off), "reflect",
            "replicate" or "circular".
    """
    return _C._ops.pad(input, pad, mode, value)
