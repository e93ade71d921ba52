// ebb/ops/impl/linalg/matmul.h -- bodies of matmul and linear.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

/// PyTorch's rules: vectors are rows on the left and columns on the right, leading dims broadcast.
EBB_API Tensor matmul(const Tensor& input, const Tensor& other);

/// input @ weight^T + bias, for an input of any number of dims; `bias` may be undefined.
EBB_API Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias);

}  // namespace ebb::ops::impl
