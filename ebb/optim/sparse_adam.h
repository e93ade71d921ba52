// ebb/optim/sparse_adam.h -- SparseAdam: Adam for gradients that store some rows only.
#pragma once

#include <vector>

#include "ebb/optim/optimizer.h"

namespace ebb::optim {

/// Adam whose moments and parameter change in the stored rows only, as if the others had made no
/// step: m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
/// p -= lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps); t counts all steps.
/// State: exp_avg, exp_avg_sq.
class EBB_API SparseAdam final : public OptimizerWith<SparseAdamOptions> {
 public:
  /// Throws ValueError for options out of range, and as Optimizer does.
  explicit SparseAdam(std::vector<Tensor> parameters, const SparseAdamOptions& options = {});

 protected:
  /// Throws NotImplementedError for a strided gradient.
  Tensor usable(const Tensor& grad) const override;
  StepFactors factors(int64_t steps) const override;
  void update(const StepFactors& factors, const StepOperands& operands) const override;
};

}  // namespace ebb::optim
