# python/ebb/distributions/utils.py -- what distributions share: broadcast parameters, logits.
"""Parameters that broadcast, probabilities and their logits, values computed when first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ebb
from ebb import Tensor
from ebb.errors import DTypeError, ValueError

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "exactly_one",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]


def broadcast_all(*values: Tensor | float) -> tuple[Tensor, ...]:
    """Return all as tensors of one shape; numbers take the first tensor's dtype and device.

    Example:
        >>> from ebb.distributions import utils
        >>> utils.broadcast_all(ebb.tensor([1.0, 2.0]), 3)
        (tensor([1., 2.]), tensor([3., 3.]))
    """
    tensors = [value for value in values if isinstance(value, Tensor)]
    if not tensors:
        dtype = ebb.get_default_dtype()
        return ebb.broadcast_tensors(*(ebb.tensor(value, dtype=dtype) for value in values))
    like = tensors[0]
    return ebb.broadcast_tensors(
        *(one if isinstance(one, Tensor) else like.new_tensor(one) for one in values)
    )


def clamp_probs(probs: Tensor) -> Tensor:
    """Return probabilities moved off 0 and 1 by the dtype's eps, so that logits are finite.

    Example:
        >>> from ebb.distributions import utils
        >>> bool(utils.clamp_probs(ebb.tensor(1.0)) < 1)
        True
    """
    eps = ebb.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Return probabilities: of 1 if ``is_binary``, else of the categories along the last dim.

    Example:
        >>> from ebb.distributions import utils
        >>> utils.logits_to_probs(ebb.tensor([0.0, 0.0]))
        tensor([0.5000, 0.5000])
        >>> utils.logits_to_probs(ebb.tensor(0.0), is_binary=True)
        tensor(0.5000)
    """
    return ebb.sigmoid(logits) if is_binary else ebb.softmax(logits, -1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return the logits of probabilities, which are clamped to be finite.

    Example:
        >>> from ebb.distributions import utils
        >>> utils.probs_to_logits(ebb.tensor(0.5), is_binary=True)
        tensor(0.)
    """
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property:  # noqa: N801
    """A property that is computed once, with gradient, and then kept as an attribute.

    Example:
        >>> from ebb.distributions import utils
        >>> class Square:
        ...     @utils.lazy_property
        ...     def area(self):
        ...         print("computed")
        ...         return 4.0
        >>> one = Square()
        >>> one.area, one.area
        computed
        (4.0, 4.0)
    """

    def __init__(self, wrapped: Callable[[Any], Any]):
        if not callable(wrapped):
            raise DTypeError(f"lazy_property: needs a function, got {type(wrapped).__name__}")
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with ebb.enable_grad():
            value = self.wrapped(instance)
        instance.__dict__[self.name] = value
        return value


def exactly_one(name: str, **given: object) -> None:
    """Refuse arguments of which not exactly one is given.

    Example:
        >>> from ebb.distributions import utils
        >>> utils.exactly_one("Bernoulli", probs=0.5, logits=None)
        >>> utils.exactly_one("Bernoulli", probs=None, logits=None)
        Traceback (most recent call last):
            ...
        ebb.errors.ValueError: exactly_one: Bernoulli: needs exactly one of probs, logits, got 0
    """
    count = sum(value is not None for value in given.values())
    if count != 1:
        raise ValueError(f"{name}: needs exactly one of {', '.join(given)}, got {count}")


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the lower triangle of matrices, row by row, as vectors.

    Example:
        >>> from ebb.distributions import utils
        >>> utils.tril_matrix_to_vec(ebb.tensor([[1.0, 0.0], [2.0, 3.0]]))
        tensor([1., 2., 3.])
    """
    rows, columns = _triangle(mat.size(-1), diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return matrices with the elements of vectors in their lower triangle, and zeros.

    Example:
        >>> from ebb.distributions import utils
        >>> utils.vec_to_tril_matrix(ebb.tensor([1.0, 2.0, 3.0]))
        tensor([[1., 0.],
                [2., 3.]])
    """
    length = vec.size(-1)
    size = 0
    while len(_triangle(size, diag)[0]) < length:
        size += 1
    rows, columns = _triangle(size, diag)
    if len(rows) != length:
        raise ValueError(f"vec_to_tril_matrix: {length} elements fill no triangle of diag {diag}")
    flat = vec.new_zeros((*vec.shape[:-1], size * size))
    places = vec.new_tensor([r * size + c for r, c in zip(rows, columns, strict=True)])
    places = places.to(ebb.int64).expand(vec.shape)
    return flat.scatter(-1, places, vec).reshape(*vec.shape[:-1], size, size)


def _triangle(size: int, diag: int) -> tuple[list[int], list[int]]:
    """Return rows and columns of a lower triangle, row by row."""
    places = [(row, col) for row in range(size) for col in range(min(row + diag + 1, size))]
    return [row for row, _ in places], [col for _, col in places]
