# python/ebb/optim/lr_scheduler/__init__.py -- learning-rate schedules, under PyTorch's names.
"""Each changes ``lr``, and some the momentum, in the optimizer's groups whenever it is stepped.

base.py has the base class, factors.py the schedules that are a factor of the starting rate,
cycles.py those with restarts and one cycle, cyclic.py the one with many, momentum.py what they do
to the momentum, combine.py schedules of schedules, plateau.py the one that watches a loss.
"""

from ebb.optim.lr_scheduler.base import LRScheduler
from ebb.optim.lr_scheduler.combine import ChainedScheduler, SequentialLR
from ebb.optim.lr_scheduler.cycles import CosineAnnealingWarmRestarts, OneCycleLR
from ebb.optim.lr_scheduler.cyclic import CyclicLR
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
from ebb.optim.optimizer import Optimizer as Optimizer

_LRScheduler = LRScheduler  # an older spelling

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
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

_LRScheduler = LRScheduler  # its name before PyTorch 2.0
