// ebb/nn/init.h -- fills tensors with starting values, under PyTorch's names.
//
// Random ones draw from default_generator(). All write in place without being recorded and return
// their argument.
#pragma once

#include "ebb/core/tensor.h"

namespace ebb::nn::init {

/// Uniform in [low, high).
EBB_API const Tensor& uniform_(const Tensor& tensor, double low = 0.0, double high = 1.0);
EBB_API const Tensor& normal_(const Tensor& tensor, double mean = 0.0, double std = 1.0);
EBB_API const Tensor& ones_(const Tensor& tensor);
EBB_API const Tensor& zeros_(const Tensor& tensor);

/// Uniform in [-b, b) with b = sqrt(6 / ((1 + a^2) * fan_in)), as for leaky ReLU of slope `a`.
/// Throws ShapeError for fewer than 2 dims.
EBB_API const Tensor& kaiming_uniform_(const Tensor& tensor, double a = 0.0);

/// Inputs that feed one output: the sizes of all dims but the first, multiplied.
EBB_API int64_t fan_in(const Tensor& tensor);

}  // namespace ebb::nn::init
