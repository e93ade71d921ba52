// ebb/autograd/gradient_math.h -- the little arithmetic that running a graph needs by itself.
//
// Everything here is recorded if grad mode is on (create_graph), except add_into().
#pragma once

#include "ebb/autograd/node.h"
#include "ebb/core/tensor.h"

namespace ebb::autograd {

/// Whether nobody else can see the tensor or its memory.
bool is_private(const Tensor& tensor);
/// A gradient that may be kept: as it is if nobody else can see its memory, else a copy. No view.
Tensor owned_gradient(Tensor grad);
Tensor sum_of(const Tensor& lhs, const Tensor& rhs);
/// lhs += rhs in memory; same shape and dtype. Nothing is recorded or logged.
void add_into(const Tensor& lhs, const Tensor& rhs);
/// The sum of two gradients of one slot; reuses the memory of `lhs` if nobody else can see it.
Tensor add_gradients(Tensor lhs, const Tensor& rhs);
/// `grad` in the shape and dtype of `meta`: broadcast dims are summed, dtypes cast, the imaginary
/// part dropped where a real tensor was promoted. Throws ShapeError, naming `node` and its input.
Tensor conform(Tensor grad, const OutputMeta& meta, const Node& node, size_t input);
/// A one of the tensor's dtype and shape, for a root of one element.
Tensor implicit_seed(const Tensor& root);
Tensor zeros_for(const OutputMeta& meta);
/// `grad` cast to `dtype` (recorded if grad mode is on).
Tensor cast_to(const Tensor& grad, DType dtype);

/// Whether shape and dtype are what `meta` says, so that conform() has nothing to do.
inline bool conforms(const TensorImpl& grad, const OutputMeta& meta) {
  if (grad.dtype != meta.dtype || grad.ndim != meta.ndim) return false;
  for (int dim = 0; dim < grad.ndim; ++dim) {
    if (grad.sizes()[dim] != meta.dims[dim]) return false;
  }
  return true;
}

}  // namespace ebb::autograd
