// ebb/optim/sgd.cpp -- the step of SGD.
#include "ebb/optim/sgd.h"

#include "ebb/core/tensor/sparse.h"
#include "ebb/kernels/cpu/network/optim.h"
#include "ebb/ops/sparse.h"
#include "ebb/optim/sparse_rows.h"

namespace ebb::optim {
namespace {

constexpr const char* kStateNames[] = {"momentum_buffer"};

}  // namespace

SGD::SGD(std::vector<Tensor> parameters, const SGDOptions& options)
    : OptimizerWith("SGD", std::move(parameters), kStateNames, options) {}

Tensor SGD::usable(const Tensor& grad) const {
  if (is_strided(grad)) return grad;
  if (options().weight_decay != 0) throw_option_needs_strided(name(), "weight_decay");
  return options().momentum == 0 ? stored_rows_or_strided(name(), grad) : ops::to_dense(grad);
}

void SGD::update(const StepFactors& factors, const StepOperands& operands) const {
  kernels::cpu::sgd_step(options(), factors, operands);
}

}  // namespace ebb::optim
