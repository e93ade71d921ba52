// ebb/autograd/rules/linalg/linalg_roots.cpp -- square roots and polar factors: see
// linalg_spectrum.h.
//
// Their derivatives solve H X + X H = Z, which has one solution for each positive H: unlike those
// of eigenvectors they do not mind eigenvalues that coincide.
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/clamp_min.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/linalg_eigh.h"
#include "ebb/autograd/ops/polar_of.h"
#include "ebb/autograd/ops/sqrt.h"
#include "ebb/autograd/ops/sqrth_of.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/svd_parts.h"
#include "ebb/autograd/rules/linalg/linalg_spectrum.h"
#include "ebb/autograd/rules/linalg/linalg_support.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb::autograd::rules {
namespace {

using ops::infer::describe;

struct Spectrum {
  Tensor values, vectors;

  explicit Spectrum(const Tensor& H) { std::tie(values, vectors) = linalg_eigh(H); }
  /// The X with H X + X H = Z.
  Tensor halved(const Tensor& Z) const {
    const Tensor sums = unsqueeze(values, -1) + per_column(values);
    const Tensor inside = matmul(matmul(adjoint(vectors), Z), vectors) / sums;
    return matmul(matmul(vectors, inside), adjoint(vectors));
  }
};

}  // namespace

Tensor matrix_sqrth(const Tensor& A) {
  const Spectrum of(detach(A));
  const Tensor sizes = per_column(sqrt(clamp_min(of.values, 0)));
  return sqrth_of(A, matmul(of.vectors * sizes, adjoint(of.vectors)));
}

// X X = A gives X dX + dX X = dA.
Tensor sqrth_turn(const Tensor& moved, const Tensor& root) {
  return Spectrum(root).halved((moved + adjoint(moved)) * Scalar(0.5));
}

std::tuple<Tensor, Tensor> polar(const Tensor& A) {
  ops::infer::check_ndim("linalg.polar", "A", A, 2, kMaxDims);
  if (A.size(-2) < A.size(-1)) {
    throw ShapeError(
        str("linalg.polar: A needs at least as many rows as columns, got ", describe(A)));
  }
  const auto [left, values, right] = svd_parts(detach(A), false);
  const Tensor factor = polar_of(A, matmul(left, right));
  const Tensor H = matmul(adjoint(factor), A);
  return {factor, (H + adjoint(H)) * Scalar(0.5)};
}

// dU = U W + (1 - U U^H) dA H^-1, where H W + W H is U^H dA less its adjoint.
Tensor polar_turn(const Tensor& moved, const Tensor& A, const Tensor& factor) {
  const Tensor back = adjoint(factor), product = matmul(back, A), inner = matmul(back, moved);
  const Spectrum of((product + adjoint(product)) * Scalar(0.5));
  const Tensor within = matmul(factor, of.halved(inner - adjoint(inner)));
  if (A.size(-2) == A.size(-1)) return within;
  const Tensor across = moved - matmul(factor, inner);
  return within + matmul(matmul(across, of.vectors) / per_column(of.values), adjoint(of.vectors));
}

}  // namespace ebb::autograd::rules
