// ebb/autograd/rules/widened.h -- half types in float32, for what they cannot compute in; integers
// in the default dtype.
#pragma once

#include "ebb/autograd/ops/cast.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Half types know neither squares of large numbers nor a small eps: they are cast to float32. No
/// tensor stays none.
inline Tensor widened(const Tensor& input) {
  return input.defined() && is_half(input.dtype()) ? cast(input, DType::float32) : input;
}

/// Integers and bool in the default dtype, for what divides or takes roots. No tensor stays none.
inline Tensor in_default_dtype(const Tensor& input) {
  const bool has_fractions = !input.defined() || is_differentiable(input.dtype());
  return has_fractions ? input : cast(input, default_dtype());
}

}  // namespace ebb::autograd
