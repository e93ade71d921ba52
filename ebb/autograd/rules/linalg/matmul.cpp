// ebb/autograd/rules/linalg/matmul.cpp -- gradients of matmul and linear for every pair of ranks.
//
// For matrices: grad_input = grad @ other^H, grad_other = input^H @ grad. A vector on the left was
// a row, one on the right a column, and the dim that this added is missing from `grad`. Batches
// that were broadcast come out too large here and are summed by the engine; those of half types in
// float32, so that the sum is rounded and not its terms.
#include "ebb/autograd/ops/matmul.h"

#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/squeeze.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/rules/linalg/linalg_support.h"
#include "ebb/autograd/rules/linalg/matmul.h"

namespace ebb::autograd::rules {
namespace {

/// All dims but the last as one.
Tensor as_rows(const Tensor& tensor) {
  int64_t rows = 1;
  for (int dim = 0; dim < tensor.ndim() - 1; ++dim) rows *= tensor.size(dim);
  return reshape(tensor, Shape{rows, tensor.size(-1)});
}

/// Whether matrices of half types, as many as `grad` has, are summed to those of an operand.
bool sums_halves(const Tensor& grad, size_t grad_dims, IntSpan operand, size_t operand_dims) {
  const auto count = [](IntSpan sizes, size_t own) {
    int64_t matrices = 1;
    for (size_t dim = 0; dim + own < sizes.size(); ++dim) matrices *= sizes[dim];
    return matrices;
  };
  return is_half(grad.dtype()) && count(grad.sizes(), grad_dims) > count(operand, operand_dims);
}

}  // namespace

Tensor matmul_grad_input(const Tensor& grad, const Tensor& other, IntSpan input_shape) {
  if (other.ndim() == 1) {
    // A dot product, or matrices times a column.
    if (grad.ndim() == 0) return mul(grad, conj(other));
    return mul(unsqueeze(grad, -1), conj(other));
  }
  const bool input_was_row = grad.ndim() < other.ndim();
  const size_t own_dims = input_was_row ? 1 : 2;
  if (sums_halves(grad, own_dims, input_shape, own_dims))
    return matmul_grad_input(in_float(grad), in_float(other), input_shape);
  if (!input_was_row) return matmul(grad, adjoint(other));
  // [..., n] @ [..., n, k] as rows of one, then without the row again.
  return squeeze(matmul(unsqueeze(grad, -2), adjoint(other)), -2);
}

Tensor matmul_grad_other(const Tensor& grad, const Tensor& input, IntSpan other_shape) {
  const size_t other_ndim = other_shape.size();
  if (input.ndim() == 1) {
    if (other_ndim == 1) return mul(grad, conj(input));
    return mul(unsqueeze(conj(input), -1), unsqueeze(grad, -2));
  }
  if (other_ndim == 1) {
    // [..., m, k]^H @ [..., m]: all rows at once.
    const Tensor rows = as_rows(input);
    return matmul(reshape(grad, Shape{rows.size(0)}), conj(rows));
  }
  if (other_ndim == 2 && input.ndim() > 2) return matmul(adjoint(as_rows(input)), as_rows(grad));
  if (sums_halves(grad, 2, other_shape, 2))
    return matmul_grad_other(in_float(grad), in_float(input), other_shape);
  return matmul(adjoint(input), grad);
}

Tensor linear_grad_input(const Tensor& grad, const Tensor& weight) {
  if (weight.ndim() == 1) return mul(unsqueeze(grad, -1), conj(weight));
  return matmul(grad, conj(weight));
}

Tensor linear_grad_weight(const Tensor& grad, const Tensor& input, int weight_ndim) {
  if (weight_ndim == 1) return matmul_grad_other(grad, input, Shape{input.size(-1)});
  if (input.ndim() == 2) return matmul(transpose(grad, 0, 1), conj(input));
  return matmul(transpose(as_rows(grad), 0, 1), conj(as_rows(input)));
}

}  // namespace ebb::autograd::rules
