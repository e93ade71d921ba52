// ebb/optim/rprop.h -- Rprop: steps that the gradient's sign alone decides.
#pragma once

#include <vector>

#include "ebb/optim/optimizer.h"

namespace ebb::optim {

/// Each element has a step size, which grows by etaplus while the gradient keeps its sign and
/// shrinks by etaminus when that turns; the step after a turn is left out. p -= size * sign(g).
/// State: prev, step_size. Riedmiller and Braun, 1993.
class EBB_API Rprop final : public OptimizerWith<RpropOptions> {
 public:
  /// Throws ValueError for options out of range, and as Optimizer does.
  explicit Rprop(std::vector<Tensor> parameters, const RpropOptions& options = {});

 protected:
  double initial_value(size_t which) const override;
  void update(const StepFactors& factors, const StepOperands& operands) const override;
};

}  // namespace ebb::optim
