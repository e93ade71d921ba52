// ebb/autograd/history/views.h -- views and in-place writes: how a write through one tensor changes
// the history of all that share its memory.
//
// A view keeps its base (tensor_impl.h: ViewRecord), and remembers which producer the base had when
// the view got its history. A write puts a new node on the base; from then on that producer differs
// and each view is stale: before anybody reads its history it is given a new one, as a region of
// the base (settle()). Nodes never own a base or a view, so no cycle can form: views are saved as
// detached twins. Threads that only read may settle one view at the same time; a write beside a
// reader is a race, as it is on the values.
#pragma once

#include "ebb/autograd/history/node.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Gives a stale view the history that it now has as a part of its base. Returns whether it
/// requires a gradient. Throws AutogradError if the view was not made by an ordinary op in grad
/// mode: then nothing is known of how it follows its base. Only for kView.
EBB_API bool settle_view(TensorImpl& view);

/// Call before reading the history of a tensor, or whether it has one. Free for all but views.
inline void settle(const Tensor& tensor) {
  TensorImpl* const impl = tensor.impl();
  if (impl != nullptr && (impl->flag_bits() & TensorImpl::kView) != 0) settle_view(*impl);
}
inline void settle(std::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors) settle(tensor);
}

/// The node of a write through `view`, which `written` recorded: the new producer of the base. Its
/// gradient goes to `written` where the view is, and to what the base was before elsewhere.
NodePtr<Node> make_write_node(NodePtr<Node> written, const TensorImpl& base, const TensorImpl& view,
                              LocationId location);

/// Throws AutogradError if a write through `self`, a view, would get lost: the base is a leaf that
/// requires a gradient, or the view was not made by an ordinary op in grad mode. Call in grad mode.
EBB_API void check_view_write(const char* op, const Tensor& self);

/// The line that made a view as far as known, for messages: called where no history tells it.
EBB_API void note_made_at(const Tensor& view, LocationId location);

/// Says how a view came about; views of it inherit that. No effect on what is no view.
EBB_API void mark_creation(const Tensor& view, Creation creation);

/// The tensor that a view shows a part of, itself no view; undefined for what is no view.
EBB_API Tensor base_of(const Tensor& tensor);
inline bool is_view(const Tensor& tensor) {
  return tensor.impl() != nullptr && tensor.impl()->base() != nullptr;
}

}  // namespace ebb::autograd
