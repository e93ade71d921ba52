// ebb/ops/impl/linalg/linalg.h -- triangular factors and what follows from them: operands checked
// and copied, then LAPACK.
//
// Results that hold matrices lie in memory column by column. An `info` has an int32 for each matrix
// of the batch: 0, or what LAPACK says of it.
#pragma once

#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

/// The factor L, and info.
EBB_API std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& A, bool upper,
                                                      bool check_errors);
/// Both factors in one matrix, pivots, info.
EBB_API std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(const Tensor& A, bool pivot,
                                                               bool check_errors);
/// Where each row of L U comes from, or its inverse.
EBB_API Tensor lu_rows(const Tensor& pivots, int64_t rows, bool inverse);
EBB_API std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors);
/// The solution of A X = B for matrices B; both factors of A; pivots; info.
EBB_API std::tuple<Tensor, Tensor, Tensor, Tensor> lu_solution(const Tensor& A, const Tensor& B,
                                                               bool check_errors);
EBB_API Tensor linalg_solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left,
                                       bool unitriangular);
/// The determinant, its sign and the logarithm of its magnitude; factors and pivots.
EBB_API std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> lu_det(const Tensor& A);

/// Both factors of a symmetric or Hermitian matrix in one, pivots, info.
EBB_API std::tuple<Tensor, Tensor, Tensor> linalg_ldl_factor_ex(const Tensor& A, bool hermitian,
                                                                bool check_errors);
EBB_API Tensor linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B,
                                bool hermitian);

}  // namespace ebb::ops::impl
