# python/ebb/_dtypes.py -- which dtype operands give together, and which may be cast to which.
"""Promotion of dtypes, asked of the ops themselves."""

from ebb import _C
from ebb._C import Tensor


def _asked(name, value):
    """Return ``value`` if it is a dtype."""
    if not isinstance(value, _C.dtype):
        raise _C.DTypeError(f"{name}: needs a dtype, got {type(value).__name__}")
    return value


def promote_types(type1, type2):
    """Return the dtype that tensors of two dtypes give together.

    Example:
        >>> ebb.promote_types(ebb.int32, ebb.float16)
        ebb.float16
    """
    parts = [_C.empty((0,), dtype=_asked("promote_types", one)) for one in (type1, type2)]
    return result_type(*parts)


def result_type(tensor1, tensor2):
    """Return the dtype that two operands give together; either may be a number.

    Example:
        >>> ebb.result_type(ebb.ones(2, dtype=ebb.int32), 1.5)
        ebb.float32
    """
    if not isinstance(tensor1, Tensor) and not isinstance(tensor2, Tensor):
        tensor1 = _C.full((), tensor1)
    empty = [_C.empty((0,) * bool(one.ndim), dtype=one.dtype) if isinstance(one, Tensor) else one
             for one in (tensor1, tensor2)]  # fmt: skip
    # Unlike sums, this takes every dtype.
    return _C.where(_C.empty((0,), dtype=_C.bool), *empty).dtype


def can_cast(from_, to):
    """Return whether ``to`` is of as high a kind as ``from_``: bool, integer, real, complex.

    Example:
        >>> ebb.can_cast(ebb.float32, ebb.int64)
        False
    """
    kinds = [
        3 if one.is_complex else 2 if one.is_floating_point else int(one is not _C.bool)
        for one in (_asked("can_cast", from_), _asked("can_cast", to))
    ]
    return kinds[0] <= kinds[1]


def is_nonzero(input):
    """Return whether the only element of ``input`` is not zero.

    Example:
        >>> ebb.is_nonzero(ebb.tensor([3.0]))
        True
    """
    if not isinstance(input, Tensor) or input.numel() != 1:
        shape = list(input.shape) if isinstance(input, Tensor) else type(input).__name__
        raise _C.ValueError(f"is_nonzero: needs a tensor of one element, got {shape}")
    return input.item() != 0


Tensor.is_nonzero = is_nonzero
