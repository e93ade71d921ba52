// ebb/autograd/rules/shape.h -- gradient rules of shapes.
#pragma once

#include <span>
#include <vector>

#include "ebb/autograd/rules/sparse_math.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// Zeros for an op that copies its operand: they take the memory of one.
Tensor zeros_to_copy(IntSpan shape, DType dtype, Device device);
Tensor permute_grad(const Tensor& grad, IntSpan dims);
/// `grad` with sizes of 1 in front if `shape` has more dims: what a written value may have had.
Tensor with_leading_ones(const Tensor& grad, IntSpan shape);
/// A written value in the shape that it was written to.
Tensor broadcast_source(const Tensor& value, IntSpan shape);
/// Start, step and size of a box in one row, which a node keeps in one piece.
struct PackedBox {
  int64_t values[3 * kMaxDims];
  size_t count = 0;

  operator IntSpan() const { return {values, count}; }  // NOLINT: it is its values
};
PackedBox packed_box(IntSpan start, IntSpan step, IntSpan size);
Tensor index_box_grad(const Tensor& grad, IntSpan shape, IntSpan box);
Tensor index_box_put_grad_self(const Tensor& grad, IntSpan start, IntSpan step, IntSpan size,
                               IntSpan shape);
/// Where each tensor ends along `dim` once they are joined.
std::vector<int64_t> ends_along(std::span<const Tensor> tensors, int64_t dim);
/// The part of `grad` that belongs to the tensor at `position` of those that were joined.
Tensor cat_grad(const Tensor& grad, size_t position, IntSpan ends, int64_t dim);

}  // namespace ebb::autograd::rules
