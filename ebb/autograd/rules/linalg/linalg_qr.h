// ebb/autograd/rules/linalg/linalg_qr.h -- derivatives of the QR decomposition, and products of
// reflections.
#pragma once

#include <span>
#include <string_view>
#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// The first columns of the product of reflections of LAPACK.
Tensor householder_product(const Tensor& A, const Tensor& tau);
/// The whole product, or its adjoint, times matrices, or those times it.
Tensor reflected(const Tensor& input, const Tensor& tau, const Tensor& other, bool left,
                 bool transpose);

std::tuple<Tensor, Tensor> qr_jvp(const Tensor& tangent, const Tensor& A, const Tensor& Q,
                                  const Tensor& R, std::string_view mode);
Tensor qr_grad(std::span<const Tensor> grads, const Tensor& A, const Tensor& Q, const Tensor& R,
               std::string_view mode);

}  // namespace ebb::autograd::rules
