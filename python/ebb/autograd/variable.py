# python/ebb/autograd/variable.py -- Variable, as programs older than PyTorch 0.4 spell tensors.
"""``ebb.autograd.Variable``."""

from __future__ import annotations

from typing import Any

from ebb import _C
from ebb._C import Tensor

__all__ = ["Variable"]


class _VariableType(type):
    def __instancecheck__(cls, one: object) -> bool:
        return isinstance(one, Tensor)

    def __call__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        del volatile
        if not isinstance(data, Tensor):
            raise _C.DTypeError(f"Variable: 'data' must be Tensor, got {type(data).__name__}")
        return data.detach().requires_grad_() if requires_grad else data


class Variable(metaclass=_VariableType):
    """A tensor, as PyTorch called one with a gradient before version 0.4.

    >>> ebb.autograd.Variable(ebb.ones(2), requires_grad=True).requires_grad
    True
    """
