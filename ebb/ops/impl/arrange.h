// ebb/ops/impl/arrange.h -- bodies of the ops that put elements in another order or leave some out.
//
// All but diagonal copy: what is a reversed, shifted or cut view here is one only to a kernel.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

/// A view of the diagonal of two dims, which becomes the last dim.
EBB_API Tensor diagonal(const Tensor& input, int64_t offset, int64_t dim1, int64_t dim2);
/// Zeros of `input_shape` with `grad` on that diagonal.
EBB_API Tensor diagonal_backward(const Tensor& grad, IntSpan input_shape, int64_t offset,
                                 int64_t dim1, int64_t dim2);

EBB_API Tensor flip(const Tensor& input, IntSpan dims);
/// Without dims all elements are one row.
EBB_API Tensor roll(const Tensor& input, IntSpan shifts, IntSpan dims);
/// `pad` holds two counts for each of the last dims, the last first; a negative one cuts off.
EBB_API Tensor constant_pad_nd(const Tensor& input, IntSpan pad, const Scalar& value);

EBB_API Tensor tril(const Tensor& input, int64_t diagonal);
EBB_API Tensor triu(const Tensor& input, int64_t diagonal);
EBB_API const Tensor& tril_(const Tensor& self, int64_t diagonal);
EBB_API const Tensor& triu_(const Tensor& self, int64_t diagonal);

}  // namespace ebb::ops::impl
