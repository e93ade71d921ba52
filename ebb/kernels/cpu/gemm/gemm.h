// ebb/kernels/cpu/gemm/gemm.h -- the one seam to matrix multiplication libraries: gemm().
//
// Everything that multiplies matrices comes here. Which engine runs a product depends on its dtype
// and shape alone; docs/gemm.md holds the measurements behind the rule. One call runs on one thread
// and may be made from many at once; the callers split the work (matmul.cpp).
#pragma once

#include <cstdint>
#include <optional>

#include "ebb/core/base/dtype.h"
#include "ebb/core/base/export.h"

namespace ebb::kernels::cpu {

/// Where an operand lies: element (row, column) is data[row * row_stride + column * column_stride].
/// A stride along a side of one element says nothing; else one must be 1, and the other as large as
/// that side at least (stored_matrix() decides).
struct MatrixRef {
  const void* data;
  int64_t row_stride;
  int64_t column_stride;
};

/// A matrix as the libraries want it: in lines of elements side by side, `ld` from one to the next,
/// at least a line's elements. The lines are its rows, or its columns if it is turned.
struct StoredMatrix {
  bool is_turned;
  int64_t ld;
};

/// How a matrix is stored, if it is so; nothing if its rows overlap, repeat or lie apart.
constexpr std::optional<StoredMatrix> stored_matrix(const MatrixRef& matrix, int64_t rows,
                                                    int64_t columns) {
  const int64_t row_stride = matrix.row_stride, column_stride = matrix.column_stride;
  if ((column_stride == 1 || columns == 1) && (row_stride >= columns || rows == 1)) {
    return StoredMatrix{false, rows == 1 ? columns : row_stride};
  }
  if ((row_stride == 1 || rows == 1) && (column_stride >= rows || columns == 1)) {
    return StoredMatrix{true, columns == 1 ? rows : column_stride};
  }
  return std::nullopt;
}

/// C (m x n, rows of `ldc` elements) = A (m x k) B (k x n), added to C if `accumulate`.
struct Gemm {
  int64_t m, n, k;
  MatrixRef a, b;
  void* c;
  int64_t ldc;
  bool accumulate;
};

/// Runs a product of float32, float64, complex64 or complex128 matrices; no size is 0.
void gemm(DType dtype, const Gemm& args);

/// The same by plain loops, for integers (which wrap around) and bool (or of ands).
void gemm_integers(DType dtype, const Gemm& args);

/// How both operands of a product are stored. Throws InternalError if the libraries would refuse
/// anything of it: they print a line, compute nothing, and the result is what lay in the memory.
struct StoredOperands {
  StoredMatrix a, b;
};
EBB_API StoredOperands stored_operands(const Gemm& args);

// The engines, for gemm() and for the benchmark that compares them.

/// OpenBLAS, for all four dtypes.
EBB_API void openblas_gemm(DType dtype, const Gemm& args);
/// oneDNN, for float32.
EBB_API void onednn_gemm(const Gemm& args);
/// oneDNN, for bfloat16: C = A B, plus `bias` (n elements, or null) in every row, summed in float32
/// and rounded once. Only where it has_bfloat16_products().
EBB_API void onednn_bfloat16_gemm(const Gemm& args, const void* bias);
/// Whether this processor multiplies bfloat16 itself, and faster than float32, and EBB_ISA allows
/// it. Intel's have AVX512-BF16 for compatibility beside AMX: half the rate of float32
/// (docs/gemm.md).
EBB_API bool has_bfloat16_products();

}  // namespace ebb::kernels::cpu
