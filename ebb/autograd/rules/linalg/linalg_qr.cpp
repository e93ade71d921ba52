// ebb/autograd/rules/linalg/linalg_qr.cpp -- derivatives of the QR decomposition.
//
// For A = Q R with a square R: with X = Q^H dA R^-1 and the skew W that has the same triangle below
// the diagonal, dR = (X - W) R and dQ = dA R^-1 - Q (X - W). A wide A = [A1 A2] has R = [R1 R2]
// with A1 = Q R1 and R2 = Q^H A2.
#include "ebb/autograd/rules/linalg/linalg_qr.h"

#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/real.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/zeros_like.h"
#include "ebb/autograd/rules/linalg/linalg_support.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/str.h"

namespace ebb::autograd::rules {
namespace {

void check_mode(const Tensor& A, std::string_view mode) {
  if (mode == "reduced" || (mode == "complete" && A.size(-2) <= A.size(-1))) return;
  throw NotImplementedError(str("linalg.qr: a derivative needs mode reduced",
                                mode == "r" ? "" : ", since the further columns of Q are any basis",
                                ", got ", mode));
}

Tensor times_inverse(const Tensor& matrices, const Tensor& R) {
  return linalg_solve_triangular(R, matrices, true, false);
}

/// x - x^H below and above the diagonal, and what is imaginary on it.
Tensor skew_part(const Tensor& X) {
  const Tensor below = tril(X, -1), diagonal = diagonal_of(X);
  const Tensor skew = below - adjoint(below);
  if (!is_complex(X.dtype())) return skew;
  return skew + diag_embed(diagonal - real(diagonal));
}

struct QrFactors {
  Tensor Q, R;
};

QrFactors square_jvp(const Tensor& tangent, const QrFactors& of) {
  const Tensor scaled = times_inverse(tangent, of.R);
  const Tensor X = matmul(adjoint(of.Q), scaled);
  const Tensor upper = X - skew_part(X);
  return {scaled - matmul(of.Q, upper), matmul(upper, of.R)};
}

Tensor square_grad(const Tensor& grad_Q, const Tensor& grad_R, const QrFactors& of) {
  Tensor inner;
  if (grad_R.defined()) inner = matmul(of.R, adjoint(grad_R));
  if (grad_Q.defined()) {
    const Tensor turn = matmul(adjoint(grad_Q), of.Q);
    inner = inner.defined() ? inner - turn : zeros_like(turn) - turn;
  }
  const Tensor below = tril(inner, -1), diagonal = diagonal_of(inner);
  const Tensor real_diagonal = is_complex(inner.dtype()) ? real(diagonal) : diagonal;
  const Tensor whole = matmul(of.Q, below + adjoint(below) + diag_embed(real_diagonal * Scalar(1)));
  const Tensor raised = grad_Q.defined() ? grad_Q + whole : whole;
  return linalg_solve_triangular(adjoint(of.R), raised, false, false);
}

/// The first columns of a wide matrix and the rest.
struct Halves {
  Tensor first, rest;

  Halves(const Tensor& wide, int64_t size)
      : first(narrow(wide, -1, 0, size)), rest(narrow(wide, -1, size, wide.size(-1) - size)) {}
};

}  // namespace

std::tuple<Tensor, Tensor> qr_jvp(const Tensor& tangent, const Tensor& A, const Tensor& Q,
                                  const Tensor& R, std::string_view mode) {
  check_mode(A, mode);
  const int64_t size = R.size(-2);
  if (R.size(-1) == size) {
    const QrFactors moved = square_jvp(tangent, {Q, R});
    return {moved.Q, moved.R};
  }
  const Halves own(R, size), given(A, size), moving(tangent, size);
  const QrFactors moved = square_jvp(moving.first, {Q, own.first});
  const Tensor rest = matmul(adjoint(moved.Q), given.rest) + matmul(adjoint(Q), moving.rest);
  return {moved.Q, cat(std::vector<Tensor>{moved.R, rest}, -1)};
}

Tensor qr_grad(std::span<const Tensor> grads, const Tensor& A, const Tensor& Q, const Tensor& R,
               std::string_view mode) {
  check_mode(A, mode);
  const int64_t size = R.size(-2);
  if (R.size(-1) == size) return square_grad(grads[0], grads[1], {Q, R});
  const Halves own(R, size), given(A, size);
  if (!grads[1].defined()) {
    const Tensor first = square_grad(grads[0], {}, {Q, own.first});
    return cat(std::vector<Tensor>{first, zeros_like(given.rest)}, -1);
  }
  const Halves wanted(grads[1], size);
  const Tensor through_rest = matmul(given.rest, adjoint(wanted.rest));
  const Tensor grad_Q = grads[0].defined() ? grads[0] + through_rest : through_rest;
  const Tensor first = square_grad(grad_Q, wanted.first, {Q, own.first});
  return cat(std::vector<Tensor>{first, matmul(Q, wanted.rest)}, -1);
}

}  // namespace ebb::autograd::rules
