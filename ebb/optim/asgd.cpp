// ebb/optim/asgd.cpp -- the step of ASGD.
#include "ebb/optim/asgd.h"

#include <algorithm>
#include <cmath>

#include "ebb/kernels/cpu/network/optim.h"

namespace ebb::optim {
namespace {

constexpr const char* kStateNames[] = {"ax"};

}  // namespace

ASGD::ASGD(std::vector<Tensor> parameters, const ASGDOptions& options)
    : OptimizerWith("ASGD", std::move(parameters), kStateNames, options) {}

StepFactors ASGD::factors(int64_t steps) const {
  const ASGDOptions& given = options();
  const auto before = static_cast<double>(steps - 1);
  return {.step_size = given.lr / std::pow(1 + given.lambd * given.lr * before, given.alpha),
          .averaging = 1 / std::max(1.0, before - given.t0)};
}

void ASGD::update(const StepFactors& factors, const StepOperands& operands) const {
  kernels::cpu::asgd_step(options(), factors, operands);
}

}  // namespace ebb::optim
