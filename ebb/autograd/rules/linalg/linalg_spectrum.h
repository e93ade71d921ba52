// ebb/autograd/rules/linalg/linalg_spectrum.h -- derivatives of eigenvalues and singular values,
// and what is made of these.
#pragma once

#include <optional>
#include <span>
#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

// Vectors whose values coincide are any basis of a space: where a gradient asks for one of them,
// and not for the space, LinAlgError says so; a tangent is NaN there.
Tensor eigh_grad(std::span<const Tensor> grads, const Tensor& values, const Tensor& vectors);
std::tuple<Tensor, Tensor> eigh_jvp(const Tensor& tangent, const Tensor& values,
                                    const Tensor& vectors);
Tensor svd_grad(std::span<const Tensor> grads, const Tensor& U, const Tensor& S, const Tensor& Vh);
std::tuple<Tensor, Tensor, Tensor> svd_jvp(const Tensor& tangent, const Tensor& U, const Tensor& S,
                                           const Tensor& Vh);
Tensor pinv(const Tensor& A, std::optional<double> atol, std::optional<double> rtol);
std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq(const Tensor& A, const Tensor& B,
                                                 std::optional<double> rcond,
                                                 std::optional<std::string_view> driver);

/// The square root of Hermitian matrices, negative eigenvalues taken for 0.
Tensor matrix_sqrth(const Tensor& A);
/// The orthonormal factor U and the Hermitian H of A = U H.
std::tuple<Tensor, Tensor> polar(const Tensor& A);
/// Derivatives in both directions, since these maps are their own adjoints.
Tensor sqrth_turn(const Tensor& moved, const Tensor& root);
Tensor polar_turn(const Tensor& moved, const Tensor& A, const Tensor& factor);

Tensor pinv_grad(const Tensor& grad, const Tensor& A, const Tensor& out);
Tensor pinv_jvp(const Tensor& tangent, const Tensor& A, const Tensor& out);
Tensor eig_grad(std::span<const Tensor> grads, const Tensor& values, const Tensor& vectors);
std::tuple<Tensor, Tensor> eig_jvp(const Tensor& tangent, const Tensor& values,
                                   const Tensor& vectors);

}  // namespace ebb::autograd::rules
