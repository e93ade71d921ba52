// ebb/ops/impl/shape.h -- bodies of the ops that look at memory in another way, join it or cut it.
//
// Views share storage; only cat, index_box_backward and a reshape that no strides can express copy.
// A box is a start, a step and a count per dim of a tensor: what basic indexing selects.
#pragma once

#include <span>
#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

EBB_API Tensor reshape(const Tensor& input, IntSpan shape);
EBB_API Tensor view(const Tensor& input, IntSpan shape);
/// The bytes as elements of another dtype; no view, since no gradient passes.
EBB_API Tensor view(const Tensor& input, DType dtype);
EBB_API Tensor transpose(const Tensor& input, int64_t dim0, int64_t dim1);
EBB_API Tensor permute(const Tensor& input, IntSpan dims);
EBB_API Tensor expand(const Tensor& input, IntSpan size);

/// The box of `input`; `shape` is the counts with some sizes of 1 left out or put in.
EBB_API Tensor index_box(const Tensor& input, IntSpan start, IntSpan step, IntSpan size,
                         IntSpan shape);
/// Zeros of `input_shape` with `grad` in the box.
EBB_API Tensor index_box_backward(const Tensor& grad, IntSpan input_shape, IntSpan start,
                                  IntSpan step, IntSpan size);
/// Writes `value`, broadcast to `shape`, into the box of `self`.
EBB_API const Tensor& index_box_put_(const Tensor& self, const Tensor& value, IntSpan start,
                                     IntSpan step, IntSpan size, IntSpan shape);

EBB_API Tensor cat(std::span<const Tensor> tensors, int64_t dim);
/// Tensors of one shape joined along a new dim.
EBB_API Tensor stack(std::span<const Tensor> tensors, int64_t dim);
/// Straight into `out`, unless its dtype differs or it may share elements with a tensor: then the
/// result is copied there.
EBB_API const Tensor& cat_out(std::span<const Tensor> tensors, int64_t dim, const Tensor& out);
EBB_API const Tensor& stack_out(std::span<const Tensor> tensors, int64_t dim, const Tensor& out);
/// Views of consecutive parts along dim; the sizes must add up.
EBB_API std::vector<Tensor> split(const Tensor& input, IntSpan sizes, int64_t dim);

/// Views of all slices along dim, without that dim.
EBB_API std::vector<Tensor> unbind(const Tensor& input, int64_t dim);

}  // namespace ebb::ops::impl
