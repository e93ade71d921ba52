// ebb/autograd/rules/activation.h -- gradient rules of activation functions.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

// `weight` times the second derivative at `input`.
Tensor silu_second(const Tensor& weight, const Tensor& input);
Tensor gelu_erf_second(const Tensor& weight, const Tensor& input);
Tensor gelu_tanh_second(const Tensor& weight, const Tensor& input);
Tensor mish_second(const Tensor& weight, const Tensor& input);
Tensor softplus_grad(const Tensor& grad, const Tensor& input, const Scalar& beta,
                     const Scalar& threshold);

}  // namespace ebb::autograd::rules
