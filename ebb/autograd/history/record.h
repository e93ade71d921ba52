// ebb/autograd/history/record.h -- what generated recording functions are made of.
//
// A recording function runs the op, then calls make_node(), add_edge() per input, saves what its
// formulas need, and ends with set_history(), which is the first moment that a tensor points at the
// node: a failure before it (out of memory) leaves no trace.
#pragma once

#include <initializer_list>
#include <span>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/node_block.h"
#include "ebb/autograd/history/origin.h"
#include "ebb/autograd/history/saved_tensor.h"
#include "ebb/autograd/history/views.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Connects edge `index` to where the gradient of a defined `input` goes. Returns the number of the
/// node it leads to, 0 for a leaf or nobody.
[[gnu::always_inline]] inline uint64_t add_edge_of(Node& node, size_t index, const Tensor& input) {
  TensorImpl& impl = *input.impl();
  const uint32_t kind = impl.flag_bits() & (gate::kRequiresGrad | TensorImpl::kView);
  if (kind != gate::kRequiresGrad) {
    if (kind == 0 || !settle_view(impl)) return 0;
  }
  auto* const producer = static_cast<Node*>(impl.producer);
  producer->retain();
  Edge& edge = NodeAccess::edges(node)[index];
  edge.node = producer;
  edge.index = impl.output_index;
  return producer->sequence();
}
/// The same for an operand that may be undefined.
inline uint64_t add_edge(Node& node, size_t index, const Tensor& input) {
  return input.defined() ? add_edge_of(node, index, input) : 0;
}

/// The flags of a tensor that has a history from now on.
inline uint8_t recorded_flags(uint8_t flags) {
  return static_cast<uint8_t>((flags & ~gate::kUnsettled) | gate::kRequiresGrad);
}

namespace detail {

/// Takes over `node`.
[[gnu::noinline]] inline void set_history(Node* node, uint64_t above, TensorImpl& out,
                                          LocationId location) {
  NodePtr<Node> owned(node);
  NodeAccess::describe_output(*node, 0, out);
  NodeAccess::number(*node, above, location);
  out.output_index = 0;
  out.flags = recorded_flags(out.flags);
  out.producer = owned.leak();
}

}  // namespace detail

/// Numbers the node, above `above` (the largest number that add_edge() gave), and makes it the
/// history of its only output.
template <typename NodeType>
[[gnu::always_inline]] inline void set_history(NodePtr<NodeType> node, uint64_t above,
                                               const Tensor& out, LocationId location) {
  detail::set_history(node.leak(), above, *out.impl(), location);
}

/// The same for an op of several differentiable outputs.
EBB_API void set_history(NodePtr<Node> node, uint64_t above, std::span<const Tensor> outs,
                         LocationId location);

/// Call before rebase_history() and before `self` is written: nodes above `node` that saved the
/// very impl of `self`, or of its base, get a twin instead. Else that tensor, whose history `node`
/// becomes, would own the nodes that own it.
EBB_API void separate_savers(Node& node, TensorImpl& owner);
inline void leave_savers(Node& node, const Tensor& self) {
  TensorImpl* const base = self.impl()->base();
  TensorImpl& owner = base != nullptr ? *base : *self.impl();
  if (owner.saved_as_it_is != 0) [[unlikely]]
    separate_savers(node, owner);
}

/// set_history() for an op that wrote `self` in place: the old history is now behind the new node.
/// For a view that goes for its base, which every view of it then follows (views.h).
EBB_API void rebase_history(NodePtr<Node> node, uint64_t above, const Tensor& self,
                            LocationId location);

/// Throws AutogradError if an in-place op may not write `self`: a leaf that requires a gradient, or
/// a view that check_view_write() refuses. Call in grad mode, with `involves_grad` telling whether
/// self or any operand requires one.
EBB_API void check_inplace(const char* op, const Tensor& self, bool involves_grad);
/// The same for a write that is not recorded: refuses a view whose base requires a gradient.
EBB_API void check_unrecorded_write(const char* op, const Tensor& self);

/// Gate bits of all operands and the thread, in one word; 0 means the straight path.
template <typename... Tensors>
uint32_t gate_of(const Tensors&... operands) {
  return (thread_state.modes | ... | operands.gate_bits()) & gate::kMask;
}

/// settle() for all operands of a call: tensors, perhaps undefined, and lists.
template <typename... Operands>
void settle_all(const Operands&... operands) {
  (settle(operands), ...);
}

/// The gate bits of a call whose operands were defined and have been settled: those of before, with
/// the history and tangents that some may have got. (Not all of `now`: the caller may be done with
/// modes that watch.)
inline uint32_t settled_bits(uint32_t before, uint32_t now) {
  return (before & ~gate::kUndefined) | (now & (gate::kRequiresGrad | gate::kTangent));
}

/// Lets an unrecorded result inherit the reason why an operand has no history.
template <typename... Tensors>
void inherit_origin(const Tensor& out, const Tensors&... operands) {
  Origin origin = 0;
  ((origin = origin != 0 ? origin : operands.impl()->output_index), ...);
  if (origin != 0) set_origin(out, origin);
}

/// Notes on an unrecorded result that no_grad (or inference mode) cut its history here.
inline void mark_cut(const Tensor& out, Cut cut, LocationId location) {
  set_origin(out, make_origin(cut, location));
}

/// Throws ValueError naming the first undefined operand.
EBB_API void check_defined(const char* op, std::initializer_list<const Tensor*> operands,
                           std::initializer_list<const char*> names);

}  // namespace ebb::autograd
