// ebb/ops/impl/strided.h -- bodies of the ops that take strides: any region of memory, read,
// written and summed into; windows that overlap.
#pragma once

#include <optional>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

/// A view of the memory of `input`. `storage_offset` counts from the start of the storage; without
/// one it is that of `input`. Throws ValueError unless the region lies within the storage.
EBB_API Tensor as_strided(const Tensor& input, IntSpan size, IntSpan stride,
                          std::optional<int64_t> storage_offset);
/// A copy of `input` with its strides, and with `src` where as_strided() would look.
EBB_API Tensor as_strided_scatter(const Tensor& input, const Tensor& src, IntSpan size,
                                  IntSpan stride, std::optional<int64_t> storage_offset);
/// `length` zeros to which the elements of `grad` are added, each at its place by `stride`.
EBB_API Tensor strided_sum(const Tensor& grad, int64_t length, IntSpan stride, int64_t offset);

/// A view of all windows of `size` elements along a dim, whose elements are a new last dim.
EBB_API Tensor unfold_dim(const Tensor& input, int64_t dimension, int64_t size, int64_t step);
/// The sum of what windows hold of each element of `input_shape`.
EBB_API Tensor unfold_dim_backward(const Tensor& grad, IntSpan input_shape, int64_t dimension,
                                   int64_t size, int64_t step);

}  // namespace ebb::ops::impl
