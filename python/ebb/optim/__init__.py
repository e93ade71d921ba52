# python/ebb/optim/__init__.py -- optimizers, under PyTorch's names.
"""Optimizers, each step one call into C++ per group of parameters, and learning-rate schedules."""

from ebb.optim import lr_scheduler
from ebb.optim.adagrad import Adagrad
from ebb.optim.adam import Adam, AdamW
from ebb.optim.optimizer import Optimizer
from ebb.optim.rmsprop import RMSprop
from ebb.optim.sgd import SGD
from ebb.optim.sparse_adam import SparseAdam

__all__ = [
    "Adagrad",
    "Adam",
    "AdamW",
    "Optimizer",
    "RMSprop",
    "SGD",
    "SparseAdam",
    "lr_scheduler",
]
