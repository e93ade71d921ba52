// ebb/autograd/rules/linalg/linalg_pinv.cpp -- pseudoinverses, their derivatives, and least
// squares, in one dtype.
//
// Rows of the op table call these behind their casts: under autocast, products in here stay in the
// dtype of the operands.
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/any.h"
#include "ebb/autograd/ops/clamp_min.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/linalg_matrix_rank.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/ne.h"
#include "ebb/autograd/ops/pinv_of.h"
#include "ebb/autograd/ops/real.h"
#include "ebb/autograd/ops/reciprocal.h"
#include "ebb/autograd/ops/squeeze.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/svd_parts.h"
#include "ebb/autograd/ops/svd_values.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/linalg/linalg_spectrum.h"
#include "ebb/autograd/rules/linalg/linalg_support.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/impl/linalg/linalg_spectrum.h"
#include "ebb/ops/infer.h"

namespace ebb::autograd::rules {
namespace {

using ops::infer::check_ndim;
using ops::infer::describe;

}  // namespace

Tensor pinv(const Tensor& A, std::optional<double> atol, std::optional<double> rtol) {
  const auto [U, S, Vh] = svd_parts(detach(A), false);
  if (S.size(-1) == 0) return adjoint(A) * Scalar(1);
  const auto cut = ops::impl::rank_cut(A, atol, rtol);
  const Tensor least = clamp_min(narrow(S, -1, 0, 1) * Scalar(cut.relative), Scalar(cut.absolute));
  const Tensor factors = where(greater(S, least), reciprocal(S), Scalar(0));
  return pinv_of(A, adjoint(matmul(U * unsqueeze(factors, -2), Vh)));
}

// dP = -P dA P + (I - P A) dA^H P^H P + P P^H dA^H (I - A P), where the rank stays.
Tensor pinv_jvp(const Tensor& tangent, const Tensor& A, const Tensor& out) {
  const Tensor back = adjoint(tangent), raised = adjoint(out);
  const Tensor first = matmul(back, matmul(raised, out)),
               second = matmul(matmul(out, raised), back);
  return first - matmul(out, matmul(A, first)) + second - matmul(matmul(second, A), out) -
         matmul(matmul(out, tangent), out);
}

Tensor pinv_grad(const Tensor& grad, const Tensor& A, const Tensor& out) {
  const Tensor back = adjoint(grad), raised = adjoint(out);
  const Tensor first = matmul(matmul(raised, out), back),
               second = matmul(back, matmul(out, raised));
  return first - matmul(matmul(first, out), A) + second - matmul(A, matmul(out, second)) -
         matmul(matmul(raised, grad), raised);
}

namespace {

/// What a driver of LAPACK tells beside the solution.
struct LstsqResults {
  bool rank = true, values = false, residuals = false;
};

LstsqResults results_of(std::optional<std::string_view> driver) {
  if (!driver || *driver == "gelsy") return {};
  if (*driver == "gels") return {.rank = false, .values = false, .residuals = true};
  if (*driver == "gelsd" || *driver == "gelss") return {true, true, true};
  throw ValueError(
      str("linalg.lstsq: driver needs gels, gelsy, gelsd or gelss, got ", in_quotes(*driver)));
}

/// The sums of squares of what the solution misses, for each column.
Tensor residuals_of(const Tensor& A, const Tensor& right, const Tensor& solution) {
  const Tensor missed = right - matmul(A, solution);
  const Tensor squares = missed * conj(missed);
  return sum(is_complex(squares.dtype()) ? real(squares) : squares, Shape{-2});
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq(const Tensor& A, const Tensor& B,
                                                 std::optional<double> rcond,
                                                 std::optional<std::string_view> driver) {
  check_ndim("linalg_lstsq", "A", A, 2, kMaxDims);
  check_ndim("linalg_lstsq", "B", B, 1, kMaxDims);
  const LstsqResults wanted = results_of(driver);
  const bool has_vectors = is_vectors(A, B);
  const Tensor right = has_vectors ? unsqueeze(B, -1) : B;
  if (right.ndim() < 2 || right.size(-2) != A.size(-2)) {
    throw ShapeError(
        str("linalg_lstsq: A needs as many rows as B, got ", describe(A), " and ", describe(B)));
  }
  const Tensor solution = matmul(pinv(A, {}, rcond), right);
  const DType real_dtype = real_type_of(A.dtype());
  const auto nothing = [&](DType dtype) { return empty(Shape{0}, dtype, A.device()); };
  Tensor rank = nothing(DType::int64), values = nothing(real_dtype),
         residuals = nothing(real_dtype);
  if (wanted.rank) rank = linalg_matrix_rank(A, {}, rcond);
  if (wanted.values) values = svd_values(detach(A));
  if (wanted.residuals && A.size(-2) > A.size(-1)) {
    const bool is_full = rank.numel() == 0 || !any(ne(rank, A.size(-1))).item<bool>();
    if (is_full) residuals = residuals_of(A, right, solution);
  }
  return {has_vectors ? squeeze(solution, -1) : solution, residuals, rank, values};
}

}  // namespace ebb::autograd::rules
