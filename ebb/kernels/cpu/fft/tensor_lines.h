// ebb/kernels/cpu/fft/tensor_lines.h -- the lines of a tensor along one dim: LinesOfTensor.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels::cpu {

struct LinesOfTensor {
  LinesOfTensor(const TensorView& view, int dim)
      : data(view.data),
        size(view.ndim == 0 ? 1 : view.sizes[dim]),
        step(view.ndim == 0 ? 1 : view.strides[dim]),
        is_complex(view.dtype == DType::complex64 || view.dtype == DType::complex128) {
    for (int other = 0; other < view.ndim; ++other) {
      if (other == dim) continue;
      sizes[static_cast<size_t>(ndim)] = view.sizes[other];
      strides[static_cast<size_t>(ndim++)] = view.strides[other];
    }
  }

  int64_t count() const {
    int64_t product = 1;
    for (int dim = 0; dim < ndim; ++dim) product *= sizes[static_cast<size_t>(dim)];
    return product;
  }

  /// Where line number `line` begins, in elements.
  int64_t offset(int64_t line) const {
    int64_t found = 0;
    for (int dim = ndim - 1; dim >= 0; --dim) {
      const auto i = static_cast<size_t>(dim);
      found += line % sizes[i] * strides[i];
      line /= sizes[i];
    }
    return found;
  }

  /// Brings the dims of both into the order in which these lines lie in memory.
  void sort_with(LinesOfTensor& other) {
    for (int end = ndim; end > 1; --end) {
      for (int dim = 1; dim < end; ++dim) {
        const auto i = static_cast<size_t>(dim);
        if (std::abs(strides[i - 1]) >= std::abs(strides[i])) continue;
        std::swap(strides[i - 1], strides[i]);
        std::swap(sizes[i - 1], sizes[i]);
        std::swap(other.strides[i - 1], other.strides[i]);
        std::swap(other.sizes[i - 1], other.sizes[i]);
      }
    }
  }

  void* data;
  int ndim = 0;
  std::array<int64_t, kMaxDims> sizes, strides;
  int64_t size, step;
  bool is_complex;
};

}  // namespace ebb::kernels::cpu
