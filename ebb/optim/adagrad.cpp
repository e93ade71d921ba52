// ebb/optim/adagrad.cpp -- the step of Adagrad.
#include "ebb/optim/adagrad.h"

#include "ebb/core/tensor/sparse.h"
#include "ebb/optim/sparse_rows.h"

namespace ebb::optim {

StepFactors Adagrad::factors(int64_t steps) const {
  const auto before = static_cast<double>(steps - 1);
  return {.step_size = options().lr / (1 + before * options().lr_decay)};
}

Tensor Adagrad::usable(const Tensor& grad) const {
  if (is_strided(grad)) return grad;
  if (options().weight_decay != 0) throw_option_needs_strided(name(), "weight_decay");
  // Without eps what is not stored would divide 0 by 0.
  return options().eps == 0 ? stored_rows(name(), grad) : stored_rows_or_strided(name(), grad);
}

}  // namespace ebb::optim
