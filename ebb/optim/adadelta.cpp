// ebb/optim/adadelta.cpp -- the step of Adadelta.
#include "ebb/optim/adadelta.h"

#include "ebb/kernels/cpu/network/optim.h"

namespace ebb::optim {
namespace {

constexpr const char* kStateNames[] = {"square_avg", "acc_delta"};

}  // namespace

Adadelta::Adadelta(std::vector<Tensor> parameters, const AdadeltaOptions& options)
    : OptimizerWith("Adadelta", std::move(parameters), kStateNames, options) {}

void Adadelta::update(const StepFactors& factors, const StepOperands& operands) const {
  kernels::cpu::adadelta_step(options(), factors, operands);
}

}  // namespace ebb::optim
