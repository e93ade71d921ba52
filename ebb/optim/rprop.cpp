// ebb/optim/rprop.cpp -- the step of Rprop.
#include "ebb/optim/rprop.h"

#include "ebb/kernels/cpu/network/optim.h"

namespace ebb::optim {
namespace {

constexpr const char* kStateNames[] = {"prev", "step_size"};
constexpr size_t kStepSize = 1;

}  // namespace

Rprop::Rprop(std::vector<Tensor> parameters, const RpropOptions& options)
    : OptimizerWith("Rprop", std::move(parameters), kStateNames, options) {}

double Rprop::initial_value(size_t which) const { return which == kStepSize ? options().lr : 0.0; }

void Rprop::update(const StepFactors& factors, const StepOperands& operands) const {
  kernels::cpu::rprop_step(options(), factors, operands);
}

}  // namespace ebb::optim
