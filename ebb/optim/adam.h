// ebb/optim/adam.h -- Adam and AdamW: steps scaled by running moments of the gradient.
//
// Both are one class of step; they differ in weight decay: Adam adds it to the gradient, AdamW
// shrinks the parameter directly.
#pragma once

#include <vector>

#include "ebb/optim/optimizer.h"

namespace ebb::optim {

using kernels::WeightDecay;

/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
/// p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps).
/// State: exp_avg, exp_avg_sq, with AMSGrad max_exp_avg_sq.
class EBB_API Adam : public OptimizerWith<AdamOptions> {
 public:
  /// Throws ValueError for options out of range, and as Optimizer does.
  explicit Adam(std::vector<Tensor> parameters, const AdamOptions& options = {});

 protected:
  Adam(const char* name, WeightDecay decay, std::vector<Tensor> parameters,
       const AdamOptions& options);
  bool needs_state(size_t which) const override;
  StepFactors factors(int64_t steps) const override;
  void update(const StepFactors& factors, const StepOperands& operands) const override;
  bool has_step(const kernels::StepTable& table) const override { return table.adam != nullptr; }
  void queue_step(const kernels::StepTable& table, const kernels::Context& context,
                  const StepFactors& factors, const StepOperands& operands) const override {
    table.adam(context, options(), decay_, factors, operands);
  }

 private:
  WeightDecay decay_;
};

/// Adam with decoupled weight decay: p *= 1 - lr * weight_decay before each step.
class EBB_API AdamW final : public Adam {
 public:
  explicit AdamW(std::vector<Tensor> parameters,
                 const AdamOptions& options = {.weight_decay = 1e-2})
      : Adam("AdamW", WeightDecay::decoupled, std::move(parameters), options) {}
};

}  // namespace ebb::optim
