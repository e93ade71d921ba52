# python/ebb/autograd/gradcheck.py -- compares derivatives with finite differences.
#
# The checks are ebb/testing's (python/src/autograd/gradcheck.cpp hands over); here are their
# arguments, under PyTorch's names.
"""gradcheck and gradgradcheck: finite differences against what ebb computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ebb import _C

if TYPE_CHECKING:
    from ebb import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A derivative that does not agree with finite differences.

    Example:
        >>> issubclass(ebb.autograd.GradcheckError, RuntimeError)
        True
    """


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check derivatives of ``func`` with respect to ``inputs`` against central differences.

    Every output with a floating or complex dtype is checked with respect to every input that
    requires a gradient. These must be float64 or complex128, and ``func`` deterministic. Complex
    numbers count as pairs of real ones, so functions need not be holomorphic.

    Args:
        func: Takes ``inputs`` as arguments and returns a tensor or several.
        inputs: One tensor, or a sequence of tensors and other arguments.
        eps: Step of the central difference.
        atol: Absolute tolerance.
        rtol: Relative tolerance: ``|a - n| <= atol + rtol * |n|``.
        raise_exception: Raise ``GradcheckError`` on disagreement; otherwise return False.
        nondet_tol: By how much a second backward may differ from the first.
        check_undefined_grad: Also check that outputs without a gradient count as zero.
        check_grad_dtypes: Also check that gradients have the dtype of their inputs.
        check_batched_grad: Also check that several seeds given at once (``is_grads_batched``) give
            the gradients of each.
        check_batched_forward_grad: Also check that several directions that go through ``func`` at
            once, each on a level of its own, give the tangents of each.
        check_forward_ad: Also check tangents, computed on dual tensors.
        check_backward_ad: Check gradients.
        fast_mode: One random direction per pair of input and output instead of all elements; a
            disagreement is then looked for element by element.
        masked: Accepted. It tells how what a sparse tensor lacks counts, and there are none.

    Returns:
        True if all derivatives agree, False if not and ``raise_exception`` is False.

    Raises:
        GradcheckError: With output, input, first and worst element, both values and a map.
        ebb.DTypeError: If an input to check is neither float64 nor complex128.
        ValueError: If no input requires a gradient, elements of inputs overlap in memory, or a
            batched check is asked for without the plain one.

    Example:
        >>> x = ebb.ones(2, dtype=ebb.float64, requires_grad=True)
        >>> ebb.autograd.gradcheck(lambda x: x * x, (x,))
        True
    """
    options = locals()
    return _passes(_C._gradcheck(func, _as_tuple(inputs), options), raise_exception)


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    check_rev_over_fwd: bool = False,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check second derivatives: ``gradcheck`` of the function that computes the gradients.

    Args:
        func: Takes ``inputs`` as arguments and returns a tensor or several.
        inputs: One tensor, or a sequence of tensors and other arguments.
        grad_outputs: Gradients of the outputs; drawn at random if not given.
        eps: Step of the central difference.
        atol: Absolute tolerance.
        rtol: Relative tolerance.
        gen_non_contig_grad_outputs: Draw gradients that are not contiguous.
        raise_exception: Raise ``GradcheckError`` on disagreement; otherwise return False.
        nondet_tol: By how much a second backward may differ from the first.
        check_undefined_grad: Also check that gradients not given count as zero.
        check_grad_dtypes: Also check that gradients have the dtype of their inputs.
        check_batched_grad: As in ``gradcheck``, for the gradients of the gradients.
        check_fwd_over_rev: Also check tangents of the gradients.
        check_rev_over_rev: Check gradients of the gradients.
        check_rev_over_fwd: Also check gradients of the tangents, along random directions.
        fast_mode: One random direction per pair instead of all elements.
        masked: Accepted. It tells how what a sparse tensor lacks counts, and there are none.

    Returns:
        True if all second derivatives agree, False if not and ``raise_exception`` is False.

    Raises:
        GradcheckError: As ``gradcheck`` does.

    Example:
        >>> x = ebb.ones(2, dtype=ebb.float64, requires_grad=True)
        >>> ebb.autograd.gradgradcheck(lambda x: x * x * x, (x,))
        True
    """
    options = locals()
    seeds = () if grad_outputs is None else _as_tuple(grad_outputs)
    mistake = _C._gradgradcheck(func, _as_tuple(inputs), seeds, options)
    return _passes(mistake, raise_exception)


def _passes(mistake: str | None, raise_exception: bool) -> bool:
    if mistake is not None and raise_exception:
        raise GradcheckError(mistake)
    return mistake is None


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, _C.Tensor) or not isinstance(value, Iterable):
        return (value,)
    return tuple(value)
