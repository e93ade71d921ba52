// ebb/ops/impl/network/loss_pointwise.h -- bodies of mse_loss, l1_loss, smooth_l1_loss and
// huber_loss.
#pragma once

#include <string_view>

#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/signatures.h"

namespace ebb::ops::impl {

EBB_API Tensor mse_loss(const Tensor& input, const Tensor& target, kernels::Reduction reduction);
EBB_API Tensor l1_loss(const Tensor& input, const Tensor& target, kernels::Reduction reduction);
EBB_API Tensor smooth_l1_loss(const Tensor& input, const Tensor& target,
                              kernels::Reduction reduction, double beta);
EBB_API Tensor huber_loss(const Tensor& input, const Tensor& target, kernels::Reduction reduction,
                          double delta);
/// The gradient of any of them for input, in the shape that input and target broadcast to.
EBB_API Tensor difference_loss_backward(const Tensor& grad, const Tensor& input,
                                        const Tensor& target, std::string_view kind, double beta,
                                        kernels::Reduction reduction);

}  // namespace ebb::ops::impl
