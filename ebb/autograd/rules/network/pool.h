// ebb/autograd/rules/network/pool.h -- gradient rules of pooling (composites/pool.cpp).
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

// `window` has one number per pooled dim.
Tensor max_pool_grad(const Tensor& grad, const Tensor& indices, IntSpan shape, IntSpan window);
Tensor max_pool_jvp(const Tensor& tangent, const Tensor& indices, IntSpan window);
/// The elements of `input` at `indices` into its last dims, flattened.
Tensor max_pool_gather(const Tensor& input, const Tensor& indices, int64_t pooled_dims);

}  // namespace ebb::autograd::rules
