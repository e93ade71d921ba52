// ebb/optim/adam_variants.h -- Adamax, NAdam and RAdam: Adam with another norm, momentum or start.
#pragma once

#include <vector>

#include "ebb/optim/optimizer.h"

namespace ebb::optim {

/// Adam with the largest gradient in place of the root mean square: m = beta1 m + (1 - beta1) g,
/// u = max(beta2 u, |g| + eps), p -= lr / (1 - beta1^t) * m / u. State: exp_avg, exp_inf. Kingma
/// and Ba, 2015.
class EBB_API Adamax final : public OptimizerWith<AdamaxOptions> {
 public:
  /// Throws ValueError for options out of range, and as Optimizer does.
  explicit Adamax(std::vector<Tensor> parameters, const AdamaxOptions& options = {});

 protected:
  StepFactors factors(int64_t steps) const override;
  void update(const StepFactors& factors, const StepOperands& operands) const override;
};

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

/// Adam that divides by the root mean square only once enough gradients were seen to know it, and
/// then as much as they are worth: rho_t > 5, step times its rectification. State: exp_avg,
/// exp_avg_sq. Liu et al., 2020.
class EBB_API RAdam final : public OptimizerWith<RAdamOptions> {
 public:
  /// Throws ValueError for options out of range, and as Optimizer does.
  explicit RAdam(std::vector<Tensor> parameters, const RAdamOptions& options = {});

 protected:
  StepFactors factors(int64_t steps) const override;
  void update(const StepFactors& factors, const StepOperands& operands) const override;
};

}  // namespace ebb::optim
