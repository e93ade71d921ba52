// ebb/autograd/rules/shape.cpp -- gradients of permute, index_box_put_ and cat.
#include "ebb/autograd/rules/shape.h"

#include <algorithm>

#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/index_box_backward.h"
#include "ebb/autograd/ops/index_box_put_.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/permute.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/zeros.h"

namespace ebb::autograd::rules {

Tensor zeros_to_copy(IntSpan shape, DType dtype, Device device) {
  return expand(zeros({}, dtype, device), shape);
}

Tensor permute_grad(const Tensor& grad, IntSpan dims) {
  Shape inverse;
  inverse.resize(static_cast<int>(dims.size()));
  for (int to = 0; to < inverse.ndim(); ++to) {
    inverse[normalize_dim("permute", dims[static_cast<size_t>(to)], inverse.ndim())] = to;
  }
  return permute(grad, inverse);
}

Tensor with_leading_ones(const Tensor& grad, IntSpan shape) {
  const int missing = static_cast<int>(shape.size()) - grad.ndim();
  if (missing <= 0) return grad;
  Shape longer;
  for (int dim = 0; dim < missing; ++dim) longer.push_back(1);
  for (const int64_t size : grad.sizes()) longer.push_back(size);
  return reshape(grad, longer);
}

Tensor broadcast_source(const Tensor& value, IntSpan shape) {
  const int extra = value.ndim() - static_cast<int>(shape.size());
  if (extra <= 0) return expand(value, shape);
  return expand(reshape(value, value.sizes().subspan(static_cast<size_t>(extra))), shape);
}

PackedBox packed_box(IntSpan start, IntSpan step, IntSpan size) {
  PackedBox box;
  const size_t ndim = start.size();
  // An in-place form saves before the op has refused its arguments.
  if (step.size() != ndim || size.size() != ndim || ndim > kMaxDims) return box;
  for (size_t dim = 0; dim < ndim; ++dim) {
    box.values[dim] = start[dim];
    box.values[ndim + dim] = step[dim];
    box.values[2 * ndim + dim] = size[dim];
  }
  box.count = 3 * ndim;
  return box;
}

Tensor index_box_grad(const Tensor& grad, IntSpan shape, IntSpan box) {
  const size_t ndim = shape.size();
  return index_box_backward(grad, shape, box.first(ndim), box.subspan(ndim, ndim), box.last(ndim));
}

Tensor index_box_put_grad_self(const Tensor& grad, IntSpan start, IntSpan step, IntSpan size,
                               IntSpan shape) {
  const Tensor kept = clone(grad);
  return index_box_put_(kept, zeros({}, grad.dtype(), grad.device()), start, step, size, shape);
}

std::vector<int64_t> ends_along(std::span<const Tensor> tensors, int64_t dim) {
  std::vector<int64_t> ends;
  ends.reserve(tensors.size());
  int ndim = 0;
  for (const Tensor& tensor : tensors) ndim = std::max(ndim, tensor.ndim());
  int64_t end = 0;
  for (const Tensor& tensor : tensors) {
    // What is of shape [0] among others has no place: the end before it, turned over.
    ends.push_back(tensor.ndim() == ndim ? end += tensor.size(dim) : ~end);
  }
  return ends;
}

Tensor cat_grad(const Tensor& grad, size_t position, IntSpan ends, int64_t dim) {
  if (ends[position] < 0) return zeros({0}, grad.dtype(), grad.device());
  int64_t start = position == 0 ? 0 : ends[position - 1];
  if (start < 0) start = ~start;
  return narrow(grad, dim, start, ends[position] - start);
}

}  // namespace ebb::autograd::rules
