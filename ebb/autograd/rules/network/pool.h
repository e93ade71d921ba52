// ebb/autograd/rules/network/pool.h -- pools by the name of their op, and gradient rules
// (composites/network/pool.cpp).
#pragma once

#include <optional>
#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

using Pair = std::tuple<Tensor, Tensor>;

// Over the last `pooled` dims. All throw ShapeError or ValueError, naming `op`, for other dims.
Tensor pooled_means(const char* op, int pooled, const Tensor& input, IntSpan kernel_size,
                    std::optional<IntSpan> stride, IntSpan padding, bool ceil_mode,
                    bool count_include_pad, std::optional<int64_t> divisor_override);
Pair pooled_maxima(const char* op, int pooled, const Tensor& input, IntSpan kernel_size,
                   std::optional<IntSpan> stride, IntSpan padding, IntSpan dilation,
                   bool ceil_mode);
/// The indices as users see them.
Pair with_long_indices(const Pair& results);
Tensor adaptive_means(const char* op, int pooled, const Tensor& input, IntSpan output_size);
Pair adaptive_maxima(const char* op, int pooled, const Tensor& input, IntSpan output_size);

// `window` has one number per pooled dim.
Tensor max_pool_grad(const Tensor& grad, const Tensor& indices, IntSpan shape, IntSpan window);
Tensor max_pool_jvp(const Tensor& tangent, const Tensor& indices, IntSpan window);
/// The elements of `input` at `indices` into its last dims, flattened.
Tensor max_pool_gather(const Tensor& input, const Tensor& indices, int64_t pooled_dims);

}  // namespace ebb::autograd::rules
