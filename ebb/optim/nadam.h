// ebb/optim/nadam.h -- NAdam: Adam with Nesterov's momentum.
#pragma once

#include <vector>

#include "ebb/optim/optimizer.h"

namespace ebb::optim {

/// Adam with Nesterov's momentum: mu_t = beta1 (1 - 0.96^(t * momentum_decay) / 2), M = mu_1 ...
/// mu_t, p -= lr * ((1 - mu_t) / (1 - M) * g + mu_{t+1} / (1 - M mu_{t+1}) * m) over Adam's root.
/// State: exp_avg, exp_avg_sq. Dozat, 2016.
class EBB_API NAdam final : public OptimizerWith<NAdamOptions> {
 public:
  /// Throws ValueError for options out of range, and as Optimizer does.
  explicit NAdam(std::vector<Tensor> parameters, const NAdamOptions& options = {});

 protected:
  StepFactors factors(int64_t steps) const override;
  void update(const StepFactors& factors, const StepOperands& operands) const override;

 private:
  double momentum(int64_t step) const;
  double momentum_product(int64_t steps) const;

  // The product after the last step that was asked for: the next one takes one factor more, of
  // whatever the options then are. Under the lock of step().
  mutable int64_t known_steps_ = 0;
  mutable double known_product_ = 1.0;
};

}  // namespace ebb::optim
