# python/ebb/func/modules.py -- modules and tensors made fit for transforms of functions.
"""``replace_all_batch_norm_modules_`` and ``debug_unwrap``."""

from __future__ import annotations

from ebb import _C
from ebb._C import Tensor
from ebb.nn.module import Module
from ebb.nn.normalization import _BatchNorm

__all__ = ["debug_unwrap", "replace_all_batch_norm_modules_"]


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Return the tensor: here no function wraps what it passes on.

    Example:
        >>> ebb.func.debug_unwrap(ebb.tensor(3.0))
        tensor(3.)
    """
    del recurse
    if not isinstance(tensor, Tensor):
        raise _C.DTypeError(f"debug_unwrap: needs a Tensor, got {type(tensor).__name__}")
    return tensor


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let all batch norms within a module use the batch's own mean and variance, and return it.

    They lose their running ones, so that a call changes nothing that the module keeps.

    Example:
        >>> net = ebb.nn.Sequential(ebb.nn.BatchNorm1d(2))
        >>> ebb.func.replace_all_batch_norm_modules_(net)[0].running_mean is None
        True
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.track_running_stats = False
            module.running_mean = module.running_var = module.num_batches_tracked = None
    return root
