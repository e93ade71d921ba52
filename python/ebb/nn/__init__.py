# python/ebb/nn/__init__.py -- modules, layers and losses, under PyTorch's names.
"""What a network is built from.

``Module`` (module.py) keeps parameters, buffers and submodules; README.md says which file has which
layers. functional/ has plain functions, init.py starting values.
"""

from ebb.nn import activations, dropout, folding, functional, init, losses, pooling, utils
from ebb.nn.activations import *
from ebb.nn.attention import MultiheadAttention
from ebb.nn.containers import ModuleDict, ModuleList, Sequential
from ebb.nn.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from ebb.nn.dropout import *
from ebb.nn.embedding import Embedding
from ebb.nn.folding import *
from ebb.nn.global_hooks import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from ebb.nn.layers import Bilinear, Flatten, Identity, Linear, PReLU, Unflatten
from ebb.nn.losses import *
from ebb.nn.module import Module
from ebb.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    RMSNorm,
)
from ebb.nn.parameter import Parameter
from ebb.nn.parameter_containers import ParameterDict, ParameterList
from ebb.nn.pooling import *
from ebb.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from ebb.nn.transformer import (
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

__all__ = [
    "Module",
    "Parameter",
    "Bilinear",
    "Flatten",
    "Identity",
    "Linear",
    "Unflatten",
    "PReLU",
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
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "RMSNorm",
    "GRU",
    "LSTM",
    "RNN",
    "GRUCell",
    "LSTMCell",
    "RNNCell",
    "MultiheadAttention",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "ParameterDict",
    "ParameterList",
    "functional",
    "init",
    "utils",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
]
__all__ += activations.__all__
__all__ += dropout.__all__
__all__ += folding.__all__
__all__ += losses.__all__
__all__ += pooling.__all__
