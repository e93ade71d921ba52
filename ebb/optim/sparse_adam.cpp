// ebb/optim/sparse_adam.cpp -- the step of SparseAdam: Adam's, over rows.
#include "ebb/optim/sparse_adam.h"

#include <cmath>

#include "ebb/core/base/error.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/kernels/cpu/network/optim.h"
#include "ebb/optim/sparse_rows.h"

namespace ebb::optim {
namespace {

constexpr const char* kStateNames[] = {"exp_avg", "exp_avg_sq"};

}  // namespace

SparseAdam::SparseAdam(std::vector<Tensor> parameters, const SparseAdamOptions& options)
    : OptimizerWith("SparseAdam", std::move(parameters), kStateNames, options) {}

Tensor SparseAdam::usable(const Tensor& grad) const {
  if (!is_strided(grad)) return stored_rows(name(), grad);
  throw NotImplementedError(str(name(), ": needs sparse gradients, got a strided one of shape ",
                                PrintShape{grad.sizes()}, "\nhint: use Adam"));
}

StepFactors SparseAdam::factors(int64_t steps) const {
  const auto count = static_cast<double>(steps);
  const double root = std::sqrt(1 - std::pow(options().beta2, count));
  // Unlike Adam's, eps is beside the root of the uncorrected mean.
  return {.step_size = options().lr * root / (1 - std::pow(options().beta1, count))};
}

void SparseAdam::update(const StepFactors& factors, const StepOperands& operands) const {
  const AdamOptions as_adam{.lr = options().lr,
                            .beta1 = options().beta1,
                            .beta2 = options().beta2,
                            .eps = options().eps,
                            .maximize = options().maximize};
  kernels::cpu::adam_step(as_adam, kernels::WeightDecay::coupled, factors, operands);
}

}  // namespace ebb::optim
