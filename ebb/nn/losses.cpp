// ebb/nn/losses.cpp -- losses as modules; the arithmetic is in the ops.
#include "ebb/nn/losses.h"

#include "ebb/autograd/ops.h"

namespace ebb::nn {

using kernels::Reduction;

Tensor MSELoss::forward(const Tensor& input, const Tensor& target) {
  return mse_loss(input, target, reduction_);
}

Tensor L1Loss::forward(const Tensor& input, const Tensor& target) {
  return l1_loss(input, target, reduction_);
}

Tensor SmoothL1Loss::forward(const Tensor& input, const Tensor& target) {
  return smooth_l1_loss(input, target, reduction_, beta_);
}

Tensor HuberLoss::forward(const Tensor& input, const Tensor& target) {
  return huber_loss(input, target, reduction_, delta_);
}

BCELoss::BCELoss(const Tensor& weight, Reduction reduction) : Loss(reduction), weight_(weight) {
  if (weight.defined()) register_buffer("weight", weight);
}

Tensor BCELoss::forward(const Tensor& input, const Tensor& target) {
  return binary_cross_entropy(input, target, weight_, reduction_);
}

BCEWithLogitsLoss::BCEWithLogitsLoss(const Tensor& weight, Reduction reduction,
                                     const Tensor& pos_weight)
    : Loss(reduction), weight_(weight), pos_weight_(pos_weight) {
  if (weight.defined()) register_buffer("weight", weight);
  if (pos_weight.defined()) register_buffer("pos_weight", pos_weight);
}

Tensor BCEWithLogitsLoss::forward(const Tensor& input, const Tensor& target) {
  return binary_cross_entropy_with_logits(input, target, weight_, pos_weight_, reduction_);
}

Tensor KLDivLoss::forward(const Tensor& input, const Tensor& target) {
  return kl_div(input, target, reduction_, log_target_);
}

NLLLoss::NLLLoss(const Tensor& weight, int64_t ignore_index, Reduction reduction)
    : Loss(reduction), weight_(weight), ignore_index_(ignore_index) {
  if (weight.defined()) register_buffer("weight", weight);
}

Tensor NLLLoss::forward(const Tensor& input, const Tensor& target) {
  return nll_loss(input, target, weight_, ignore_index_, reduction_);
}

}  // namespace ebb::nn
