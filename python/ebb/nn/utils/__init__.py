# python/ebb/nn/utils/__init__.py -- gradients bounded, parameters as one vector.
"""Functions over many parameters at once, under PyTorch's names."""

from ebb.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_
from ebb.nn.utils.vector import parameters_to_vector, vector_to_parameters

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "vector_to_parameters"]
