// ebb/ops/impl/linalg/linalg_spectrum.cpp -- eigenvalues and singular values: see
// linalg_spectrum.h.
#include "ebb/ops/impl/linalg/linalg_spectrum.h"

#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/tables/lapack_eig.h"
#include "ebb/kernels/tables/lapack_eigh.h"
#include "ebb/kernels/tables/lapack_svd.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/linalg/linalg_matrices.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/impl/shape.h"
#include "ebb/ops/infer.h"

namespace ebb::ops::impl {
namespace {

using kernels::SpectrumOption;

/// Throws LinAlgError for the first entry whose iteration failed.
void check_spectrum(const char* op, const Tensor& info) {
  const Explain explain = [](int info) {
    if (info == kernels::kNotFinite) return std::string("with NaN or an infinity");
    return str("whose iteration did not converge (LAPACK's info is ", info, ")");
  };
  check_info(op, info, "matrices of finite numbers", explain,
             "check_nan_inf finds the op that made the first NaN");
}

std::tuple<Tensor, Tensor> run_eigh(const Tensor& A, std::string_view uplo, bool has_vectors) {
  check_square("linalg_eigh", "A", A);
  if (uplo != "L" && uplo != "U" && uplo != "l" && uplo != "u") {
    throw ValueError(str("linalg_eigh: UPLO needs L or U, got ", uplo));
  }
  const Shape batch = leading_sizes(A, 2);
  const Tensor found = columns_of(A);
  const Tensor values = empty_vectors(batch, A.size(-1), real_type_of(A.dtype()), A);
  const int64_t option = (has_vectors ? SpectrumOption::kVectors : 0) |
                         (uplo == "U" || uplo == "u" ? SpectrumOption::kUpper : 0);
  check_spectrum("linalg_eigh", run_lapack("linalg_eigh", kernels::lapack_eigh_kernels, batch,
                                           {found, values}, option));
  return {values, transposed(found)};
}

enum class Bases { none, thin, full };

std::tuple<Tensor, Tensor, Tensor> run_svd(const Tensor& A, Bases bases) {
  check_matrices("linalg_svd", "A", A);
  const int64_t rows = A.size(-2), count = A.size(-1), least = std::min(rows, count);
  const auto wanted = [&](int64_t all) {
    return bases == Bases::none ? 0 : (bases == Bases::thin ? least : all);
  };
  const Shape batch = leading_sizes(A, 2);
  const Tensor U = new_columns(batch, rows, wanted(rows), A.dtype(), A);
  const Tensor Vh = new_columns(batch, wanted(count), count, A.dtype(), A);
  const Tensor values = empty_vectors(batch, least, real_type_of(A.dtype()), A);
  const Tensor info =
      run_lapack("linalg_svd", kernels::lapack_svd_kernels, batch, {columns_of(A), U, values, Vh});
  check_spectrum("linalg_svd", info);
  if (least == 0 && bases == Bases::full) {  // LAPACK leaves them as they are
    const auto set_eye = [](const Tensor& all) {
      copy_(all, expand(eye(all.size(-1), {}, all.dtype(), all.device()), all.sizes()));
    };
    set_eye(U);
    set_eye(Vh);
  }
  return {transposed(U), values, transposed(Vh)};
}

std::tuple<Tensor, Tensor> run_eig(const Tensor& A, bool has_vectors) {
  check_square("linalg_eig", "A", A);
  const Shape batch = leading_sizes(A, 2);
  const DType dtype = complex_type_of(A.dtype());
  const Tensor values = empty_vectors(batch, A.size(-1), dtype, A);
  const Tensor found = new_columns(batch, A.size(-1), has_vectors ? A.size(-1) : 0, dtype, A);
  const Tensor info =
      run_lapack("linalg_eig", kernels::lapack_eig_kernels, batch, {columns_of(A), values, found},
                 has_vectors ? SpectrumOption::kVectors : 0);
  check_spectrum("linalg_eig", info);
  return {values, transposed(found)};
}

}  // namespace

std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& A, std::string_view uplo) {
  return run_eigh(A, uplo, true);
}
Tensor eigh_values(const Tensor& A, std::string_view uplo) {
  return std::get<0>(run_eigh(A, uplo, false));
}
std::tuple<Tensor, Tensor, Tensor> svd_parts(const Tensor& A, bool full_matrices) {
  return run_svd(A, full_matrices ? Bases::full : Bases::thin);
}
Tensor svd_values(const Tensor& A) { return std::get<1>(run_svd(A, Bases::none)); }

RankCut rank_cut(const Tensor& A, std::optional<double> atol, std::optional<double> rtol) {
  const double epsilon = real_type_of(A.dtype()) == DType::float64 ? 0x1p-52 : 0x1p-23;
  const bool is_absolute = atol.value_or(0) > 0;
  const double largest = static_cast<double>(std::max(A.size(-1), A.size(-2)));
  return {atol.value_or(0), rtol.value_or(is_absolute ? 0 : epsilon * largest)};
}

Tensor pinv_of(const Tensor&, const Tensor& inverse) { return clone(inverse); }
Tensor sqrth_of(const Tensor&, const Tensor& root) { return clone(root); }
Tensor polar_of(const Tensor&, const Tensor& factor) { return clone(factor); }

std::tuple<Tensor, Tensor> linalg_eig(const Tensor& A) { return run_eig(A, true); }
Tensor eig_values(const Tensor& A) { return std::get<0>(run_eig(A, false)); }

}  // namespace ebb::ops::impl
