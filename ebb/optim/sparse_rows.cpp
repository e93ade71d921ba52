// ebb/optim/sparse_rows.cpp -- what optimizers that update rows ask of a sparse gradient.
#include "ebb/optim/sparse_rows.h"

#include "ebb/core/base/error.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/ops/shape.h"
#include "ebb/ops/sparse.h"

namespace ebb::optim {

Tensor stored_rows(const char* optimizer, const Tensor& grad) {
  if (grad.layout() == Layout::selected_rows) return ops::coalesce(grad);
  const bool has_rows =
      grad.layout() == Layout::sparse_coo && parts_of(optimizer, grad).indices.size(0) == 1;
  if (!has_rows) {
    throw NotImplementedError(str(optimizer, ": needs a gradient that stores rows, got a ",
                                  name_of(grad.layout()), " one of shape ",
                                  PrintShape{grad.sizes()}, "\nhint: call .to_dense() on it"));
  }
  const SparseParts& parts = parts_of(optimizer, grad);
  const Tensor rows = ops::reshape(parts.indices, Shape{-1});
  return ops::coalesce(ops::sparse_rows(rows, parts.values, grad.sizes(), parts.is_coalesced));
}

Tensor stored_rows_or_strided(const char* optimizer, const Tensor& grad) {
  const bool has_places =
      grad.layout() == Layout::sparse_coo && parts_of(optimizer, grad).indices.size(0) > 1;
  return has_places ? ops::to_dense(grad) : stored_rows(optimizer, grad);
}

void throw_option_needs_strided(const char* optimizer, const char* option) {
  throw NotImplementedError(str(optimizer, ": needs ", option,
                                " 0 with sparse gradients, which say nothing of other rows"));
}

}  // namespace ebb::optim
