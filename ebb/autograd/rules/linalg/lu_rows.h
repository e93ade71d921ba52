// ebb/autograd/rules/linalg/lu_rows.h -- rows of matrices in the order of LU factors, and back.
#pragma once

#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/lu_rows.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/core/base/shape.h"

namespace ebb::autograd::rules {

/// The order of L @ U, or of the matrix that was factored.
enum class RowOrder { factored, back };

/// The rows of matrices, of a batch that broadcasts with the pivots', in this order.
inline Tensor take_rows(const Tensor& matrices, const Tensor& pivots, int64_t rows,
                        RowOrder order) {
  const Tensor places = unsqueeze(lu_rows(pivots, rows, order == RowOrder::back), -1);
  const Shape shape = broadcast_shapes("linalg.lu_solve", matrices.sizes(), places.sizes());
  return gather(expand(matrices, shape), -2, expand(places, shape));
}

}  // namespace ebb::autograd::rules
