# python/ebb/nn/functional/basic.py -- linear maps and dropout of ebb.nn.functional.
"""Ops of the table under PyTorch's signatures, and functions that are made of them."""

from __future__ import annotations

from ebb import _C
from ebb._C import Tensor, _ops, linear

__all__ = ["bilinear", "dropout", "dropout1d", "dropout2d", "dropout3d", "linear"]


bilinear = _ops.bilinear


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set elements to 0 with probability ``p`` and scale the others by ``1 / (1 - p)``.

    Args:
        input: A floating tensor.
        p: The probability.
        training: Otherwise the input is returned as it is.
        inplace: Overwrite the input.
    """
    result = _C.dropout(input, p, training)
    return input.copy_(result) if inplace and result is not input else result


def _channel_dropout(
    op: str, ranks: tuple[int, int], input: Tensor, p: float, training: bool, inplace: bool
) -> Tensor:
    """Drop whole channels: all of a sample's dims but the first."""
    if input.ndim not in ranks:
        raise _C.ShapeError(
            f"{op}: needs an input of {ranks[0]} or {ranks[1]} dims, got shape {list(input.shape)}"
        )
    leading = tuple(input.shape[: input.ndim - ranks[0] + 1])
    ones = _C.ones((*leading, *(1,) * (ranks[0] - 1)), dtype=input.dtype)
    factors = _C.dropout(ones, p, training)
    if not training or p == 0:
        return input
    return input.mul_(factors) if inplace else input * factors


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Drop whole channels of ``[N, C, L]`` or ``[C, L]``; see ``dropout``."""
    return _channel_dropout("dropout1d", (2, 3), input, p, training, inplace)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Drop whole channels of ``[N, C, H, W]`` or ``[C, H, W]``; see ``dropout``."""
    return _channel_dropout("dropout2d", (3, 4), input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Drop whole channels of ``[N, C, D, H, W]`` or ``[C, D, H, W]``; see ``dropout``."""
    return _channel_dropout("dropout3d", (4, 5), input, p, training, inplace)
