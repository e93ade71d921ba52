// ebb/optim/adadelta.h -- Adadelta: steps as large as the steps before, relative to the gradients.
#pragma once

#include <vector>

#include "ebb/optim/optimizer.h"

namespace ebb::optim {

/// v = rho v + (1 - rho) g^2, d = g * sqrt(u + eps) / sqrt(v + eps), u = rho u + (1 - rho) d^2,
/// p -= lr * d. State: square_avg, acc_delta. Zeiler, 2012.
class EBB_API Adadelta final : public OptimizerWith<AdadeltaOptions> {
 public:
  /// Throws ValueError for options out of range, and as Optimizer does.
  explicit Adadelta(std::vector<Tensor> parameters, const AdadeltaOptions& options = {});

 protected:
  void update(const StepFactors& factors, const StepOperands& operands) const override;
};

}  // namespace ebb::optim
