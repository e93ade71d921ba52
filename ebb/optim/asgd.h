// ebb/optim/asgd.h -- ASGD: gradient descent whose steps shrink, beside the average of its path.
#pragma once

#include <vector>

#include "ebb/optim/optimizer.h"

namespace ebb::optim {

/// Step t: p = p * (1 - lambd * eta) - eta * g with eta = lr / (1 + lambd * lr * (t - 1))^alpha.
/// State: ax, the mean of p from step t0 on, and p itself before. Polyak and Juditsky, 1992.
class EBB_API ASGD final : public OptimizerWith<ASGDOptions> {
 public:
  /// Throws ValueError for options out of range, and as Optimizer does.
  explicit ASGD(std::vector<Tensor> parameters, const ASGDOptions& options = {});

 protected:
  StepFactors factors(int64_t steps) const override;
  void update(const StepFactors& factors, const StepOperands& operands) const override;
};

}  // namespace ebb::optim
