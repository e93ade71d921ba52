// ebb/optim/rmsprop.h -- RMSprop: steps scaled by a running mean of squared gradients.
#pragma once

#include <vector>

#include "ebb/optim/optimizer.h"

namespace ebb::optim {

/// v = alpha v + (1 - alpha) g^2, d = g / (sqrt(v) + eps); centered: v less the square of the
/// running mean of g. p -= lr * d, or with momentum b = momentum * b + d and p -= lr * b.
/// State: square_avg, with momentum momentum_buffer, centered grad_avg.
class EBB_API RMSprop final : public OptimizerWith<RMSpropOptions> {
 public:
  /// Throws ValueError for options out of range, and as Optimizer does.
  explicit RMSprop(std::vector<Tensor> parameters, const RMSpropOptions& options = {});

 protected:
  bool needs_state(size_t which) const override;
  void update(const StepFactors& factors, const StepOperands& operands) const override;
  bool has_step(const kernels::StepTable& table) const override { return table.rmsprop != nullptr; }
  void queue_step(const kernels::StepTable& table, const kernels::Context& context,
                  const StepFactors& factors, const StepOperands& operands) const override {
    table.rmsprop(context, options(), factors, operands);
  }
};

}  // namespace ebb::optim
