# python/ebb/optim/__init__.py -- optimizers, under PyTorch's names.
"""Optimizers, each step one call into C++ per group of parameters, and learning-rate schedules.

``swa_utils``, averages of parameters, is imported when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ebb.optim import lr_scheduler
from ebb.optim.adadelta import Adadelta
from ebb.optim.adafactor import Adafactor
from ebb.optim.adagrad import Adagrad
from ebb.optim.adam import Adam, AdamW
from ebb.optim.adam_variants import Adamax, NAdam, RAdam
from ebb.optim.asgd import ASGD
from ebb.optim.lbfgs import LBFGS
from ebb.optim.muon import Muon
from ebb.optim.optimizer import Optimizer
from ebb.optim.rmsprop import RMSprop
from ebb.optim.rprop import Rprop
from ebb.optim.sgd import SGD
from ebb.optim.sparse_adam import SparseAdam

if TYPE_CHECKING:
    from ebb.optim import swa_utils

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]


def __getattr__(name: str) -> Any:
    if name == "swa_utils":
        return importlib.import_module("ebb.optim.swa_utils")
    raise AttributeError(f"module 'ebb.optim' has no attribute {name!r}")
