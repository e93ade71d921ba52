# python/ebb/nn/functional.py -- functions on tensors: layers without state, and losses.
"""The ops that networks use, under PyTorch's names; most are the very functions of ``ebb``."""

from __future__ import annotations

from ebb._C import (
    Tensor,
    add,
    linear,
    log_softmax,
    scaled_dot_product_attention,
    softmax,
    tanh,
)
from ebb._C import dropout as _dropout
from ebb._C import relu as _relu
from ebb.nn._indexed import embedding, one_hot, pad
from ebb.nn.functional_conv import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    avg_pool1d,
    avg_pool2d,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
)
from ebb.nn.functional_loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cosine_similarity,
    cross_entropy,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    nll_loss,
    pairwise_distance,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from ebb.nn.functional_norm import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    normalize,
    rms_norm,
)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "add",
    "avg_pool1d",
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "embedding",
    "gaussian_nll_loss",
    "group_norm",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "linear",
    "log_softmax",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "poisson_nll_loss",
    "relu",
    "relu_",
    "rms_norm",
    "scaled_dot_product_attention",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "tanh",
    "triplet_margin_loss",
]

relu_ = Tensor.relu_


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return max(x, 0), element by element.

    Args:
        inplace: Overwrite the input.
    """
    return relu_(input) if inplace else _relu(input)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set elements to 0 with probability p and scale the others by 1 / (1 - p).

    Args:
        training: Without it the result is the input itself.
        inplace: Overwrite the input.
    """
    out = _dropout(input, p, training)
    return input.copy_(out) if inplace and training and p > 0 else out
