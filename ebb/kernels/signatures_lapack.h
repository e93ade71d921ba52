// ebb/kernels/signatures_lapack.h -- the kernels of linear algebra.
//
// All operands are contiguous and have the same leading sizes, those of the batch. A matrix lies
// column by column, as LAPACK wants it: its last size counts the rows, the one before it the
// columns. Those of lapack_lu, _solve, _triangular, _inverse and _det lie row by row. Operands are
// listed beside each kernel (ebb/kernels/cpu/linalg/); most are overwritten.
#pragma once

#include <span>

#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels {

/// `info` has an int32 for each matrix: 0, or what LAPACK says of it. `option` is the kernel's own.
using LapackKernel = void (*)(const Context&, std::span<const TensorView> operands, int64_t option,
                              const TensorView& info);

/// What to do with the triangle of lapack_triangular, bit by bit.
struct TriangleOption {
  static constexpr int64_t kUpper = 1, kUnit = 2;
};

/// What lapack_eigh and lapack_eig do, bit by bit; lapack_svd has vectors or not by its operands.
struct SpectrumOption {
  static constexpr int64_t kVectors = 1, kUpper = 2;
};
/// The info of matrices that are refused, since iterations on NaN need not end.
inline constexpr int kNotFinite = -1;

}  // namespace ebb::kernels
