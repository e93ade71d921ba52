# python/ebb/utils/scipy.py -- SciPy's minimisers, with exact gradients and Hessian products.
"""``minimize``; needs the package ``scipy``, which is imported at the first call."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from ebb import _C, autograd
from ebb._base import naming as _naming

__all__ = ["minimize"]

# Methods that want the product of the Hessian and a vector.
_WITH_PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")
# Methods that look at values only.
_WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")

Point = _C.Tensor | Sequence[_C.Tensor]


def minimize(
    fun: Callable[..., _C.Tensor],
    x0: Point,
    args: tuple[Any, ...] = (),
    method: str | None = None,
    *,
    callback: Callable[[Point], object] | None = None,
    **options: Any,
) -> Any:
    """Minimise a function of tensors by ``scipy.optimize.minimize``.

    Gradients come from ``backward``, products of the Hessian and a vector from a second one, for
    the methods that want them. SciPy computes in float64, ``fun`` in the dtypes of ``x0``.

    Args:
        fun: Returns one number, of a tensor as ``x0``, or of as many as that has.
        x0: Where to begin: a floating tensor, or a list of them.
        args: Passed to ``fun`` behind those.
        method: The minimiser's name, such as "BFGS" or "Newton-CG"; SciPy chooses if None.
        callback: Called after each iteration with the present point.
        options: Others that SciPy takes, such as ``bounds``, ``tol`` and ``options``.
    Returns:
        What SciPy returns, with ``x`` as a tensor, or a list of them, like ``x0``.
    Example:
        >>> from importlib.util import find_spec
        >>> if find_spec("scipy") is not None:
        ...     found = ebb.utils.scipy.minimize(lambda x: (x - 3).square().sum(), ebb.zeros(2))
        ...     assert ebb.allclose(found.x, ebb.tensor(3.0), atol=1e-3)
    """
    try:
        optimize = importlib.import_module("scipy.optimize")
    except ImportError:
        raise _C.NotImplementedError(
            "minimize: needs the package scipy, got none\nhint: pip install scipy"
        ) from None
    problem = _Problem(fun, x0, args)
    name = (method or "").lower()
    if name in _WITH_PRODUCTS and not {"hess", "hessp"} & options.keys():
        options["hessp"] = problem.product
    if name in _WITHOUT_GRADIENT:
        call, has_gradient = problem.value, None
    else:
        call, has_gradient = problem.value_and_gradient, True
    if callback is not None:
        options["callback"] = lambda x, *state: callback(problem.point(x))
    found = optimize.minimize(call, problem.start, method=method, jac=has_gradient, **options)
    found.x = problem.point(found.x)
    return found


class _Problem:
    """A function of tensors as one of a vector."""

    def __init__(self, fun: Callable[..., _C.Tensor], x0: Point, args: tuple[Any, ...]):
        self._fun = fun
        self._args = args
        self._is_one = isinstance(x0, _C.Tensor)
        self._like = [x0] if self._is_one else list(x0)
        if not self._like or not all(
            isinstance(one, _C.Tensor) and one.is_floating_point() for one in self._like
        ):
            raise _C.DTypeError("minimize: needs x0 as a floating Tensor or a list of them")
        self.start = self._vector(self._like)

    @staticmethod
    def _vector(tensors: Sequence[_C.Tensor]) -> Any:
        flat = [one.detach().cpu().double().reshape(-1) for one in tensors]
        return _C.cat(flat).numpy()

    def _tensors(self, x: Any) -> list[_C.Tensor]:
        whole = _C.tensor(x, dtype=_C.float64)
        sizes = [one.numel() for one in self._like]
        return [
            part.reshape(like.shape).to(like.device, like.dtype)
            for part, like in zip(whole.split(sizes), self._like, strict=True)
        ]

    def point(self, x: Any) -> Point:
        """Return a vector as what ``x0`` was."""
        found = self._tensors(x)
        return found[0] if self._is_one else found

    def value(self, x: Any) -> float:
        """Return the function's value."""
        with _C.no_grad():
            return float(self._fun(*self._tensors(x), *self._args))

    def _recorded(self, x: Any) -> tuple[list[_C.Tensor], _C.Tensor]:
        tensors = [one.detach().requires_grad_() for one in self._tensors(x)]
        value = self._fun(*tensors, *self._args)
        if not isinstance(value, _C.Tensor) or value.numel() != 1:
            raise _C.DTypeError("minimize: needs a function that returns a Tensor of one element")
        return tensors, value

    def value_and_gradient(self, x: Any) -> tuple[float, Any]:
        """Return the value, and its gradient as a vector."""
        with _C.enable_grad():
            tensors, value = self._recorded(x)
            grads = autograd.grad(value, tensors, allow_unused=True)
        return float(value.item()), self._vector(_whole(grads, tensors))

    def product(self, x: Any, direction: Any) -> Any:
        """Return the Hessian's product with a direction."""
        with _C.enable_grad():
            tensors, value = self._recorded(x)
            grads = autograd.grad(value, tensors, create_graph=True, allow_unused=True)
            pairs = zip(_whole(grads, tensors), self._tensors(direction), strict=True)
            slope = sum((grad * part).sum() for grad, part in pairs)
            if not slope.requires_grad:  # of a linear function
                return self._vector([_C.zeros_like(one) for one in tensors])
            found = autograd.grad(slope, tensors, allow_unused=True)
        return self._vector(_whole(found, tensors))


def _whole(grads: Sequence[Any], tensors: Sequence[_C.Tensor]) -> list[_C.Tensor]:
    """Return gradients, zero for what the function does not use."""
    pairs = zip(grads, tensors, strict=True)
    return [_C.zeros_like(one) if grad is None else grad for grad, one in pairs]


_naming.name_module(__name__)
