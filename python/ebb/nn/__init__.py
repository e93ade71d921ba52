# python/ebb/nn/__init__.py -- modules, layers and losses, under PyTorch's names.
"""What a network is built from.

``Module`` (module.py) keeps parameters, buffers and submodules; layers.py has the layers and the
losses, containers.py the containers, functional.py plain functions, init.py starting values.
"""

from ebb.nn import functional, init, utils
from ebb.nn.containers import ModuleDict, ModuleList, Sequential
from ebb.nn.layers import CrossEntropyLoss, Flatten, Identity, Linear, ReLU, Tanh
from ebb.nn.module import Module
from ebb.nn.parameter import Parameter
from ebb.nn.parameter_containers import ParameterDict, ParameterList

__all__ = [
    "Module",
    "Parameter",
    "Linear",
    "ReLU",
    "Tanh",
    "Identity",
    "Flatten",
    "CrossEntropyLoss",
    "ModuleDict",
    "ModuleList",
    "ParameterDict",
    "ParameterList",
    "Sequential",
    "functional",
    "init",
    "utils",
]
