// ebb/optim/adam.cpp -- the step that Adam and AdamW share.
#include "ebb/optim/adam.h"

#include <cmath>

#include "ebb/kernels/cpu/network/optim.h"

namespace ebb::optim {
namespace {

constexpr const char* kStateNames[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
constexpr size_t kMaxExpAvgSq = 2;

}  // namespace

Adam::Adam(std::vector<Tensor> parameters, const AdamOptions& options)
    : Adam("Adam", WeightDecay::coupled, std::move(parameters), options) {}

Adam::Adam(const char* name, WeightDecay decay, std::vector<Tensor> parameters,
           const AdamOptions& options)
    : OptimizerWith(name, std::move(parameters), kStateNames, options), decay_(decay) {}

bool Adam::needs_state(size_t which) const { return which != kMaxExpAvgSq || options().amsgrad; }

StepFactors Adam::factors(int64_t steps) const {
  const auto count = static_cast<double>(steps);
  return {.step_size = options().lr / (1 - std::pow(options().beta1, count)),
          .root_scale = std::sqrt(1 - std::pow(options().beta2, count))};
}

void Adam::update(const StepFactors& factors, const StepOperands& operands) const {
  kernels::cpu::adam_step(options(), decay_, factors, operands);
}

}  // namespace ebb::optim
