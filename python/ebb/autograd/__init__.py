# python/ebb/autograd/__init__.py -- gradients: backward(), grad(), and whether ops are recorded.
"""Run the recorded graph backwards, and switch recording on and off."""

from ebb._C import (
    Node,
    RemovableHandle,
    backward,
    enable_grad,
    grad,
    is_grad_enabled,
    is_multithreading_enabled,
    no_grad,
    queue_callback,
    set_grad_enabled,
)
from ebb.autograd import graph
from ebb.autograd._accumulation import atomic_accumulation
from ebb.autograd._threads import set_multithreading_enabled
from ebb.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = [
    "GradcheckError",
    "Node",
    "RemovableHandle",
    "atomic_accumulation",
    "backward",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "is_grad_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "queue_callback",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
