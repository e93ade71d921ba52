// ebb/ops/impl/stretched.h -- each element of a stretched tensor once, for checks of values.
//
// An expanded tensor may have more elements than a program could ever look at: those that lie at
// one place in memory are the same.
#pragma once

#include "ebb/ops/impl/shape.h"

namespace ebb::ops::impl {

/// A view of `values` with one place of each dim along which nothing moves in memory.
inline Tensor without_repeats(const Tensor& values) {
  Shape start = values.shape(), step = start, size = start;
  for (int dim = 0; dim < values.ndim(); ++dim) {
    start[dim] = 0;
    step[dim] = 1;
    if (values.strides()[dim] == 0 && size[dim] > 1) size[dim] = 1;
  }
  return index_box(values, start, step, size, size);
}

}  // namespace ebb::ops::impl
