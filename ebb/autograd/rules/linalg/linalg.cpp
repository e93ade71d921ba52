// ebb/autograd/rules/linalg/linalg.cpp -- derivatives of triangular factors and of what they solve.
//
// A rule for a gradient G of f(A) follows from <G, dA> = <grad, df>: each step of df is undone by
// its adjoint, from the last to the first. Comments give df.
#include "ebb/autograd/rules/linalg/linalg.h"

#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/any.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/complex.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/eye.h"
#include "ebb/autograd/ops/imag.h"
#include "ebb/autograd/ops/linalg_inv_ex.h"
#include "ebb/autograd/ops/linalg_lu_solve.h"
#include "ebb/autograd/ops/lu_det.h"
#include "ebb/autograd/ops/lu_solution.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/neg.h"
#include "ebb/autograd/ops/prod.h"
#include "ebb/autograd/ops/real.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/svd_parts.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/linalg/linalg_support.h"
#include "ebb/autograd/rules/linalg/lu_rows.h"
#include "ebb/core/tensor/meta.h"

namespace ebb::autograd::rules {
namespace {

/// The lower triangle with half of the diagonal: x + x^H gives back a Hermitian matrix.
Tensor lower_half(const Tensor& matrices) {
  return tril(matrices, -1) + diag_embed(diagonal_of(matrices) * Scalar(0.5));
}

Tensor solve_lower(const Tensor& L, const Tensor& B, bool left = true) {
  return linalg_solve_triangular(L, B, false, left, false);
}

/// LuFactors in one matrix. L and U are read by their triangles alone.
struct LuFactors {
  Tensor LU;

  Tensor L() const { return tril(LU, -1) + eye_like(); }
  Tensor U() const { return triu(LU); }
  Tensor eye_like() const { return eye(LU.size(-1), {}, LU.dtype(), LU.device()); }
  Tensor under_L(const Tensor& B) const {
    return linalg_solve_triangular(LU, B, false, true, true);
  }
  Tensor under_L_adjoint(const Tensor& B) const {
    return linalg_solve_triangular(adjoint(LU), B, true, true, true);
  }
  Tensor over_U(const Tensor& B) const {
    return linalg_solve_triangular(LU, B, true, false, false);
  }
  Tensor over_U_adjoint(const Tensor& B) const {
    return linalg_solve_triangular(adjoint(LU), B, false, false, false);
  }
};

/// The square part of factors, and what is beside it (U2) or below it (L2).
struct Parts {
  int64_t size, columns, rows;
  Tensor square, beside, below;

  explicit Parts(const Tensor& m)
      : size(std::min(m.size(-1), m.size(-2))),
        columns(m.size(-1) - size),
        rows(m.size(-2) - size),
        square(narrow(narrow(m, -1, 0, size), -2, 0, size)),
        beside(narrow(m, -1, size, columns)),
        below(narrow(m, -2, size, rows)) {}
  static Tensor joined(const Tensor& square, const Tensor& beside, const Tensor& below) {
    if (beside.defined()) return cat(std::vector<Tensor>{square, beside}, -1);
    return below.defined() ? cat(std::vector<Tensor>{square, below}, -2) : square;
  }
};

/// The adjoint of the inverse.
Tensor adjoint_inverse(const Tensor& A, const Tensor& LU, const Tensor& pivots) {
  if (is_followed(A)) return adjoint(std::get<0>(linalg_inv_ex(A)));
  const Tensor one = eye(A.size(-1), {}, A.dtype(), A.device());
  return linalg_lu_solve(LU, pivots, one, true, true);
}

/// The adjoint of the adjugate, conj(det) A^-H, which singular matrices have too: with A = U S V^H,
/// each singular value counts as the product of the others.
Tensor det_times_inverse(const Tensor& A, const Tensor& det, const Tensor& LU,
                         const Tensor& pivots) {
  const Tensor is_singular = eq(detach(det), 0);
  if (is_singular.numel() == 0 || is_meta(A) || !any(is_singular).item<bool>()) {
    return per_matrix(conj(det)) * adjoint_inverse(A, LU, pivots);
  }
  if (is_followed(A)) {
    throw NotImplementedError(
        "linalg.det: a second derivative needs matrices that have an inverse, got a determinant "
        "of 0");
  }
  const auto [U, S, Vh] = svd_parts(detach(A), false);
  const Tensor is_own = eye(S.size(-1), {}, DType::boolean, A.device());
  const Tensor others = prod(where(is_own, Scalar(1), per_column(S)), -1);
  const Tensor phase = conj(std::get<0>(lu_det(U)) * std::get<0>(lu_det(Vh)));
  return per_matrix(phase) * matmul(U * per_column(others), Vh);
}

}  // namespace

// dL = L half(L^-1 dA L^-H)
Tensor cholesky_grad(const Tensor& grad, const Tensor& L, bool upper) {
  const Tensor lower = upper ? adjoint(L) : L;
  const Tensor inner = lower_half(matmul(adjoint(lower), upper ? adjoint(grad) : grad));
  const Tensor raised = adjoint(lower);
  const Tensor right = solve_lower(lower, inner, false);
  const Tensor whole = linalg_solve_triangular(raised, right, true, true, false);
  return (whole + adjoint(whole)) * Scalar(0.5);
}

Tensor cholesky_jvp(const Tensor& tangent, const Tensor& L, bool upper) {
  const Tensor lower = upper ? adjoint(L) : L;
  const Tensor left = solve_lower(lower, tangent);
  const Tensor both = linalg_solve_triangular(adjoint(lower), left, true, false, false);
  const Tensor found = matmul(lower, lower_half(both));
  return upper ? adjoint(found) : found;
}

// With P^T A = [A1 A2] or [A1; A2]: A1 = L U, so dL = L lower(F), dU = upper(F) U for
// F = L^-1 dA1 U^-1; beside, U2 = L^-1 A2; below, L2 = A2 U^-1.
Tensor lu_factor_grad(const Tensor& grad, const Tensor& LU, const Tensor& pivots) {
  const Parts own(LU), given(grad);
  const LuFactors factors{own.square};
  Tensor grad_L = tril(given.square, -1), grad_U = triu(given.square), beside, below;
  if (own.columns > 0) {
    beside = factors.under_L_adjoint(given.beside);
    grad_L = grad_L - matmul(beside, adjoint(own.beside));
  }
  if (own.rows > 0) {
    below = factors.over_U_adjoint(given.below);
    grad_U = grad_U - matmul(adjoint(own.below), below);
  }
  const Tensor inner =
      tril(matmul(adjoint(factors.L()), grad_L), -1) + triu(matmul(grad_U, adjoint(factors.U())));
  const Tensor square = factors.over_U_adjoint(factors.under_L_adjoint(inner));
  return take_rows(Parts::joined(square, beside, below), pivots, LU.size(-2), RowOrder::back);
}

Tensor lu_factor_jvp(const Tensor& tangent, const Tensor& LU, const Tensor& pivots) {
  const Parts own(LU), moved(take_rows(tangent, pivots, LU.size(-2), RowOrder::factored));
  const LuFactors factors{own.square};
  const Tensor inner = factors.over_U(factors.under_L(moved.square));
  const Tensor dL = matmul(factors.L(), tril(inner, -1)), dU = matmul(triu(inner), factors.U());
  Tensor beside, below;
  if (own.columns > 0) beside = factors.under_L(moved.beside - matmul(dL, own.beside));
  if (own.rows > 0) below = factors.over_U(moved.below - matmul(own.below, dU));
  return Parts::joined(dL + dU, beside, below);
}

Tensor inv_grad(const Tensor& grad, const Tensor& inverse) {
  const Tensor raised = adjoint(inverse);
  return neg(matmul(matmul(raised, grad), raised));
}

Tensor solve_again(const Tensor& A, const Tensor& LU, const Tensor& pivots, const Tensor& B) {
  if (is_followed(A)) return std::get<0>(lu_solution(A, B));
  return linalg_lu_solve(LU, pivots, B);
}

// dX = A^-1 (dB - dA X)
std::tuple<Tensor, Tensor> solve_grads(const Tensor& grad, const Tensor& A, const Tensor& solution,
                                       const Tensor& LU, const Tensor& pivots, int64_t wanted) {
  const Tensor grad_B = is_followed(A) ? std::get<0>(lu_solution(adjoint(A), grad))
                                       : linalg_lu_solve(LU, pivots, grad, true, true);
  if ((wanted & 1) == 0) return {Tensor(), grad_B};
  return {neg(matmul(grad_B, adjoint(solution))), grad_B};
}

std::tuple<Tensor, Tensor> triangular_grads(const Tensor& grad, const Tensor& A, const Tensor& out,
                                            bool upper, bool left, bool unitriangular,
                                            int64_t wanted) {
  const Tensor grad_B = linalg_solve_triangular(adjoint(A), grad, !upper, left, unitriangular);
  if ((wanted & 1) == 0) return {Tensor(), grad_B};
  const Tensor whole = neg(left ? matmul(grad_B, adjoint(out)) : matmul(adjoint(out), grad_B));
  return {upper ? triu(whole, unitriangular) : tril(whole, -int{unitriangular}), grad_B};
}

Tensor triangular_jvp(const Tensor& tangent, const Tensor& A, const Tensor& out, bool upper,
                      bool left, bool unitriangular) {
  const Tensor moved = upper ? triu(tangent, unitriangular) : tril(tangent, -int{unitriangular});
  const Tensor product = left ? matmul(moved, out) : matmul(out, moved);
  return neg(linalg_solve_triangular(A, product, upper, left, unitriangular));
}

// With t = tr(A^-1 dA): d det = det t, d logabsdet = Re t, d sign = i sign Im t.
Tensor det_grad(std::span<const Tensor> grads, const Tensor& A, const Tensor& det,
                const Tensor& sign, const Tensor& LU, const Tensor& pivots) {
  Tensor factor;
  const auto add_term = [&](const Tensor& term) {
    factor = factor.defined() ? factor + term : term;
  };
  if (grads[2].defined()) add_term(grads[2]);
  if (grads[1].defined() && is_complex(A.dtype())) {
    const Tensor turn = imag(conj(grads[1]) * sign);
    add_term(complex(turn * Scalar(0), neg(turn)));
  }
  Tensor found;
  if (factor.defined()) found = per_matrix(factor) * adjoint_inverse(A, LU, pivots);
  if (!grads[0].defined()) return found;
  const Tensor of_det = per_matrix(grads[0]) * det_times_inverse(A, det, LU, pivots);
  return found.defined() ? found + of_det : of_det;
}

std::tuple<Tensor, Tensor, Tensor> det_jvp(const Tensor& tangent, const Tensor& A,
                                           const Tensor& det, const Tensor& sign, const Tensor& LU,
                                           const Tensor& pivots) {
  const auto trace_with = [&](const Tensor& raised) {
    return sum(conj(raised) * tangent, Shape{-2, -1});
  };
  const Tensor moved = trace_with(det_times_inverse(A, det, LU, pivots));
  const Tensor trace = trace_with(adjoint_inverse(A, LU, pivots));
  if (!is_complex(A.dtype())) return {moved, Tensor(), trace};
  const Tensor turn = imag(trace);
  return {moved, sign * complex(turn * Scalar(0), turn), real(trace)};
}

}  // namespace ebb::autograd::rules
