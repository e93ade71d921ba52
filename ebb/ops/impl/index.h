// ebb/ops/impl/index.h -- bodies of the ops that take a tensor of indices.
//
// Indices are int64 or int32, must not be negative, and are checked before anything is written.
#pragma once

#include <span>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

/// out[i][j] = input[index[i][j]][j] for dim 0, and so on.
EBB_API Tensor gather(const Tensor& input, int64_t dim, const Tensor& index);
/// The slices of input that a 1-d (or 0-d) index names, in its order.
EBB_API Tensor index_select(const Tensor& input, int64_t dim, const Tensor& index);
// index_dims.cpp: indices that count the elements of several dims in row-major order.

/// The places of elements that are not zero: as one number each, and as rows of an index per dim.
EBB_API Tensor flatnonzero(const Tensor& input);
EBB_API Tensor nonzero(const Tensor& input);
/// Indices of dims with `sizes`, broadcast to `shape`, as one that counts over all these dims.
EBB_API Tensor flat_index(std::span<const Tensor> indices, IntSpan sizes, IntSpan shape);
/// Reads what a flat index over `dims` names.
EBB_API Tensor index_dims(const Tensor& input, IntSpan dims, const Tensor& index);
/// Zeros of `input_shape` with `grad` added there.
EBB_API Tensor index_dims_backward(const Tensor& grad, IntSpan input_shape, IntSpan dims,
                                   const Tensor& index);
EBB_API const Tensor& index_dims_put_(const Tensor& self, const Tensor& value, IntSpan dims,
                                      const Tensor& index, bool accumulate);

/// The rows of `weight` that indices of any shape name.
EBB_API Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx);
/// The same: only their gradients differ.
inline Tensor embedding_sparse(const Tensor& weight, const Tensor& indices, int64_t padding_idx) {
  return embedding(weight, indices, padding_idx);
}
EBB_API Tensor embedding_backward(const Tensor& grad, const Tensor& indices, int64_t count,
                                  int64_t padding_idx);

}  // namespace ebb::ops::impl
