// ebb/optim/sgd.h -- SGD: stochastic gradient descent with momentum.
#pragma once

#include <vector>

#include "ebb/optim/optimizer.h"

namespace ebb::optim {

/// With d = grad + weight_decay * p (negated to maximize) and b = momentum * b + (1 - dampening) *
/// d (the first time b = d): p -= lr * b, or with Nesterov p -= lr * (d + momentum * b).
/// State: momentum_buffer.
class EBB_API SGD final : public OptimizerWith<SGDOptions> {
 public:
  /// Throws ValueError for options out of range, and as Optimizer does.
  explicit SGD(std::vector<Tensor> parameters, const SGDOptions& options = {});

  bool counts_steps() const override { return false; }

 protected:
  bool needs_state(size_t) const override { return options().momentum != 0; }
  /// Sparse gradients: plain SGD updates their rows; with momentum all rows move, as ever.
  Tensor usable(const Tensor& grad) const override;
  void update(const StepFactors& factors, const StepOperands& operands) const override;
  bool has_step(const kernels::StepTable& table) const override { return table.sgd != nullptr; }
  void queue_step(const kernels::StepTable& table, const kernels::Context& context,
                  const StepFactors& factors, const StepOperands& operands) const override {
    table.sgd(context, options(), factors, operands);
  }
};

}  // namespace ebb::optim
