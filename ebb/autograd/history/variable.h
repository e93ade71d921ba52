// ebb/autograd/history/variable.h -- the public face of a tensor's place in the graph.
#pragma once

#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/views.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// Marks a leaf as wanting a gradient, or not. Returns the tensor. Throws AutogradError for a
/// tensor with history if `value` is false, DTypeError for a type that has no gradient.
EBB_API Tensor requires_grad_(const Tensor& tensor, bool value = true);

/// Whether the tensor was not made by a recorded op.
inline bool is_leaf(const Tensor& tensor) {
  autograd::settle(tensor);
  return tensor.impl()->producer == nullptr || (tensor.impl()->flags & TensorImpl::kLeaf) != 0;
}

/// The accumulated gradient, or an undefined tensor.
EBB_API Tensor grad_of(const Tensor& tensor);
/// Replaces the gradient. Throws ShapeError or DTypeError if it does not fit.
EBB_API void set_grad(const Tensor& tensor, const Tensor& grad);

/// Asks a tensor that is not a leaf to keep its gradient. For a leaf this does nothing.
EBB_API void retain_grad(const Tensor& tensor);
EBB_API bool retains_grad(const Tensor& tensor);

/// Forgets the history of a tensor, which becomes a leaf that requires no gradient. Its views keep
/// theirs until the memory is written again. Throws AutogradError for a view.
EBB_API const Tensor& detach_(const Tensor& tensor);
/// The same, but a view is also cut from its base: it becomes what detach() returns.
EBB_API void cut_history(const Tensor& tensor);

/// Gives `tensor` the memory and geometry of `data`, as `p.data = ...` does; history stays. A leaf
/// may take another shape: it loses its gradient then, and graphs recorded before no longer reach
/// it. Throws ShapeError for another shape of what has history or hooks, DTypeError and ValueError
/// for a dtype or device that a gradient or history does not fit.
EBB_API void set_data(const Tensor& tensor, const Tensor& data);
/// The same for a tensor that is no leaf of a gradient and that nodes saved as it is: returns what
/// is to take its place, with its history, its name and the gradient that it keeps. The nodes keep
/// `tensor`, which is left with its memory and its history.
EBB_API Tensor with_data(const Tensor& tensor, const Tensor& data);

namespace autograd {

/// A tensor's place in the graph, without the tensor: what a run may start from or be asked for.
/// Owns the node. It stays the place of the tensor as it was, whatever is written to it later.
struct GradientEdge {
  NodePtr<Node> node;
  uint32_t output_nr = 0;
};

/// The recorded op that made the tensor, or null for a leaf.
inline Node* grad_fn(const Tensor& tensor) {
  return is_leaf(tensor) ? nullptr : static_cast<Node*>(tensor.impl()->producer);
}
/// Where the tensor's gradient goes (a leaf's accumulator included); null if nowhere. Not owning.
inline Edge gradient_edge(const Tensor& tensor) {
  settle(tensor);
  const TensorImpl* const impl = tensor.impl();
  if (impl == nullptr || impl->producer == nullptr) return {};
  return {static_cast<Node*>(impl->producer), impl->output_index};
}

}  // namespace autograd

/// Throws AutogradError for a tensor that requires no gradient.
EBB_API autograd::GradientEdge get_gradient_edge(const Tensor& tensor);

}  // namespace ebb
