// ebb/kernels/cpu/gemm.h -- the one seam to matrix multiplication libraries: gemm().
//
// Everything that multiplies matrices comes here. Which engine runs a product depends on its dtype
// and shape alone; docs/gemm.md holds the measurements behind the rule. One call runs on one thread
// and may be made from many at once; the callers split the work (matmul.cpp).
#pragma once

#include <cstdint>

#include "ebb/core/dtype.h"
#include "ebb/core/export.h"

namespace ebb::kernels::cpu {

/// Where an operand lies: element (row, column) is data[row * row_stride + column * column_stride].
/// Either column_stride is 1 and row_stride at least the number of columns, or the other way round.
struct MatrixRef {
  const void* data;
  int64_t row_stride;
  int64_t column_stride;
};

/// C (m x n, rows of `ldc` elements) = A (m x k) B (k x n), added to C if `accumulate`.
/// The transpose of a matrix stored in rows of `columns` elements, `stride` apart.
inline MatrixRef turned(const void* data, int64_t rows, int64_t columns, int64_t stride) {
  // A column of elements side by side is a row of them, and must be given as one.
  const bool is_line = columns == 1 && stride == 1;
  return is_line ? MatrixRef{data, rows, 1} : MatrixRef{data, 1, stride};
}

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

// The engines, for gemm() and for the benchmark that compares them.

/// OpenBLAS, for all four dtypes.
EBB_API void openblas_gemm(DType dtype, const Gemm& args);
/// oneDNN, for float32.
EBB_API void onednn_gemm(const Gemm& args);

}  // namespace ebb::kernels::cpu
