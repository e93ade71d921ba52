// ebb/autograd/rules/index.cpp -- gradients of the ops that take indices: gather and scatter_add
// are each other's, and so are index_select and index_add.
#include "ebb/autograd/op_support.h"
#include "ebb/autograd/ops.h"
#include "ebb/autograd/rules/rules.h"

namespace ebb::autograd::rules {

Tensor gather_grad(const Tensor& grad, IntSpan shape, int64_t dim, const Tensor& index) {
  return scatter_add(zeros(shape, grad.dtype(), grad.device()), dim, index, grad);
}

Tensor scatter_add_grad_src(const Tensor& grad, int64_t dim, const Tensor& index,
                            IntSpan src_shape) {
  const Tensor used = gather(grad, dim, index);
  if (equal(used.sizes(), src_shape)) return used;
  // What the index does not cover of src was not used.
  Shape start(src_shape);
  std::fill(start.begin(), start.end(), 0);
  Shape step(src_shape);
  std::fill(step.begin(), step.end(), 1);
  if (used.ndim() != step.ndim()) return reshape(used, src_shape);  // 0-d and [1]
  return index_box_backward(used, src_shape, start, step, used.sizes());
}

Tensor index_select_grad(const Tensor& grad, IntSpan shape, int64_t dim, const Tensor& index) {
  return index_add(zeros(shape, grad.dtype(), grad.device()), dim, index, grad, 1);
}

Tensor index_add_grad_source(const Tensor& grad, int64_t dim, const Tensor& index,
                             const Scalar& alpha, IntSpan source_shape) {
  const Tensor slices = index_select(grad, dim, index);
  const Tensor scaled = alpha == Scalar(1) ? slices : mul(slices, conj_of(alpha));
  return equal(scaled.sizes(), source_shape) ? scaled : reshape(scaled, source_shape);
}

}  // namespace ebb::autograd::rules
