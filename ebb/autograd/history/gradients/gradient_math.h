// ebb/autograd/history/gradients/gradient_math.h -- the little arithmetic that running a graph
// needs by itself.
//
// Everything here is recorded if grad mode is on (create_graph), except add_into().
#pragma once

#include <cstddef>
#include <cstring>

#include "ebb/autograd/history/node.h"
#include "ebb/core/tensor/tensor.h"

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
Tensor zeros_for(const OutputMeta& meta);
/// A one for a place of one element: what backward() starts from.
Tensor one_for(const OutputMeta& meta);
/// `grad` cast to `dtype` (recorded if grad mode is on).
Tensor cast_to(const Tensor& grad, DType dtype);

/// Whether shape, dtype and device are what `meta` says.
inline bool conforms(const TensorImpl& grad, const OutputMeta& meta) {
  // dtype, ndim and device are neighbours in both: one compare.
  static_assert(offsetof(OutputMeta, device) - offsetof(OutputMeta, dtype) == 2);
  uint32_t grad_kind, meta_kind;
  std::memcpy(&grad_kind, reinterpret_cast<const char*>(&grad) + offsetof(TensorImpl, dtype), 4);
  std::memcpy(&meta_kind, reinterpret_cast<const char*>(&meta) + offsetof(OutputMeta, dtype), 4);
  if (grad_kind != meta_kind) return false;
  for (int dim = 0; dim < grad.ndim; ++dim) {
    if (grad.sizes()[dim] != meta.dims[dim]) return false;
  }
  return true;
}

/// The same, whatever the layout of either: a sparse tensor may have a strided gradient, and the
/// other way round.
bool conforms_in_any_layout(const Tensor& grad, const OutputMeta& meta);
void make_conform(Tensor& grad, const OutputMeta& meta, const Node& node, size_t input);
/// Brings `grad` into the shape and dtype of `meta`: broadcast dims are summed, dtypes cast, the
/// imaginary part dropped where a real tensor was promoted; 0-d gradients move to its device.
/// Throws ShapeError, ValueError for another device, naming `node` and its input.
inline void conform(Tensor& grad, const OutputMeta& meta, const Node& node, size_t input) {
  if (!conforms(*grad.impl(), meta)) [[unlikely]]
    make_conform(grad, meta, node, input);
}

}  // namespace ebb::autograd
