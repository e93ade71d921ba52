# python/ebb/nn/functional/__init__.py -- functions on tensors: layers without state, and losses.
"""The ops that networks use, under PyTorch's names; most are the very functions of ``ebb``."""

from __future__ import annotations

from ebb._C import add, scaled_dot_product_attention
from ebb.nn.functional import (
    activation,
    adaptive,
    added_options,
    attention,
    basic,
    conv,
    index,
    loss,
    norm,
    resize,
    unpool,
)
from ebb.nn.functional.activation import *
from ebb.nn.functional.adaptive import *
from ebb.nn.functional.added_options import *
from ebb.nn.functional.attention import *
from ebb.nn.functional.basic import *
from ebb.nn.functional.conv import *
from ebb.nn.functional.index import *
from ebb.nn.functional.loss import *
from ebb.nn.functional.norm import *
from ebb.nn.functional.resize import *
from ebb.nn.functional.unpool import *

__all__ = ["add", "scaled_dot_product_attention"]
__all__ += activation.__all__
__all__ += adaptive.__all__
__all__ += added_options.__all__
__all__ += attention.__all__
__all__ += basic.__all__
__all__ += conv.__all__
__all__ += index.__all__
__all__ += loss.__all__
__all__ += norm.__all__
__all__ += resize.__all__
__all__ += unpool.__all__
