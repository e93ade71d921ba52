// ebb/autograd/record.h -- what generated recording functions are made of.
//
// A recording function runs the op, then calls make_node(), add_edge() per input, saves what its
// formulas need, and ends with set_history(), which is the first moment that a tensor points at the
// node: a failure before it (out of memory) leaves no trace.
#pragma once

#include <algorithm>
#include <new>

#include "ebb/autograd/grad_mode.h"
#include "ebb/autograd/node.h"
#include "ebb/autograd/origin.h"
#include "ebb/autograd/saved_tensor.h"
#include "ebb/core/allocator.h"
#include "ebb/core/tensor.h"

namespace ebb::autograd {

/// Opens the node's header to those who build and run nodes.
struct NodeAccess {
  static std::atomic<uint16_t>& flags(Node& node) { return node.flags_; }
  static uint16_t has_saved_flag() { return Node::kHasSaved; }

  /// Lays out the header; `class_bytes` is the size of the node's class.
  static void initialize(Node& node, size_t class_bytes, size_t edges, size_t outputs,
                         size_t meta_stride) {
    node.edge_count_ = static_cast<uint32_t>(edges);
    node.output_count_ = static_cast<uint32_t>(outputs);
    node.meta_stride_ = static_cast<uint16_t>(meta_stride);
    node.edges_offset_ = static_cast<uint16_t>(class_bytes);
    for (Edge& edge : node.edges()) edge = {};
  }
  static void describe_output(Node& node, size_t index, const TensorImpl& output) {
    OutputMeta& meta = node.mutable_output_meta(static_cast<uint32_t>(index));
    meta.dtype = output.dtype;
    meta.ndim = output.ndim;
    meta.device = output.device;
    meta.reserved = 0;
    for (int dim = 0; dim < output.ndim; ++dim) meta.dims[dim] = output.sizes()[dim];
  }
  static void number(Node& node, uint64_t above, LocationId location) {
    ThreadState& state = thread_state;
    const bool in_block = state.next_sequence < state.end_of_sequences;
    if (!in_block || state.next_sequence <= above) [[unlikely]] refill_sequences();
    node.sequence_ = state.next_sequence++;
    node.location_ = location;
  }

 private:
  /// Takes the next block of numbers; all of them are above every number handed out before.
  static EBB_API void refill_sequences();
};

/// A new node of class NodeType with unconnected edges. `max_ndim`: the most dims of any output.
template <typename NodeType>
NodePtr<NodeType> make_node(size_t edges, size_t outputs, int max_ndim) {
  const size_t stride = sizeof(OutputMeta) + sizeof(int64_t) * static_cast<size_t>(max_ndim);
  void* const block = allocate(node_bytes(sizeof(NodeType), edges, outputs, stride));
  auto* const node = new (block) NodeType();
  NodeAccess::initialize(*node, sizeof(NodeType), edges, outputs, stride);
  return NodePtr<NodeType>(node);
}

/// Connects edge `index` to where the gradient of `input` goes. Returns the number of the node it
/// leads to, 0 for a leaf or nobody.
inline uint64_t add_edge(Node& node, size_t index, const Tensor& input) {
  if (!input.requires_grad()) return 0;
  const TensorImpl& impl = *input.impl();
  auto* const producer = static_cast<Node*>(impl.producer);
  producer->retain();
  node.edges()[index] = {producer, impl.output_index};
  return producer->sequence();
}

/// Says that release_saved() has something to free.
inline void mark_saved(Node& node) {
  NodeAccess::flags(node).store(NodeAccess::has_saved_flag(), std::memory_order_relaxed);
}

/// Numbers the node, above `above` (the largest number that add_edge() gave), and makes it the
/// history of its only output.
inline void set_history(NodePtr<Node> node, uint64_t above, const Tensor& out,
                        LocationId location) {
  TensorImpl& impl = *out.impl();
  NodeAccess::describe_output(*node, 0, impl);
  NodeAccess::number(*node, above, location);
  impl.output_index = 0;
  impl.flags |= gate::kRequiresGrad;
  impl.producer = node.leak();
}

/// The same for an op of several differentiable outputs.
EBB_API void set_history(NodePtr<Node> node, uint64_t above, std::span<const Tensor> outs,
                         LocationId location);

/// The same for an op that wrote `self` in place: the old history is now behind the new node.
EBB_API void rebase_history(NodePtr<Node> node, uint64_t above, const Tensor& self,
                            LocationId location);

/// Throws if an in-place op may not write `self`: a leaf that requires a gradient (AutogradError),
/// or memory with views while a gradient is involved (NotImplementedError). Call in grad mode, with
/// `involves_grad` telling whether self or any operand requires one.
EBB_API void check_inplace(const char* op, const Tensor& self, bool involves_grad);

/// Gate bits of all operands and the thread, in one word; 0 means the straight path.
template <typename... Tensors>
uint32_t gate_of(const Tensors&... operands) {
  return (thread_state.modes | ... | operands.gate_bits()) & gate::kMask;
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
