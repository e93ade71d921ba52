# python/ebb/nn/parameter.py -- Parameter: a tensor that modules register.
"""A leaf tensor that is part of a module's state."""

from __future__ import annotations

from ebb._C import Tensor, _make_parameter


class Parameter(Tensor):
    """A tensor that becomes a module's parameter when it is assigned to an attribute.

    Args:
        data: The values; the parameter shares their memory.
        requires_grad: Whether gradients are wanted.
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """Make a leaf over the memory of ``data``."""
        if data is None:
            from ebb import empty

            data = empty(0)
        return _make_parameter(cls, data, requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]
