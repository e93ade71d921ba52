// ebb/autograd/rules/linalg/linalg_spectrum.cpp -- derivatives of eigenvalues, singular values and
// their vectors.
//
// Vectors turn into each other by what pulls at them divided by how far their values are apart.
// Where values coincide, within what rounding makes of them, that is 0 / 0 for what depends on the
// space of the vectors alone, and those pairs are left out; for all else there is no derivative.
#include "ebb/autograd/rules/linalg/linalg_spectrum.h"

#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/amax.h"
#include "ebb/autograd/ops/any.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/complex.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/imag.h"
#include "ebb/autograd/ops/le.h"
#include "ebb/autograd/ops/linalg_solve_ex.h"
#include "ebb/autograd/ops/logical_and.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/ne.h"
#include "ebb/autograd/ops/real.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/linalg/linalg_support.h"
#include "ebb/core/base/linalg_error.h"
#include "ebb/core/base/str.h"
#include "ebb/core/tensor/meta.h"

namespace ebb::autograd::rules {
namespace {

double epsilon_of(DType dtype) { return real_type_of(dtype) == DType::float64 ? 0x1p-52 : 0x1p-23; }

/// What is done where two values coincide and something pulls at one of their vectors.
enum class Coinciding { refused, not_a_number };

/// How far the values of a decomposition are apart, pair by pair.
class Gaps {
 public:
  /// `values` [..., n], and the same ones squared if their squares matter.
  Gaps(const char* op, const Tensor& values) : op_(op) {
    const Tensor difference = per_column(values) - unsqueeze(values, -1);
    if (values.size(-1) == 0) {
      gap_ = difference;
      coincide_ = eq(difference, 0);
      return;
    }
    const Tensor sizes = abs(detach(values));
    const double slack = epsilon_of(values.dtype()) * static_cast<double>(values.size(-1));
    coincide_ = le(abs(detach(difference)), per_matrix(amax(sizes, Shape{-1})) * Scalar(slack));
    gap_ = where(coincide_, Scalar(1), difference);
  }

  /// `pulls` divided by the gaps, 0 on the diagonal. `claims` is what must be 0 where values
  /// coincide, but on the diagonal.
  Tensor divide(const Tensor& pulls, const Tensor& claims, Coinciding kind) const {
    const Tensor shared = where(coincide_, Scalar(0), pulls / gap_);
    const Tensor held = detach(claims);
    const Tensor beside = held - diag_embed(diagonal_of(held));
    const Tensor wrong = logical_and(coincide_, ne(beside, 0));
    if (wrong.numel() == 0 || is_meta(wrong) || !any(wrong).item<bool>()) return shared;
    if (kind == Coinciding::not_a_number) {
      return where(wrong, Scalar(std::numeric_limits<double>::quiet_NaN()), shared);
    }
    throw LinAlgError(str(op_,
                          ": a derivative of single vectors needs values that differ, got some "
                          "that coincide\nhint: what depends on their space alone has one, such "
                          "as sums over all of these vectors computed from the matrix itself"));
  }

 private:
  const char* op_;
  Tensor gap_, coincide_;
};

/// numbers / values per column, where nothing is divided by 0 but what is not 0.
Tensor over_columns(const Tensor& numbers, const Tensor& values) {
  return where(eq(detach(numbers), 0), Scalar(0), numbers / per_column(values));
}

Tensor sum_of(const Tensor& so_far, const Tensor& term) {
  return so_far.defined() ? so_far + term : term;
}

/// A real diagonal of a matrix with the dtype of `like`.
Tensor diagonal_matrix(const Tensor& numbers, const Tensor& like) {
  return diag_embed(numbers.dtype() == like.dtype() ? numbers : cast(numbers, like.dtype()));
}
Tensor real_part(const Tensor& tensor) {
  return is_complex(tensor.dtype()) ? real(tensor) : tensor;
}
Tensor imaginary(const Tensor& numbers) { return complex(numbers * Scalar(0), numbers); }

Tensor skew(const Tensor& X) { return X - adjoint(X); }
Tensor twice_hermitian(const Tensor& X) { return X + adjoint(X); }

}  // namespace

// d values = diag(V^H dA V), dV = V (V^H dA V / gaps)
namespace {
Tensor hermitian_part(const Tensor& matrix) { return (matrix + adjoint(matrix)) * 0.5; }
}  // namespace

Tensor eigh_grad(std::span<const Tensor> grads, const Tensor& values, const Tensor& vectors) {
  Tensor inner;
  if (grads[0].defined()) inner = diagonal_matrix(grads[0], vectors);
  if (grads[1].defined()) {
    const Tensor pulls = matmul(adjoint(vectors), grads[1]);
    const Tensor turn = Gaps("linalg.eigh", values).divide(pulls, pulls, Coinciding::refused);
    // A step along the gradient of a Hermitian matrix is to leave it one.
    inner = sum_of(inner, hermitian_part(turn));
  }
  return matmul(matmul(vectors, inner), adjoint(vectors));
}

std::tuple<Tensor, Tensor> eigh_jvp(const Tensor& tangent, const Tensor& values,
                                    const Tensor& vectors) {
  const Tensor inner = matmul(matmul(adjoint(vectors), hermitian_part(tangent)), vectors);
  const Tensor turn = Gaps("linalg.eigh", values).divide(inner, inner, Coinciding::not_a_number);
  return {real_part(diagonal_of(inner)), matmul(vectors, turn)};
}

// With P = U^H dA V: dS = diag(P), dU = U ((P S + S P^H) / gaps of S^2), dV = V ((S P + P^H S) /
// the same gaps), and what leaves the spaces of U and V. The phases of complex vectors turn by half
// of what P says each.
Tensor svd_grad(std::span<const Tensor> grads, const Tensor& U_all, const Tensor& S,
                const Tensor& Vh_all) {
  const int64_t count = S.size(-1);
  const Tensor U = narrow(U_all, -1, 0, count), Vh = narrow(Vh_all, -2, 0, count);
  const bool has_U = grads[0].defined(), has_V = grads[2].defined();
  const Gaps gaps("linalg.svd", S * S);
  Tensor inner, beside;
  if (grads[1].defined()) inner = diagonal_matrix(grads[1], U);
  const Tensor wide_S = cast(S, U.dtype());
  if (has_U) {
    const Tensor grad_U = narrow(grads[0], -1, 0, count);
    const Tensor pulls = matmul(adjoint(U), grad_U);
    const Tensor turn = gaps.divide(skew(pulls), pulls, Coinciding::refused);
    inner = sum_of(inner, turn * per_column(wide_S));
    if (is_complex(U.dtype())) {
      inner = inner + diag_embed(imaginary(imag(diagonal_of(pulls)) / S));
    }
    if (U.size(-2) > count) {
      beside = matmul(over_columns(grad_U - matmul(U, pulls), wide_S), Vh);
    }
  }
  if (has_V) {
    const Tensor grad_V = adjoint(narrow(grads[2], -2, 0, count)), V = adjoint(Vh);
    const Tensor pulls = matmul(Vh, grad_V);
    const Tensor turn = gaps.divide(skew(pulls), pulls, Coinciding::refused);
    inner = sum_of(inner, unsqueeze(wide_S, -1) * turn);
    if (Vh.size(-1) > count) {
      const Tensor left = over_columns(grad_V - matmul(V, pulls), wide_S);
      beside = sum_of(beside, matmul(U, adjoint(left)));
    }
  }
  if (!inner.defined()) return beside;
  const Tensor whole = matmul(matmul(U, inner), Vh);
  return beside.defined() ? whole + beside : whole;
}

std::tuple<Tensor, Tensor, Tensor> svd_jvp(const Tensor& tangent, const Tensor& U_all,
                                           const Tensor& S, const Tensor& Vh_all) {
  const int64_t count = S.size(-1);
  const Tensor U = narrow(U_all, -1, 0, count), V = adjoint(narrow(Vh_all, -2, 0, count));
  const Tensor wide_S = cast(S, U.dtype());
  const Tensor moved_V = matmul(tangent, V), moved_U = matmul(adjoint(tangent), U);
  const Tensor P = matmul(adjoint(U), moved_V);
  const Gaps gaps("linalg.svd", S * S);
  const Tensor scaled = P * per_column(wide_S), lifted = unsqueeze(wide_S, -1) * P;
  Tensor turn_U = gaps.divide(twice_hermitian(scaled), P, Coinciding::not_a_number);
  Tensor turn_V = gaps.divide(twice_hermitian(lifted), P, Coinciding::not_a_number);
  if (is_complex(P.dtype())) {
    const Tensor phase = diag_embed(imaginary(imag(diagonal_of(P)) / (S * Scalar(2))));
    turn_U = turn_U + phase;
    turn_V = turn_V - phase;
  }
  const auto moved = [&](const Tensor& basis, const Tensor& turn, const Tensor& image,
                         const Tensor& all) {
    Tensor found = matmul(basis, turn);
    if (basis.size(-2) == count) return found;
    found = found + over_columns(image - matmul(basis, matmul(adjoint(basis), image)), wide_S);
    if (all.size(-1) == count) return found;
    // The further columns stay at right angles.
    const Tensor rest = narrow(all, -1, count, all.size(-1) - count);
    const Tensor back = matmul(basis, matmul(adjoint(found), rest));
    return cat(std::vector<Tensor>{found, back * Scalar(-1)}, -1);
  };
  const Tensor dU = moved(U, turn_U, moved_V, U_all);
  const Tensor dV = moved(V, turn_V, moved_U, adjoint(Vh_all));
  return {dU, real_part(diagonal_of(P)), adjoint(dV)};
}

// With P = V^-1 dA V: d values = diag(P), dV = V (P / gaps) less what would change its length.
Tensor eig_grad(std::span<const Tensor> grads, const Tensor& values, const Tensor& vectors) {
  Tensor inner;
  if (grads[0].defined()) inner = diag_embed(grads[0]);
  if (grads[1].defined()) {
    const Tensor pulls = matmul(adjoint(vectors), grads[1]);
    const Tensor along = matmul(adjoint(vectors), vectors) *
                         per_column(cast(real(diagonal_of(pulls)), pulls.dtype()));
    const Tensor left = pulls - along;
    inner = sum_of(inner, Gaps("linalg.eig", conj(values)).divide(left, left, Coinciding::refused));
  }
  const Tensor raised = adjoint(vectors);
  return std::get<0>(linalg_solve_ex(raised, matmul(inner, raised)));
}

std::tuple<Tensor, Tensor> eig_jvp(const Tensor& tangent, const Tensor& values,
                                   const Tensor& vectors) {
  const Tensor wide = tangent.dtype() == vectors.dtype() ? tangent : cast(tangent, vectors.dtype());
  const Tensor inner = std::get<0>(linalg_solve_ex(vectors, matmul(wide, vectors)));
  const Tensor turn = Gaps("linalg.eig", values).divide(inner, inner, Coinciding::not_a_number);
  const Tensor moved = matmul(vectors, turn);
  const Tensor along = real(sum(conj(vectors) * moved, Shape{-2}));
  return {diagonal_of(inner), moved - vectors * per_column(cast(along, vectors.dtype()))};
}

}  // namespace ebb::autograd::rules
