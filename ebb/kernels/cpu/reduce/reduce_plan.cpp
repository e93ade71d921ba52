// ebb/kernels/cpu/reduce/reduce_plan.cpp -- sorts and merges the dims of a reduction.
#include "ebb/kernels/cpu/reduce/reduce_plan.h"

#include <algorithm>
#include <cstdlib>

namespace ebb::kernels::cpu {

void LoopDims::push_back(int64_t size, int64_t in_stride, int64_t out_stride) {
  count *= size;
  const int last = ndim - 1;
  if (ndim > 0 && in_strides[last] == in_stride * size && out_strides[last] == out_stride * size) {
    sizes[last] *= size;
    in_strides[last] = in_stride;
    out_strides[last] = out_stride;
    return;
  }
  sizes[ndim] = size;
  in_strides[ndim] = in_stride;
  out_strides[ndim++] = out_stride;
}

TensorView LoopDims::view_at(const void* data, DType dtype) const {
  TensorView view;
  view.data = const_cast<void*>(data);
  view.sizes = sizes;
  view.strides = in_strides;
  view.numel = count;
  view.ndim = static_cast<uint8_t>(ndim);
  view.dtype = dtype;
  view.contiguous = false;  // not asked for: the reader looks at the strides
  return view;
}

LoopDims LoopDims::outer() const {
  LoopDims rest = *this;
  if (ndim == 0) return rest;
  --rest.ndim;
  rest.count = count / sizes[ndim - 1];
  return rest;
}

ReducePlan::ReducePlan(const TensorView& input, const TensorView& out, bool as_pairs) {
  uint8_t order[kMaxDims];
  const int ndim = input.ndim;
  for (int dim = 0; dim < ndim; ++dim) order[dim] = static_cast<uint8_t>(dim);
  if (!input.contiguous) {
    std::stable_sort(order, order + ndim, [&](uint8_t lhs, uint8_t rhs) {
      return std::abs(input.strides[lhs]) > std::abs(input.strides[rhs]);
    });
  }
  const int64_t scale = as_pairs ? 2 : 1;
  for (int i = 0; i < ndim; ++i) {
    const int dim = order[i];
    const int64_t size = input.sizes[dim];
    if (size == 1) continue;
    const bool is_reduced = out.sizes[dim] == 1;
    const int64_t in_stride = input.strides[dim] * scale;
    if (is_reduced) {
      reduced.push_back(size, in_stride, 0);
    } else {
      kept.push_back(size, in_stride, out.strides[dim] * scale);
    }
  }
  if (as_pairs) kept.push_back(2, 1, 1);
  const bool has_dense_rows = reduced.ndim > 0 && reduced.inner_stride() == 1;
  is_by_column = kept.ndim > 0 && kept.inner_stride() == 1 && !has_dense_rows;
}

}  // namespace ebb::kernels::cpu
