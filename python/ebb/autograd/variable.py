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


class _Engine:
    """What programs written for PyTorch call beside ``backward()``."""

    queue_callback = staticmethod(_C.queue_callback)

    @staticmethod
    def is_checkpoint_valid() -> bool:
        """Return True: a checkpointed function may run again in any run."""
        return True

    @staticmethod
    def run_backward(
        tensors: Any, grad_tensors: Any, retain_graph: bool, create_graph: bool, inputs: Any = (),
        allow_unreachable: bool = False, accumulate_grad: bool = False,
    ) -> Any:  # fmt: skip
        """Do as ``backward()`` or, without ``accumulate_grad``, as ``grad()``."""
        if accumulate_grad:
            return _C.backward(
                tensors, grad_tensors, retain_graph, create_graph, inputs=inputs or None
            )
        return _C.grad(
            tensors, inputs, grad_tensors, retain_graph, create_graph,
            allow_unused=allow_unreachable,
        )  # fmt: skip


class Variable(metaclass=_VariableType):
    """A tensor, as PyTorch called one with a gradient before version 0.4.

    >>> ebb.autograd.Variable(ebb.ones(2), requires_grad=True).requires_grad
    True
    """

    _execution_engine = _Engine
