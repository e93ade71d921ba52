# python/ebb/optim/__init__.py -- optimizers, under PyTorch's names.
"""SGD, Adam and AdamW; each step is one call into C++ per group of parameters."""

from ebb.optim.adam import Adam, AdamW
from ebb.optim.optimizer import Optimizer
from ebb.optim.sgd import SGD

__all__ = ["Optimizer", "SGD", "Adam", "AdamW"]
