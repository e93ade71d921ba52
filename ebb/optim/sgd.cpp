// ebb/optim/sgd.cpp -- the step of SGD.
#include "ebb/optim/sgd.h"

#include "ebb/kernels/cpu/optim.h"

namespace ebb::optim {
namespace {

constexpr const char* kStateNames[] = {"momentum_buffer"};

}  // namespace

SGD::SGD(std::vector<Tensor> parameters, const SGDOptions& options)
    : OptimizerWith("SGD", std::move(parameters), kStateNames, options) {}

void SGD::update(const StepFactors& factors, const StepOperands& operands) const {
  kernels::cpu::sgd_step(options(), factors, operands);
}

}  // namespace ebb::optim
