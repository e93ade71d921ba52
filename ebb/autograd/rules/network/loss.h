// ebb/autograd/rules/network/loss.h -- gradient rules of losses.
#pragma once

#include <optional>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

/// The gradient of softmax_backward(grad, out, dim) with respect to `out`, and its tangent.
Tensor softmax_backward_grad_out(const Tensor& grad_grad, const Tensor& grad, const Tensor& out,
                                 int64_t dim);
Tensor softmax_backward_out_jvp(const Tensor& tangent, const Tensor& grad, const Tensor& out,
                                int64_t dim);
/// tangent - sum(exp(out) * tangent along dim): the tangent of log_softmax, and also the gradient
/// of log_softmax_backward with respect to its first operand.
Tensor log_softmax_jvp(const Tensor& tangent, const Tensor& out, int64_t dim);
/// The gradient of log_softmax_backward(grad, out, dim) with respect to `out`.
Tensor log_softmax_backward_grad_out(const Tensor& grad_grad, const Tensor& grad, const Tensor& out,
                                     int64_t dim);
/// `dim`, or the one that PyTorch takes if none is given: the first of 0, 1 or 3 dims, else the
/// second. Then it warns in the name of `op`.
int64_t implied_dim(const char* op, const Tensor& input, std::optional<int64_t> dim);

}  // namespace ebb::autograd::rules
