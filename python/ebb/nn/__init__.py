# python/ebb/nn/__init__.py -- modules, layers and losses, under PyTorch's names.
"""What a network is built from.

``Module`` (module.py) keeps parameters, buffers and submodules; README.md says which file has which
layers. functional/ has plain functions, init.py starting values.
"""

import sys as _sys

from ebb._base.lazy import LazyPackage as _LazyPackage
from ebb.nn import (
    activations,
    channels,
    class_losses,
    dropout,
    folding,
    functional,
    init,
    lazy,
    linear,
    losses,
    norms,
    padding,
    parallel,
    pooling,
    responses,
    unpooling,
    utils,
)
from ebb.nn.activations import *
from ebb.nn.attention import MultiheadAttention
from ebb.nn.channels import *
from ebb.nn.class_losses import *
from ebb.nn.containers import ModuleDict, ModuleList, Sequential
from ebb.nn.conversion import factory_kwargs
from ebb.nn.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from ebb.nn.dropout import *
from ebb.nn.embedding import Embedding, EmbeddingBag
from ebb.nn.folding import *
from ebb.nn.global_hooks import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from ebb.nn.layers import Flatten, Identity, Softmax2d, Unflatten
from ebb.nn.lazy import *
from ebb.nn.linear import *
from ebb.nn.losses import *
from ebb.nn.module import Module
from ebb.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    CrossMapLRN2d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from ebb.nn.norms import *
from ebb.nn.padding import *
from ebb.nn.parallel import *
from ebb.nn.parameter import (
    Buffer,
    Parameter,
    UninitializedBuffer,
    UninitializedParameter,
)
from ebb.nn.parameter_containers import ParameterDict, ParameterList
from ebb.nn.pooling import *
from ebb.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNBase, RNNCell, RNNCellBase
from ebb.nn.responses import *
from ebb.nn.transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from ebb.nn.unpooling import *

grad: _LazyPackage = _LazyPackage("ebb.nn.grad")
modules: _LazyPackage = _LazyPackage("ebb.nn.modules")
_sys.modules["ebb.nn.upsampling"] = folding  # pickles of ebb before 0.2 name it

__all__ = [
    "Module",
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "Flatten",
    "Identity",
    "Unflatten",
    "Softmax2d",
    "ModuleDict",
    "ModuleList",
    "Sequential",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Embedding",
    "EmbeddingBag",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "CrossMapLRN2d",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "GRU",
    "LSTM",
    "RNN",
    "GRUCell",
    "LSTMCell",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
    "MultiheadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "ParameterDict",
    "ParameterList",
    "factory_kwargs",
    "functional",
    "init",
    "utils",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
]
__all__ += activations.__all__
__all__ += channels.__all__
__all__ += class_losses.__all__
__all__ += dropout.__all__
__all__ += folding.__all__
__all__ += lazy.__all__
__all__ += linear.__all__
__all__ += losses.__all__
__all__ += norms.__all__
__all__ += padding.__all__
__all__ += parallel.__all__
__all__ += pooling.__all__
__all__ += responses.__all__
__all__ += unpooling.__all__
