// ebb/ops/impl/network/pool.h -- bodies of the pooling ops: one to three pooled dims behind any
// others.
//
// Lists have one number per pooled dim. Indices are int32: places in the pooled dims, flattened.
#pragma once

#include <optional>
#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

EBB_API Tensor avg_pool(const Tensor& input, IntSpan kernel_size, IntSpan stride, IntSpan padding,
                        bool ceil_mode, bool count_include_pad,
                        std::optional<int64_t> divisor_override);
EBB_API Tensor avg_pool_backward(const Tensor& grad, IntSpan input_shape, IntSpan kernel_size,
                                 IntSpan stride, IntSpan padding, bool ceil_mode,
                                 bool count_include_pad, std::optional<int64_t> divisor_override);

EBB_API Tensor adaptive_avg_pool(const Tensor& input, IntSpan output_size);
EBB_API Tensor adaptive_avg_pool_backward(const Tensor& grad, IntSpan input_shape,
                                          IntSpan output_size);

EBB_API std::tuple<Tensor, Tensor> max_pool(const Tensor& input, IntSpan kernel_size,
                                            IntSpan stride, IntSpan padding, IntSpan dilation,
                                            bool ceil_mode);
EBB_API std::tuple<Tensor, Tensor> adaptive_max_pool(const Tensor& input, IntSpan output_size);
EBB_API Tensor max_pool_backward(const Tensor& grad, const Tensor& indices, IntSpan input_shape,
                                 int64_t pooled_dims);

}  // namespace ebb::ops::impl
