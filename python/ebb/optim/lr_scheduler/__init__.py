# python/ebb/optim/lr_scheduler/__init__.py -- learning-rate schedules, under PyTorch's names.
"""Each changes ``lr``, and some the momentum, in the optimizer's groups whenever it is stepped.

base.py has the base class, factors.py the schedules that are a factor of the starting rate,
cycles.py those with restarts and cycles, combine.py schedules of schedules, plateau.py the one that
watches a loss.
"""

from ebb.optim.lr_scheduler.base import LRScheduler
from ebb.optim.lr_scheduler.combine import ChainedScheduler, SequentialLR
from ebb.optim.lr_scheduler.cycles import CosineAnnealingWarmRestarts, OneCycleLR
from ebb.optim.lr_scheduler.factors import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from ebb.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
