# python/ebb/nn/__init__.py -- modules, layers and losses, under PyTorch's names.
"""What a network is built from.

``Module`` (module.py) keeps parameters, buffers and submodules; layers.py has the layers and the
losses, containers.py the containers, functional.py plain functions, init.py starting values.
"""

from ebb.nn import functional, init
from ebb.nn.containers import ModuleList, Sequential
from ebb.nn.layers import CrossEntropyLoss, Flatten, Identity, Linear, ReLU, Tanh
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter

__all__ = [
    "Module",
    "Parameter",
    "Linear",
    "ReLU",
    "Tanh",
    "Identity",
    "Flatten",
    "CrossEntropyLoss",
    "ModuleList",
    "Sequential",
    "functional",
    "init",
]
