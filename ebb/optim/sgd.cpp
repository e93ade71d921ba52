// ebb/optim/sgd.cpp -- the step of SGD.
#include "ebb/optim/sgd.h"

#include "ebb/core/tensor/sparse.h"
#include "ebb/ops/sparse.h"
#include "ebb/optim/sparse_rows.h"

namespace ebb::optim {

Tensor SGD::usable(const Tensor& grad) const {
  if (is_strided(grad)) return grad;
  if (options().weight_decay != 0) throw_option_needs_strided(name(), "weight_decay");
  return options().momentum == 0 ? stored_rows_or_strided(name(), grad) : ops::to_dense(grad);
}

}  // namespace ebb::optim
