// ebb/autograd/rules/index.cpp -- gradients of the ops that take indices: gather and scatter_add
// are each other's, and so are index_select and index_add.
#include "ebb/autograd/rules/index.h"

#include "ebb/autograd/history/op_support.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/embedding.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/index_add.h"
#include "ebb/autograd/ops/index_box_backward.h"
#include "ebb/autograd/ops/index_copy.h"
#include "ebb/autograd/ops/index_dims.h"
#include "ebb/autograd/ops/index_dims_put_.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/scatter.h"
#include "ebb/autograd/ops/scatter_add.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/rules/shape.h"
#include "ebb/core/tensor/meta.h"

namespace ebb::autograd::rules {

Tensor gather_grad(const Tensor& grad, IntSpan shape, int64_t dim, const Tensor& index) {
  return scatter_add(zeros_to_copy(shape, grad.dtype(), grad.device()), dim, index, grad);
}

namespace {

/// 0, 1, 2, ... in the shape of `index`.
Tensor numbered(const Tensor& index) {
  return reshape(arange(index.numel(), DType::int64, index.device()), index.sizes());
}

/// `grad` where `stays`, a bool tensor that broadcasts to it from the front, is true; else 0.
Tensor kept_where(const Tensor& grad, const Tensor& stays) {
  if (is_meta(stays)) return grad;
  // A device would have to be waited for.
  const bool is_all = is_on_host(stays) && sum(stays).item<int64_t>() == stays.numel();
  return is_all ? grad : where(stays, grad, 0);
}

}  // namespace

Tensor with_zeros_around(const Tensor& used, IntSpan src_shape) {
  if (equal(used.sizes(), src_shape)) return used;
  // A 0-d tensor counts as one of shape [1], on either side.
  const Tensor part = used.ndim() == 0 ? reshape(used, Shape{1}) : used;
  const Shape whole = src_shape.empty() ? Shape{1} : Shape(src_shape);
  Shape start(whole);
  std::fill(start.begin(), start.end(), 0);
  Shape step(whole);
  std::fill(step.begin(), step.end(), 1);
  const bool is_whole = equal(part.sizes(), whole);
  const Tensor grad = is_whole ? part : index_box_backward(part, whole, start, step, part.sizes());
  return src_shape.empty() ? reshape(grad, src_shape) : grad;
}

Tensor scatter_add_grad_src(const Tensor& grad, int64_t dim, const Tensor& index,
                            IntSpan src_shape) {
  return with_zeros_around(gather(grad, dim, index), src_shape);
}

Tensor scatter_grad_src(const Tensor& grad, int64_t dim, const Tensor& index, IntSpan src_shape) {
  // Whoever finds its own number at its place was the last there.
  const Tensor numbers = numbered(index);
  const Tensor nothing = zeros_to_copy(grad.sizes(), DType::int64, grad.device());
  const Tensor written = scatter(nothing, dim, index, numbers);
  const Tensor stays = eq(gather(written, dim, index), numbers);
  return with_zeros_around(kept_where(gather(grad, dim, index), stays), src_shape);
}

Tensor index_select_grad(const Tensor& grad, IntSpan shape, int64_t dim, const Tensor& index) {
  return index_add(zeros_to_copy(shape, grad.dtype(), grad.device()), dim, index, grad, 1);
}

Tensor index_add_grad_source(const Tensor& grad, int64_t dim, const Tensor& index,
                             const Scalar& alpha, IntSpan source_shape) {
  const Tensor slices = index_select(grad, dim, index);
  const Tensor scaled = alpha == Scalar(1) ? slices : mul(slices, conj_of(alpha));
  return equal(scaled.sizes(), source_shape) ? scaled : reshape(scaled, source_shape);
}

namespace {

/// Which elements of a flat index are the last of those that name the same one of `size` places.
Tensor last_of_equals(const Tensor& index, int64_t size) {
  const Tensor row = reshape(index, Shape{-1});
  const Tensor numbers = numbered(row);
  const Tensor places = zeros(Shape{size}, DType::int64, index.device());
  index_copy_(places, 0, row, numbers);
  return reshape(eq(index_select(places, 0, row), numbers), index.sizes());
}

/// `mask` over some dims of a tensor with `ndim` dims, with sizes of 1 behind, so that its first
/// dim is dim `first`.
Tensor aligned(const Tensor& mask, int first, int ndim) {
  Shape shape = mask.shape();
  for (int dim = first + mask.ndim(); dim < ndim; ++dim) shape.push_back(1);
  return reshape(mask, shape);
}

}  // namespace

Tensor index_copy_grad_source(const Tensor& grad, int64_t dim, const Tensor& index,
                              IntSpan source_shape) {
  const Tensor slices = index_select(grad, dim, index);
  const int axis = normalize_dim("index_copy", dim, grad.ndim());
  const int64_t size = grad.ndim() == 0 ? 1 : grad.size(axis);
  const Tensor stays = reshape(last_of_equals(index, size), Shape{index.numel()});
  const Tensor kept =
      slices.ndim() == 0 ? slices : kept_where(slices, aligned(stays, axis, slices.ndim()));
  return equal(kept.sizes(), source_shape) ? kept : reshape(kept, source_shape);
}

Tensor index_put_grad_self(const Tensor& grad, IntSpan dims, const Tensor& index, bool accumulate) {
  if (accumulate) return grad;
  const Tensor kept = clone(grad);
  return index_dims_put_(kept, zeros({}, grad.dtype(), grad.device()), dims, index, false);
}

Tensor index_put_grad_value(const Tensor& grad, IntSpan dims, const Tensor& index, bool accumulate,
                            IntSpan value_shape) {
  const Tensor selected = index_dims(grad, dims, index);
  if (accumulate) return with_leading_ones(selected, value_shape);
  int64_t size = 1;
  for (const int64_t dim : dims) size *= grad.size(dim);
  const bool is_together = dims.back() - dims.front() + 1 == static_cast<int64_t>(dims.size());
  const int first = is_together ? static_cast<int>(dims.front()) : 0;
  const Tensor stays = aligned(last_of_equals(index, size), first, selected.ndim());
  return with_leading_ones(kept_where(selected, stays), value_shape);
}

Tensor embedding_backward_grad(const Tensor& grad, const Tensor& indices, int64_t padding_idx) {
  const Tensor rows = embedding(grad, indices, padding_idx);
  if (padding_idx < 0) return rows;
  return where(unsqueeze(eq(indices, padding_idx), -1), 0, rows);
}

}  // namespace ebb::autograd::rules
