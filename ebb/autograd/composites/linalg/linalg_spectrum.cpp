// ebb/autograd/composites/linalg/linalg_spectrum.cpp -- eigenvalues and singular values in the
// forms that compute no more than is asked for.
//
// Values alone cost a fraction of values and vectors, but their derivative needs the vectors.
#include "ebb/autograd/operands/linalg_spectrum.h"

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/clamp_min.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/eig_values.h"
#include "ebb/autograd/ops/eigh_values.h"
#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/linalg_eig.h"
#include "ebb/autograd/ops/linalg_eigh.h"
#include "ebb/autograd/ops/linalg_eigvals.h"
#include "ebb/autograd/ops/linalg_eigvalsh.h"
#include "ebb/autograd/ops/linalg_matrix_rank.h"
#include "ebb/autograd/ops/linalg_svd.h"
#include "ebb/autograd/ops/linalg_svdvals.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/svd.h"
#include "ebb/autograd/ops/svd_parts.h"
#include "ebb/autograd/ops/svd_values.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/rules/linalg/linalg_support.h"
#include "ebb/ops/impl/linalg/linalg_spectrum.h"

namespace ebb {
namespace {

using autograd::rules::is_followed;

void check_driver(const char* op, std::optional<std::string_view> driver) {
  if (!driver) return;
  throw ValueError(str(op, ": driver needs None on the CPU, got ", *driver));
}

}  // namespace

Tensor linalg_eigvalsh(const Tensor& A, std::string_view UPLO) {
  const autograd::operands::linalg_eigvalsh call(A);
  return is_followed(A) ? std::get<0>(linalg_eigh(A, UPLO)) : eigh_values(A, UPLO);
}

Tensor linalg_eigvals(const Tensor& A) {
  const autograd::operands::linalg_eigvals call(A);
  return is_followed(A) ? std::get<0>(linalg_eig(A)) : eig_values(A);
}

Tensor linalg_svdvals(const Tensor& A, std::optional<std::string_view> driver) {
  const autograd::operands::linalg_svdvals call(A);
  check_driver("linalg_svdvals", driver);
  return is_followed(A) ? std::get<1>(svd_parts(A, false)) : svd_values(A);
}

std::tuple<Tensor, Tensor, Tensor> linalg_svd(const Tensor& A, bool full_matrices,
                                              std::optional<std::string_view> driver) {
  const autograd::operands::linalg_svd call(A);
  check_driver("linalg_svd", driver);
  return svd_parts(A, full_matrices);
}

std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& input, bool some, bool compute_uv) {
  const autograd::operands::svd call(input);
  if (compute_uv) {
    const auto [U, S, Vh] = svd_parts(input, !some);
    return {U, S, conj(transpose(Vh, -2, -1))};
  }
  const Tensor S = linalg_svdvals(input);
  const auto zeros_of = [&](int64_t size) {
    Shape shape = input.shape();
    shape[input.ndim() - 2] = shape[input.ndim() - 1] = size;
    return zeros(shape, input.dtype(), input.device());
  };
  return {zeros_of(input.size(-2)), S, zeros_of(input.size(-1))};
}

Tensor linalg_matrix_rank(const Tensor& A, std::optional<double> atol, std::optional<double> rtol,
                          bool) {
  const autograd::operands::linalg_matrix_rank call(A);
  const Tensor values = svd_values(detach(A));
  if (values.size(-1) == 0) return sum(greater(values, 0), Shape{-1});
  const auto cut = ops::impl::rank_cut(A, atol, rtol);
  const Tensor largest = narrow(values, -1, 0, 1) * Scalar(cut.relative);
  return sum(greater(values, clamp_min(largest, Scalar(cut.absolute))), Shape{-1});
}

}  // namespace ebb
