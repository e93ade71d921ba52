# python/ebb/data/batches.py -- cuts tensors of equal length into batches.
"""One pass over data; for several epochs call it once for each."""

from __future__ import annotations

from collections.abc import Iterator

from ebb import _C
from ebb.data.sampler import permutation


def batches(
    *tensors: _C.Tensor, batch_size: int, shuffle: bool = True, drop_last: bool = False
) -> Iterator[tuple[_C.Tensor, ...]]:
    """Yield the rows of all tensors in batches, the same rows of each.

    Args:
        tensors: Tensors whose first dim has the same size.
        batch_size: Rows in a batch; the last may have fewer.
        shuffle: Draw the order anew from the default generator.
        drop_last: Leave out a last batch that is not full.
    Example:
        >>> images, labels = ebb.zeros(4, 2), ebb.arange(4)
        >>> for x, y in ebb.data.batches(images, labels, batch_size=2, shuffle=False):
        ...     print(x.shape, y.tolist())
        ebb.Size([2, 2]) [0, 1]
        ebb.Size([2, 2]) [2, 3]
    """
    if batch_size < 1:
        raise _C.ValueError(f"batches: needs batch_size >= 1, got {batch_size}")
    rows = {len(tensor) for tensor in tensors}
    if len(rows) != 1:
        raise _C.ShapeError(f"batches: needs tensors of equal length, got {sorted(rows)}")
    return _generate(tensors, rows.pop(), batch_size, shuffle, drop_last)


def _generate(
    tensors: tuple[_C.Tensor, ...], rows: int, batch_size: int, shuffle: bool, drop_last: bool
) -> Iterator[tuple[_C.Tensor, ...]]:
    order = _C.tensor(permutation(rows), dtype=_C.int64) if shuffle else None
    for start in range(0, rows, batch_size):
        end = min(start + batch_size, rows)
        if drop_last and end - start < batch_size:
            return
        if order is None:
            yield tuple(tensor[start:end] for tensor in tensors)
        else:
            chosen = order[start:end]
            yield tuple(one.index_select(0, chosen.to(one.device)) for one in tensors)
