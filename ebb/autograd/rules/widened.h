// ebb/autograd/rules/widened.h -- half types in float32, for what they cannot compute in.
#pragma once

#include "ebb/autograd/ops/cast.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Half types know neither squares of large numbers nor a small eps: they are cast to float32. No
/// tensor stays none.
inline Tensor widened(const Tensor& input) {
  return input.defined() && is_half(input.dtype()) ? cast(input, DType::float32) : input;
}

}  // namespace ebb::autograd
