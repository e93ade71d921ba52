// ebb/kernels/cpu/index/row_pieces.h -- tensors of any strides in pieces of their rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels::cpu {

/// One operand's strides along the loop over out, and the place where the loop stands.
struct Walk {
  int64_t strides[kMaxDims];
  int64_t offset = 0;

  Walk(const TensorView& view, int ndim, int skipped_dim) {
    for (int dim = 0; dim < ndim; ++dim) {
      strides[dim] = dim == skipped_dim ? 0 : view.strides[dim];
    }
  }
  /// Goes to row number `row` of a tensor with these sizes; a row is the innermost dim.
  void go_to(int64_t row, const TensorView& shape) {
    offset = 0;
    for (int dim = shape.ndim - 2; dim >= 0; --dim) {
      offset += row % shape.sizes[dim] * strides[dim];
      row /= shape.sizes[dim];
    }
  }
};

/// Pieces of rows: of out's rows, or of parts of very long ones.
struct RowPieces {
  int64_t inner, parts, rows;

  explicit RowPieces(const TensorView& out)
      : inner(out.ndim == 0 ? 1 : out.sizes[out.ndim - 1]),
        parts((inner - 1) / kGrain + 1),
        rows(out.numel / inner) {}
  /// Calls body(row, begin, end) for every piece, in parallel where that pays.
  template <class Body>
  void run(Body body) const {
    const int64_t grain = std::max<int64_t>(1, kGrain / std::min(inner, kGrain));
    parallel_for(rows * parts, grain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t begin = i % parts * kGrain;
        body(i / parts, begin, std::min(inner, begin + kGrain));
      }
    });
  }
};

}  // namespace ebb::kernels::cpu
