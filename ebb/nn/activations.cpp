// ebb/nn/activations.cpp -- activation functions: the arithmetic is in the ops.
#include "ebb/nn/activations.h"

#include "ebb/autograd/ops.h"

namespace ebb::nn {

Tensor ReLU::forward(const Tensor& input) { return relu(input); }
Tensor ReLU6::forward(const Tensor& input) { return relu6(input); }
Tensor LeakyReLU::forward(const Tensor& input) { return leaky_relu(input, negative_slope_); }
Tensor ELU::forward(const Tensor& input) { return elu(input, alpha_); }
Tensor GELU::forward(const Tensor& input) { return gelu(input, approximate_); }
Tensor SiLU::forward(const Tensor& input) { return silu(input); }
Tensor Sigmoid::forward(const Tensor& input) { return sigmoid(input); }
Tensor Tanh::forward(const Tensor& input) { return tanh(input); }
Tensor Softplus::forward(const Tensor& input) { return softplus(input, beta_, threshold_); }
Tensor Softmax::forward(const Tensor& input) { return softmax(input, dim_); }
Tensor LogSoftmax::forward(const Tensor& input) { return log_softmax(input, dim_); }

}  // namespace ebb::nn
