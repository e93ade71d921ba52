# python/ebb/nn/parameter.py -- Parameter: a tensor that modules register.
"""A leaf tensor that is part of a module's state."""

from __future__ import annotations

from ebb._C import Tensor, empty


class Parameter(Tensor):
    """A tensor that becomes a module's parameter when it is assigned to an attribute.

    Args:
        data: The values; the parameter shares their memory.
        requires_grad: Whether gradients are wanted.
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """Make a leaf over the memory of ``data``."""
        return Tensor._make_subclass(cls, empty(0) if data is None else data, requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()
