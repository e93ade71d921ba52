// ebb/autograd/rules/linalg/linalg.h -- derivatives of triangular factors and of what follows from
// them.
//
// All are made of recorded ops, so that they have derivatives themselves. Where factors were saved
// and nobody asks for a further derivative, systems are solved with them, else with the matrix.
#pragma once

#include <span>
#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

inline std::tuple<Tensor, Tensor> without_info(std::tuple<Tensor, Tensor, Tensor> results) {
  return {std::get<0>(results), std::get<1>(results)};
}

Tensor cholesky_grad(const Tensor& grad, const Tensor& L, bool upper);
Tensor cholesky_jvp(const Tensor& tangent, const Tensor& L, bool upper);

Tensor lu_factor_grad(const Tensor& grad, const Tensor& LU, const Tensor& pivots);
Tensor lu_factor_jvp(const Tensor& tangent, const Tensor& LU, const Tensor& pivots);

Tensor inv_grad(const Tensor& grad, const Tensor& inverse);

/// Those of A and B, of A X = B.
std::tuple<Tensor, Tensor> solve_grads(const Tensor& grad, const Tensor& A, const Tensor& solution,
                                       const Tensor& LU, const Tensor& pivots, int64_t wanted);
/// The X with A X = B, by the factors of A if they will do.
Tensor solve_again(const Tensor& A, const Tensor& LU, const Tensor& pivots, const Tensor& B);

std::tuple<Tensor, Tensor> triangular_grads(const Tensor& grad, const Tensor& A, const Tensor& out,
                                            bool upper, bool left, bool unitriangular,
                                            int64_t wanted);
Tensor triangular_jvp(const Tensor& tangent, const Tensor& A, const Tensor& out, bool upper,
                      bool left, bool unitriangular);

/// Of the determinant, its sign and the logarithm of its magnitude.
Tensor det_grad(std::span<const Tensor> grads, const Tensor& A, const Tensor& det,
                const Tensor& sign, const Tensor& LU, const Tensor& pivots);
std::tuple<Tensor, Tensor, Tensor> det_jvp(const Tensor& tangent, const Tensor& A,
                                           const Tensor& det, const Tensor& sign, const Tensor& LU,
                                           const Tensor& pivots);

}  // namespace ebb::autograd::rules
