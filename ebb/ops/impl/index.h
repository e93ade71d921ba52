// ebb/ops/impl/index.h -- bodies of the ops that take a tensor of indices.
//
// Indices are int64 or int32, must not be negative, and are checked before anything is written.
#pragma once

#include "ebb/core/tensor.h"

namespace ebb::ops::impl {

/// out[i][j] = input[index[i][j]][j] for dim 0, and so on.
EBB_API Tensor gather(const Tensor& input, int64_t dim, const Tensor& index);
/// A copy of input to which src is added at the places that gather would read.
EBB_API Tensor scatter_add(const Tensor& input, int64_t dim, const Tensor& index,
                           const Tensor& src);
EBB_API const Tensor& scatter_add_(const Tensor& self, int64_t dim, const Tensor& index,
                                   const Tensor& src);

/// The slices of input that a 1-d (or 0-d) index names, in its order.
EBB_API Tensor index_select(const Tensor& input, int64_t dim, const Tensor& index);
/// A copy of input with alpha times each slice of source added to the slice that index names.
EBB_API Tensor index_add(const Tensor& input, int64_t dim, const Tensor& index,
                         const Tensor& source, const Scalar& alpha);
EBB_API const Tensor& index_add_(const Tensor& self, int64_t dim, const Tensor& index,
                                 const Tensor& source, const Scalar& alpha);

}  // namespace ebb::ops::impl
