// ebb/ops/impl/linalg/linalg_spectrum.h -- eigenvalues and singular values by LAPACK.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

/// Eigenvalues in rising order, and vectors; UPLO says which triangle of A is read.
EBB_API std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& A, std::string_view uplo);
EBB_API Tensor eigh_values(const Tensor& A, std::string_view uplo);
/// U, the singular values in falling order, the adjoint of V.
EBB_API std::tuple<Tensor, Tensor, Tensor> svd_parts(const Tensor& A, bool full_matrices);
EBB_API Tensor svd_values(const Tensor& A);
/// Up to where singular values count as 0: absolutely, and as parts of the largest.
struct RankCut {
  double absolute, relative;
};
EBB_API RankCut rank_cut(const Tensor& A, std::optional<double> atol, std::optional<double> rtol);
/// A copy of the pseudoinverse of A, as a function of A.
EBB_API Tensor pinv_of(const Tensor& A, const Tensor& inverse);
/// A copy of the square root, or of the orthonormal factor, of A as a function of A.
EBB_API Tensor sqrth_of(const Tensor& A, const Tensor& root);
EBB_API Tensor polar_of(const Tensor& A, const Tensor& factor);
EBB_API std::tuple<Tensor, Tensor> linalg_eig(const Tensor& A);
EBB_API Tensor eig_values(const Tensor& A);

}  // namespace ebb::ops::impl
