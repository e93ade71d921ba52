# python/ebb/nn/functional/index.py -- embedding, embedding_bag, one_hot, pad of nn.functional.
"""Parts of ``ebb.nn.functional`` that index or rearrange: embedding, one_hot, pad."""

from __future__ import annotations

from collections.abc import Sequence

from ebb import _C
from ebb._C import NotImplementedError as _NotImplementedError, Tensor, ValueError as _ValueError

__all__ = ["embedding", "embedding_bag", "one_hot", "pad"]


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
        max_norm: Rows that are looked up and longer than this are first scaled to it, in place.
        norm_type: The order of that norm.
        scale_grad_by_freq: Whether the gradient of each row is divided by how often ``input`` names
            it; not for sparse gradients.
        sparse: Whether the gradient of ``weight`` is a selected_rows tensor: the rows that were
            looked up, and not zeros for all others.

    Example:
        >>> weight = ebb.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]])
        >>> ebb.nn.functional.embedding(ebb.tensor([2, 1]), weight)
        tensor([[3., 4.],
                [1., 2.]])
    """
    if max_norm is not None:
        _bound_rows(weight, input, max_norm, norm_type)
    if scale_grad_by_freq:
        weight = _view_to_scale("embedding", weight, sparse)
    look_up = _C._ops.embedding_sparse if sparse else _C.embedding
    padding = () if padding_idx is None else (_padding_row("embedding", weight, padding_idx),)
    out = look_up(weight, input, *padding)
    if scale_grad_by_freq:
        _scale_gradient(weight, input)
    return out


def _padding_row(op: str, weight: Tensor, padding_idx: int) -> int:
    rows = weight.shape[0] if weight.ndim > 0 else 0
    if not -rows <= padding_idx < rows:
        raise _ValueError(
            f"{op}: padding_idx must be from {-rows} to {rows - 1}, got {padding_idx}"
        )
    return padding_idx % rows


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Return the sum, mean or max of the rows of ``weight`` that each bag names.

    Args:
        input: Bags as rows [B, L], or all bags one behind the other.
        offsets: Where each bag begins, if ``input`` has one dim.
        max_norm: Rows that are looked up and longer than this are first scaled to it, in place.
        norm_type: The order of that norm.
        scale_grad_by_freq: Whether the gradient of each row is divided by how often ``input`` names
            it; not for sparse gradients, nor for mode "max".
        mode: "sum", "mean" or "max"; of an empty bag, zeros.
        sparse: Whether the gradient of ``weight`` is a selected_rows tensor: the rows that count,
            and not zeros for all others. Not for mode "max".
        per_sample_weights: Factors of the rows, in the shape of ``input``, for sums.
        include_last_offset: Whether the last of ``offsets`` is where the last bag ends.
        padding_idx: A row that does not count; negative counts from the last.

    Example:
        >>> weight = ebb.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]])
        >>> ebb.nn.functional.embedding_bag(ebb.tensor([[2, 1]]), weight, mode="sum")
        tensor([[4., 6.]])
    """
    if max_norm is not None:
        _bound_rows(weight, input, max_norm, norm_type)
    if scale_grad_by_freq:
        if mode == "max":
            raise _ValueError(
                "embedding_bag: needs mode 'sum' or 'mean' with scale_grad_by_freq, got 'max'"
            )
        weight = _view_to_scale("embedding_bag", weight, sparse)
    padding = -1 if padding_idx is None else _padding_row("embedding_bag", weight, padding_idx)
    out = _C._ops.embedding_bag(
        weight, input, offsets, mode, per_sample_weights, include_last_offset, padding, sparse
    )
    if scale_grad_by_freq:
        _scale_gradient(weight, input)
    return out


def _view_to_scale(op: str, weight: Tensor, sparse: bool) -> Tensor:
    """Return a view of ``weight``, whose gradient ``_scale_gradient`` divides."""
    if sparse:
        raise _NotImplementedError(f"{op}: needs sparse False with scale_grad_by_freq, got True")
    return weight.view(weight.shape)


def _scale_gradient(view: Tensor, rows: Tensor) -> None:
    """Divide gradients of rows by how often ``rows``, of which none is bad, names them."""
    if not view.requires_grad:
        return
    counts = _C.bincount(rows.reshape(-1), None, view.shape[0]).clamp(min=1)
    divisors = counts.unsqueeze(1).to(_C.float64 if view.dtype == _C.float64 else _C.float32)
    view.register_hook(lambda grad: (grad / divisors).to(grad.dtype))


def _bound_rows(weight: Tensor, rows: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows of ``weight`` that are looked up to at most ``max_norm``, unrecorded."""
    if not norm_type > 0:
        raise _ValueError(f"embedding: needs norm_type > 0, got {norm_type}")
    with _C.no_grad():
        _C.embedding(weight, rows)  # refuses bad rows before anything is written
        for row in sorted(set(rows.reshape(-1).tolist())):
            values = weight[row]
            norm = _C.norm(values, norm_type).item()
            if norm > max_norm:
                values.mul_(max_norm / (norm + 1e-7))


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return int64 zeros with a one at each class, in a new last dim.

    Args:
        num_classes: Its size; -1 means one more than the largest class.

    Example:
        >>> ebb.nn.functional.one_hot(ebb.tensor([0, 2]), 3)
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    return _C._ops.one_hot(tensor, num_classes)


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Return ``input`` with more around it.

    Args:
        pad: Counts before and after the last dim, then the one before it, and so on.
            Negative counts cut off.
        mode: "constant" (of ``value``, 0 unless given), "reflect", "replicate" or "circular".

    Example:
        >>> ebb.nn.functional.pad(ebb.tensor([1.0, 2.0]), (1, 2), value=9.0)
        tensor([9., 1., 2., 9., 9.])
    """
    return _C._ops.pad(input, pad, mode, value)
