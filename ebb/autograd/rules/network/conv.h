// ebb/autograd/rules/network/conv.h -- gradient rules of convolutions (composites/conv.cpp).
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// The sum over all dims but the channels.
Tensor convolution_grad_bias(const Tensor& grad);
Tensor convolution_jvp_bias(const Tensor& tangent, IntSpan shape);

}  // namespace ebb::autograd::rules
