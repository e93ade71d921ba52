// ebb/ops/impl/network/loss.h -- bodies of softmax, log_softmax, nll_loss and their gradients.
#pragma once

#include <optional>

#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/signatures.h"

namespace ebb::ops::impl {

EBB_API Tensor softmax(const Tensor& input, int64_t dim, std::optional<DType> dtype);
/// (grad - sum(grad * out along dim)) * out: the gradient of softmax from its result.
EBB_API Tensor softmax_backward(const Tensor& grad, const Tensor& out, int64_t dim);
EBB_API Tensor log_softmax(const Tensor& input, int64_t dim, std::optional<DType> dtype);
/// grad - exp(out) * sum(grad along dim): the gradient of log_softmax from its result.
EBB_API Tensor log_softmax_backward(const Tensor& grad, const Tensor& out, int64_t dim);

/// Input [C], [N, C] or [N, C, d...] of log-probabilities, target the same without C.
EBB_API Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                        int64_t ignore_index, kernels::Reduction reduction);
/// The gradient of nll_loss with respect to an input of `input_shape`.
EBB_API Tensor nll_loss_backward(const Tensor& grad, const Tensor& target, const Tensor& weight,
                                 IntSpan input_shape, int64_t ignore_index,
                                 kernels::Reduction reduction);

}  // namespace ebb::ops::impl
