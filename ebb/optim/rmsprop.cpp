// ebb/optim/rmsprop.cpp -- the step of RMSprop.
#include "ebb/optim/rmsprop.h"

#include "ebb/kernels/cpu/network/optim.h"

namespace ebb::optim {
namespace {

constexpr const char* kStateNames[] = {"square_avg", "momentum_buffer", "grad_avg"};

}  // namespace

RMSprop::RMSprop(std::vector<Tensor> parameters, const RMSpropOptions& options)
    : OptimizerWith("RMSprop", std::move(parameters), kStateNames, options) {}

bool RMSprop::needs_state(size_t which) const {
  if (which == 1) return options().momentum != 0;
  return which == 0 || options().centered;
}

void RMSprop::update(const StepFactors& factors, const StepOperands& operands) const {
  kernels::cpu::rmsprop_step(options(), factors, operands);
}

}  // namespace ebb::optim
