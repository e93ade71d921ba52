// ebb/kernels/cpu/reduce/reduce_plan.h -- the dims of a reduction, split into kept and reduced
// ones.
//
// Both groups are in the order of input's memory, outermost first, and dims that lie behind each
// other are merged. What remains decides how the reduction runs: along rows, if the innermost dim
// is reduced, or down columns, if it is kept.
#pragma once

#include <cstdint>

#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels::cpu {

/// Some dims of a loop with up to two sets of strides.
struct LoopDims {
  // One more than a tensor may have: complex numbers are read as pairs.
  static constexpr int kMax = kMaxDims + 1;

  int ndim = 0;
  int64_t count = 1;  // product of the sizes
  int64_t sizes[kMax];
  int64_t in_strides[kMax];   // in elements
  int64_t out_strides[kMax];  // of kept dims

  void push_back(int64_t size, int64_t in_stride, int64_t out_stride);
  int64_t in_offset(int64_t index) const { return offset(index, in_strides); }
  int64_t out_offset(int64_t index) const { return offset(index, out_strides); }
  int64_t inner_size() const { return ndim == 0 ? 1 : sizes[ndim - 1]; }
  int64_t inner_stride() const { return ndim == 0 ? 1 : in_strides[ndim - 1]; }
  /// These dims as the view of one operand that starts at `data`.
  TensorView view_at(const void* data, DType dtype) const;
  /// All but the innermost dim.
  LoopDims outer() const;

 private:
  int64_t offset(int64_t index, const int64_t* strides) const {
    if (ndim <= 1) return ndim == 0 ? 0 : index * strides[0];
    int64_t sum = 0;
    for (int dim = ndim - 1; dim >= 0; --dim) {
      sum += index % sizes[dim] * strides[dim];
      index /= sizes[dim];
    }
    return sum;
  }
};

struct ReducePlan {
  LoopDims kept;
  LoopDims reduced;
  bool is_by_column = false;  // the innermost kept dim is dense in input

  /// Plans to reduce `input` to `out` (same ndim; size 1 where reduced). With `as_pairs`, elements
  /// are complex numbers and the plan is for their real parts and imaginary parts.
  ReducePlan(const TensorView& input, const TensorView& out, bool as_pairs);
};

}  // namespace ebb::kernels::cpu
