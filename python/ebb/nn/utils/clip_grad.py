# python/ebb/nn/utils/clip_grad.py -- bounds gradients before a step.
"""Both take all parameters in one call into ebb/nn/clip_grad.cpp, and skip those without one."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ebb import _C
from ebb._base.deprecation import deprecated
from ebb._base.signature import takes


def _bound(
    parameters: _C.Tensor | Iterable[_C.Tensor],
    max_norm: float,
    norm_type: float | str = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> tuple[object, ...]:
    del foreach
    return _as_list(parameters), max_norm, _order(norm_type), error_if_nonfinite


@takes(_bound)
def clip_grad_norm_(*bound: object) -> _C.Tensor:
    """Scale all gradients, in place, so that their common norm is at most ``max_norm``.

    Args:
        parameters: Parameters, or one.
        max_norm: The bound.
        norm_type: The norm's order; ``inf`` or "inf" takes the largest element.
        error_if_nonfinite: Refuse a norm that is inf or nan.
        foreach: Taken for PyTorch's sake.

    Returns:
        The norm before, as a tensor without dims. It is summed in float64, and float32 at least;
        PyTorch rounds the norm of each gradient to its dtype, so half types differ in the last
        bits.

    Example:
        >>> x = ebb.tensor([3.0, 4.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> ebb.nn.utils.clip_grad_norm_([x], 1.0)
        tensor(10.)
    """
    return _C._clip_grad_norm(*bound)


@deprecated("nn.utils.clip_grad_norm", instead="nn.utils.clip_grad_norm_", since="0.1.0")
@takes(_bound)
def clip_grad_norm(*bound: object) -> _C.Tensor:
    """Do what ``clip_grad_norm_`` does; an older spelling.

    Example:
        >>> weight = ebb.ones(2, requires_grad=True)
        >>> weight.grad = ebb.tensor([3.0, 4.0])
        >>> ebb.nn.utils.clip_grad_norm_(weight, 1.0).item()
        5.0
    """
    return _C._clip_grad_norm(*bound)


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

    Example:
        >>> x = ebb.tensor([3.0, 4.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> ebb.nn.utils.clip_grad_value_([x], 7.0)
        >>> x.grad
        tensor([6., 7.])
    """
    _C._clip_grad_value(_as_list(parameters), clip_value)


def _order(norm_type: float | str) -> float:
    return math.inf if norm_type == "inf" else norm_type  # type: ignore[return-value]


def _as_list(parameters: _C.Tensor | Iterable[_C.Tensor]) -> list[_C.Tensor]:
    return [parameters] if isinstance(parameters, _C.Tensor) else list(parameters)


def get_total_norm(
    tensors: _C.Tensor | Iterable[_C.Tensor],
    norm_type: float | str = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> _C.Tensor:
    """Return the common norm of all tensors, without dims.

    Args:
        tensors: Tensors, usually gradients.
        norm_type: The norm's order; ``inf`` or "inf" takes the largest element.
        error_if_nonfinite: Refuse a norm that is inf or nan.
        foreach: Taken for PyTorch's sake.

    Example:
        >>> ebb.nn.utils.get_total_norm([ebb.tensor([3.0]), ebb.tensor([4.0])])
        tensor(5.)
    """
    given = _as_list(tensors)
    norm_type = _order(norm_type)
    norms = [_C.norm(one, norm_type) for one in given]
    total = _C.norm(_C.stack(norms), norm_type) if norms else _C.zeros([])
    if error_if_nonfinite and not total.isfinite().item():
        raise _C.NonFiniteError(
            f"get_total_norm: needs a finite norm of order {norm_type}, got {total.item()}"
        )
    return total


def clip_grads_with_norm_(
    parameters: _C.Tensor | Iterable[_C.Tensor],
    max_norm: float,
    total_norm: _C.Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale all gradients, in place, by ``max_norm / total_norm`` if that is below 1.

    Args:
        parameters: Parameters, or one.
        max_norm: The bound.
        total_norm: The norm of all gradients, as ``get_total_norm`` returns it.
        foreach: Taken for PyTorch's sake.

    Example:
        >>> x = ebb.tensor([3.0, 4.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> ebb.nn.utils.clip_grads_with_norm_([x], 1.0, ebb.nn.utils.get_total_norm([x.grad]))
        >>> x.grad
        tensor([0.6000, 0.8000])
    """
    with _C.no_grad():
        factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
        for parameter in _as_list(parameters):
            if parameter.grad is not None:
                parameter.grad.mul_(factor.to(parameter.grad.dtype))
