// ebb/autograd/rules/network/loss_pointwise.h -- derivatives of the losses that compare element by
// element.
#pragma once

#include <string_view>

#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/signatures.h"

namespace ebb::autograd::rules {

/// The tangent of a difference loss if input moves along `tangent`; also the gradient of its
/// backward op for the gradient that arrived there.
Tensor difference_loss_jvp(const Tensor& tangent, const Tensor& input, const Tensor& target,
                           std::string_view kind, double beta, kernels::Reduction reduction);
/// The gradient of a difference loss for its input; wider than a half type where it is summed.
Tensor difference_loss_grad(const Tensor& grad, const Tensor& input, const Tensor& target,
                            std::string_view kind, double beta, kernels::Reduction reduction);
/// The gradient of l1_loss for its input: for complex numbers made of their difference, recorded.
Tensor l1_loss_grad(const Tensor& grad, const Tensor& input, const Tensor& target,
                    kernels::Reduction reduction);
/// The tangent of l1_loss if input moves along `tangent`.
Tensor l1_loss_jvp(const Tensor& tangent, const Tensor& input, const Tensor& target,
                   kernels::Reduction reduction);
/// tangent * grad * f''(input - target): how the backward op changes with input.
Tensor difference_loss_bend(const Tensor& tangent, const Tensor& grad, const Tensor& input,
                            const Tensor& target, std::string_view kind, double beta,
                            kernels::Reduction reduction);

/// s (1 - s) with s = sigmoid(input).
Tensor logistic_bend(const Tensor& input);

/// The slopes of bernoulli_loss: (x - t) / (x (1 - x)), whose divisor is at least 1e-12, and
/// log(1 - x) - log(x), whose logarithms are at least -100.
Tensor bernoulli_slope(const Tensor& input, const Tensor& target);
Tensor bernoulli_target_slope(const Tensor& input);

}  // namespace ebb::autograd::rules
