# python/ebb/nn/utils/clip_grad.py -- bounds gradients before a step.
"""Both take all parameters in one call into ebb/nn/clip_grad.cpp, and skip those without one."""

from __future__ import annotations

from collections.abc import Iterable

from ebb import _C


def clip_grad_norm_(
    parameters: _C.Tensor | Iterable[_C.Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> _C.Tensor:
    """Scale all gradients, in place, so that their common norm is at most ``max_norm``.

    Args:
        parameters: Parameters, or one.
        max_norm: The bound.
        norm_type: The norm's order; ``inf`` takes the largest element.
        error_if_nonfinite: Refuse a norm that is inf or nan.
        foreach: Taken for PyTorch's sake.

    Returns:
        The norm before, as a tensor without dims.
    """
    return _C._clip_grad_norm(_as_list(parameters), max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(
    parameters: _C.Tensor | Iterable[_C.Tensor],
    clip_value: float,
    foreach: bool | None = None,
) -> None:
    """Move every element of the gradients, in place, into ``[-clip_value, clip_value]``.

    Args:
        parameters: Parameters, or one.
        clip_value: The bound.
        foreach: Taken for PyTorch's sake.
    """
    _C._clip_grad_value(_as_list(parameters), clip_value)


def _as_list(parameters: _C.Tensor | Iterable[_C.Tensor]) -> list[_C.Tensor]:
    return [parameters] if isinstance(parameters, _C.Tensor) else list(parameters)
