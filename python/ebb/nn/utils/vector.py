# python/ebb/nn/utils/vector.py -- parameters as one long vector, and back.
"""Both keep the order of the parameters."""

from __future__ import annotations

from collections.abc import Iterable

from ebb import _C


def parameters_to_vector(parameters: Iterable[_C.Tensor]) -> _C.Tensor:
    """Return all elements of the parameters, one after the other; recorded like ``cat``.

    Example:
        >>> ebb.nn.utils.parameters_to_vector(ebb.nn.Linear(2, 3).parameters()).shape
        ebb.Size([9])
    """
    return _C.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: _C.Tensor, parameters: Iterable[_C.Tensor]) -> None:
    """Copy the elements of ``vec`` into the parameters, without recording it.

    Example:
        >>> layer = ebb.nn.Linear(2, 1)
        >>> ebb.nn.utils.vector_to_parameters(ebb.tensor([1.0, 2.0, 3.0]), layer.parameters())
        >>> layer.bias
        Parameter containing:
        tensor([3.], requires_grad=True)
    """
    if not isinstance(vec, _C.Tensor):
        raise _C.DTypeError(f"vector_to_parameters: needs a Tensor, got {type(vec).__name__}")
    targets = list(parameters)
    count = sum(parameter.numel() for parameter in targets)
    if tuple(vec.shape) != (count,):
        raise _C.ShapeError(
            f"vector_to_parameters: needs a vector of {count} elements, got {list(vec.shape)}"
        )
    with _C.no_grad():
        start = 0
        for parameter in targets:
            end = start + parameter.numel()
            parameter.copy_(vec[start:end].reshape(tuple(parameter.shape)))
            start = end
