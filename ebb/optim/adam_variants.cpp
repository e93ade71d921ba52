// ebb/optim/adam_variants.cpp -- the steps of Adamax, NAdam and RAdam.
#include <cmath>

#include "ebb/kernels/cpu/network/optim.h"
#include "ebb/optim/adamax.h"
#include "ebb/optim/nadam.h"
#include "ebb/optim/radam.h"

namespace ebb::optim {
namespace {

constexpr const char* kStateNames[] = {"exp_avg", "exp_avg_sq"};

/// 1 - beta^steps, by which a mean that began at 0 is too small.
double correction(double beta, int64_t steps) {
  return 1 - std::pow(beta, static_cast<double>(steps));
}

}  // namespace

StepFactors Adamax::factors(int64_t steps) const {
  return {.step_size = options().lr / correction(options().beta1, steps)};
}

NAdam::NAdam(std::vector<Tensor> parameters, const NAdamOptions& options)
    : OptimizerWith("NAdam", std::move(parameters), kStateNames, options) {}

double NAdam::momentum(int64_t step) const {
  const double decay = std::pow(0.96, static_cast<double>(step) * options().momentum_decay);
  return options().beta1 * (1 - 0.5 * decay);
}

double NAdam::momentum_product(int64_t steps) const {
  if (steps < known_steps_) {
    known_steps_ = 0;
    known_product_ = 1.0;
  }
  while (known_steps_ < steps) known_product_ *= momentum(++known_steps_);
  return known_product_;
}

StepFactors NAdam::factors(int64_t steps) const {
  const double product = momentum_product(steps);
  const double next = momentum(steps + 1);
  return {.step_size = options().lr * next / (1 - product * next),
          .root_scale = std::sqrt(correction(options().beta2, steps)),
          .grad_size = options().lr * (1 - momentum(steps)) / (1 - product)};
}

void NAdam::update(const StepFactors& factors, const StepOperands& operands) const {
  kernels::cpu::nadam_step(options(), factors, operands);
}

StepFactors RAdam::factors(int64_t steps) const {
  const RAdamOptions& given = options();
  const double corrected = correction(given.beta2, steps);
  // How many gradients the mean square stands for: in the end, and now.
  const double most = 2 / (1 - given.beta2) - 1;
  const double now = most - 2 * static_cast<double>(steps) * (1 - corrected) / corrected;
  StepFactors found{.step_size = given.lr / correction(given.beta1, steps)};
  found.is_rectified = now > 5;
  if (found.is_rectified) {
    const double share = (now - 4) * (now - 2) * most / ((most - 4) * (most - 2) * now);
    found.step_size *= std::sqrt(share * corrected);
  }
  return found;
}

}  // namespace ebb::optim
