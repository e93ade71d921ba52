# python/ebb/autograd/__init__.py -- gradients: backward(), grad(), and whether ops are recorded.
"""Run the recorded graph backwards, and switch recording on and off."""

import importlib
from typing import TYPE_CHECKING

from ebb._base.lazy import LazyPackage
from ebb._C import (
    Node,
    RemovableHandle,
    backward,
    enable_grad,
    grad,
    inference_mode,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    queue_callback,
    set_grad_enabled,
)
from ebb.autograd import forward_ad, graph
from ebb.autograd._run_modes import atomic_accumulation, set_multithreading_enabled
from ebb.autograd.anomaly import (
    check_nan_inf,
    detect_anomaly,
    forget_cuts,
    record_stacks,
    retain_all_grads,
    set_check_nan_inf,
    set_detect_anomaly,
    set_trace_cuts,
    trace_cuts,
)
from ebb.autograd.function import Function, FunctionCtx, once_differentiable
from ebb.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from ebb.autograd.variable import Variable

if TYPE_CHECKING:
    from ebb.autograd import functional
else:
    functional = LazyPackage("ebb.autograd.functional")

__all__ = [
    "Variable",
    "Function",
    "FunctionCtx",
    "GradcheckError",
    "Node",
    "RemovableHandle",
    "atomic_accumulation",
    "backward",
    "check_nan_inf",
    "detect_anomaly",
    "enable_grad",
    "forget_cuts",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "once_differentiable",
    "queue_callback",
    "record_stacks",
    "retain_all_grads",
    "set_check_nan_inf",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "set_trace_cuts",
    "trace_cuts",
]


def __getattr__(name: str) -> object:
    if name == "profiler":  # stands on ebb.profiler, which stands on this
        return importlib.import_module("ebb.autograd.profiler")
    raise AttributeError(f"module 'ebb.autograd' has no attribute {name!r}")
