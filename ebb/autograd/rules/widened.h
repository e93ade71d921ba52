// ebb/autograd/rules/widened.h -- half types in float32, for what they cannot compute in; integers
// in the default dtype.
#pragma once

#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/div.h"
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

/// The dtype that a number or a count beside tensors of `dtype` is kept in.
inline DType widened(DType dtype) { return is_half(dtype) ? DType::float32 : dtype; }

/// `wide`, computed in float32 for tensors of a half type, in that type again.
inline Tensor narrowed(const Tensor& wide, DType dtype) {
  return is_half(dtype) && wide.dtype() != dtype ? cast(wide, dtype) : wide;
}

/// Each element of `sums` over how many were added up, which a half type may not hold.
inline Tensor over_counts(const Tensor& sums, const Tensor& counts) {
  if (!is_half(sums.dtype())) return div(sums, counts);
  return cast(div(widened(sums), cast(counts, DType::float32)), sums.dtype());
}

}  // namespace ebb::autograd
