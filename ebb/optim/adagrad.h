// ebb/optim/adagrad.h -- Adagrad: steps scaled by the sum of all squared gradients so far.
#pragma once

#include <vector>

#include "ebb/optim/optimizer.h"

namespace ebb::optim {

/// s += g^2, p -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps).
/// State: sum, which begins at initial_accumulator_value.
class EBB_API Adagrad final : public OptimizerWith<AdagradOptions> {
 public:
  /// Throws ValueError for options out of range, and as Optimizer does.
  explicit Adagrad(std::vector<Tensor> parameters, const AdagradOptions& options = {});

 protected:
  double initial_value(size_t /*which*/) const override {
    return options().initial_accumulator_value;
  }
  StepFactors factors(int64_t steps) const override;
  Tensor usable(const Tensor& grad) const override;
  void update(const StepFactors& factors, const StepOperands& operands) const override;
  bool has_step(const kernels::StepTable& table) const override { return table.adagrad != nullptr; }
  void queue_step(const kernels::StepTable& table, const kernels::Context& context,
                  const StepFactors& factors, const StepOperands& operands) const override {
    table.adagrad(context, options(), factors, operands);
  }
};

}  // namespace ebb::optim
