# python/ebb/autograd/__init__.py -- gradients: backward(), grad(), and whether ops are recorded.
"""Run the recorded graph backwards, and switch recording on and off."""

from ebb._C import (
    Node,
    backward,
    enable_grad,
    grad,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from ebb.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = [
    "GradcheckError",
    "Node",
    "backward",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
