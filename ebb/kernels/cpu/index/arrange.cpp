// ebb/kernels/cpu/index/arrange.cpp -- triangle: matrices with zeros on one side of a diagonal.
//
// Every row is a run of copied elements and a run of zeros.
#include <algorithm>
#include <cstring>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/tables/triangle.h"

namespace ebb::kernels::cpu {
namespace {

/// Columns of `row` that are kept below the diagonal, itself included: from the left.
int64_t kept_below(int64_t row, int64_t diagonal, int64_t columns) {
  if (diagonal >= columns) return columns;
  return std::clamp<int64_t>(row + diagonal + 1, 0, columns);
}

void triangle_kernel(const Context&, const TensorView& input, int64_t diagonal, bool is_upper,
                     const TensorView& out) {
  if (out.numel == 0) return;
  const int64_t height = out.sizes[out.ndim - 2];
  const int64_t width = out.sizes[out.ndim - 1];
  const size_t item = item_size(out.dtype);
  // Nothing is below a diagonal that leaves the matrix; so much of it is enough.
  const int64_t shift = std::clamp(diagonal, -height - 1, width + 1);
  const auto bytes = [&](int64_t columns) { return static_cast<size_t>(columns) * item; };
  parallel_for(
      out.numel / width, std::max<int64_t>(1, kGrain / width), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const char* from = input.as<const char>() + bytes(i * width);
          char* to = out.as<char>() + bytes(i * width);
          // Of the upper triangle's rows, what lies before its diagonal is left out.
          const int64_t split = kept_below(i % height, is_upper ? shift - 1 : shift, width);
          const size_t left = bytes(split), right = bytes(width - split);
          if (is_upper) {
            std::memset(to, 0, left);
            std::memcpy(to + left, from + left, right);
          } else {
            std::memcpy(to, from, left);
            std::memset(to + left, 0, right);
          }
        }
      });
}

}  // namespace

void fill_arrange() {
  for (int i = 0; i < kDTypeCount; ++i) {
    triangle_kernels.set_cpu(static_cast<DType>(i), &triangle_kernel);
  }
}

}  // namespace ebb::kernels::cpu
