// ebb/ops/impl/reduce/reduced_shape.h -- the result of a reduction, as kernels and as users see it.
//
// A kernel sees a result that has all dims of the input, of size 1 where reduced; the tensor itself
// may leave them out, which changes no memory.
#pragma once

#include "ebb/ops/impl/creation.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {

/// The result's sizes as kernels see them and as users do.
struct ReducedShape {
  Geometry kept;  // a size of 1 for each reduced dim
  Geometry out;   // the sizes only

  ReducedShape(const Tensor& input, infer::DimMask mask, bool keepdim) {
    const TensorImpl& impl = *input.impl();
    kept.ndim = impl.ndim;
    for (int dim = 0; dim < impl.ndim; ++dim) {
      const bool is_reduced = (mask >> dim & 1) != 0;
      kept.sizes[dim] = is_reduced ? 1 : impl.sizes()[dim];
      if (!is_reduced || keepdim) out.append(kept.sizes[dim], 0);
    }
    contiguous_strides(kept.size_span(), kept.strides);
  }
};

/// The dims of `mask` reduced by the kernel for the dtype of `input`, which the result has.
template <typename Table>
Tensor reduced(const char* op, const Table& table, const Tensor& input, infer::DimMask mask,
               bool keepdim) {
  const auto kernel = kernel_for(op, table, input);
  const ReducedShape shape(input, mask, keepdim);
  Tensor out = empty(shape.out.size_span(), input.dtype(), input.device());
  kernel(context_of(input), view_of(input), shape.kept.over(out));
  return out;
}

/// Throws IndexError if a reduced dim has no elements, of which `op` (or `what` of it) has no
/// value.
inline void check_not_empty(const std::string& what, const Tensor& input, infer::DimMask mask) {
  if (input.numel() != 0) [[likely]]
    return;
  for (int dim = 0; dim < input.ndim(); ++dim) {
    if ((mask >> dim & 1) == 0 || input.size(dim) != 0) continue;
    throw IndexError(
        str(what, " needs at least one element in each reduced dim, got ", infer::describe(input)));
  }
}

}  // namespace ebb::ops::impl
