# python/ebb/_functions/checks.py -- questions about tensors: what they are, and whether they agree.
"""Small functions written in terms of ops, most of them predicates."""

from __future__ import annotations

import builtins
from typing import Any

import ebb
from ebb._base.arguments import check_callable
from ebb._C import Tensor, _tangent_levels


def is_followed(tensor: Tensor | None) -> builtins.bool:
    """Return whether what is made of the tensor now may be differentiated."""
    if tensor is None:
        return False
    return bool(_tangent_levels(tensor)) or (tensor.requires_grad and ebb.is_grad_enabled())


def check_tensor(function, name, value):
    """Return ``value`` if it is a Tensor."""
    if not isinstance(value, Tensor):
        raise ebb.DTypeError(
            f"{function}(): argument '{name}' must be Tensor, got {type(value).__name__}"
        )
    return value


def is_tensor(obj: Any) -> bool:
    """Return whether ``obj`` is a Tensor.

    Example:
        >>> ebb.is_tensor([1.0])
        False
    """
    return isinstance(obj, Tensor)


def is_floating_point(input: Any) -> bool:
    """Return whether ``input`` has a real floating dtype.

    Example:
        >>> ebb.is_floating_point(ebb.ones(2))
        True
    """
    return check_tensor("is_floating_point", "input", input).is_floating_point()


def is_complex(input: Any) -> bool:
    """Return whether ``input`` has a complex dtype.

    Example:
        >>> ebb.is_complex(ebb.ones(2))
        False
    """
    return check_tensor("is_complex", "input", input).is_complex()


def is_conj(input: Any) -> bool:
    """Return False: conj() is computed at once, never put off.

    Example:
        >>> ebb.is_conj(ebb.tensor([1j]).conj())
        False
    """
    return check_tensor("is_conj", "input", input).is_conj()


def resolve_conj(input: Any) -> Tensor:
    """Return the tensor itself: conj() is computed at once.

    Example:
        >>> ebb.resolve_conj(ebb.tensor([1j]))
        tensor([0.+1.j])
    """
    return check_tensor("resolve_conj", "input", input).resolve_conj()


def resolve_neg(input: Any) -> Tensor:
    """Return the tensor itself: negatives are computed at once.

    Example:
        >>> ebb.resolve_neg(ebb.tensor([1.0]))
        tensor([1.])
    """
    return check_tensor("resolve_neg", "input", input).resolve_neg()


def is_inference(input: Any) -> bool:
    """Return whether the memory of ``input`` was made in inference mode.

    Example:
        >>> ebb.is_inference(ebb.ones(2))
        False
    """
    return check_tensor("is_inference", "input", input).is_inference()


def adjoint(input: Any) -> Tensor:
    """Return a view of the transposed matrices of ``input``, conjugated if they are complex.

    Args:
        input: A tensor of at least 2 dims; the last two are exchanged, as ``input.mH`` does.

    Raises:
        ShapeError: For fewer dims.

    Example:
        >>> ebb.adjoint(ebb.tensor([[1.0, 2.0]])).shape
        ebb.Size([2, 1])
    """
    if check_tensor("adjoint", "input", input).ndim < 2:
        raise ebb.ShapeError(f"adjoint: input needs at least 2 dims, got {list(input.shape)}")
    return input.mH


def numel(input: Any) -> int:
    """Return the number of elements.

    Example:
        >>> ebb.numel(ebb.ones(2, 3))
        6
    """
    return check_tensor("numel", "input", input).numel()


def equal(input: Any, other: Any) -> bool:
    """Return whether two tensors have one shape and equal elements.

    Example:
        >>> ebb.equal(ebb.ones(2), ebb.tensor([1.0, 1.0]))
        True
    """
    if check_tensor("equal", "input", input).shape != check_tensor("equal", "other", other).shape:
        return False
    return _has_no_false(input == other)


def allclose(
    input: Any, other: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False
) -> bool:
    """Return whether all elements are within ``atol + rtol * abs(other)`` of each other.

    Example:
        >>> ebb.allclose(ebb.tensor([1.0]), ebb.tensor([1.0 + 1e-7]))
        True
    """
    check_tensor("allclose", "input", input)
    check_tensor("allclose", "other", other)
    return _has_no_false(ebb.isclose(input, other, rtol, atol, equal_nan))


def _has_no_false(mask):
    return builtins.bool(ebb.logical_not(mask).sum().item() == 0)


def while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Any) -> Any:
    """Return what ``body_fn`` makes of its arguments, over and over while ``cond_fn`` is true.

    Args:
        cond_fn: Takes the inputs and returns a bool, or a tensor of one.
        body_fn: Takes the inputs and returns the next ones, a tuple of as many.
        carried_inputs: The first inputs, a tuple.

    Example:
        >>> ebb.while_loop(lambda i: i < 5, lambda i: (i + 2,), (ebb.tensor(0),))
        (tensor(6),)
    """
    check_callable(cond_fn, body_fn)
    values = tuple(carried_inputs)
    while cond_fn(*values):
        found = body_fn(*values)
        found = tuple(found) if isinstance(found, tuple | list) else (found,)
        if len(found) != len(values):
            raise ebb.errors.ValueError(
                f"while_loop: body_fn must return {len(values)} values, got {len(found)}"
            )
        values = found
    return values


def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    """Return ``true_fn(*operands)`` if ``pred``, a bool or a tensor of one, else ``false_fn``'s.

    Example:
        >>> ebb.cond(True, lambda x: x + 1, lambda x: x - 1, (ebb.ones(2),))
        tensor([2., 2.])
    """
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise ebb.errors.ValueError(f"cond: pred needs one element, got {list(pred.shape)}")
    return (true_fn if builtins.bool(pred) else false_fn)(*operands)


def is_nonzero(input: Any) -> bool:
    """Return whether the only element of ``input`` is not zero.

    Example:
        >>> ebb.is_nonzero(ebb.tensor([3.0]))
        True
    """
    if not isinstance(input, Tensor) or input.numel() != 1:
        shape = list(input.shape) if isinstance(input, Tensor) else type(input).__name__
        raise ebb.errors.ValueError(f"is_nonzero: needs a tensor of one element, got {shape}")
    return input.item() != 0


Tensor.adjoint = adjoint
Tensor.allclose = allclose
Tensor.equal = equal
Tensor.is_nonzero = is_nonzero
