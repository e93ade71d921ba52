// ebb/autograd/history/node_block.h -- a node's block of memory: its parts, making it, its header.
//
// The header is closed to all but those who build and run nodes: NodeAccess opens it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "ebb/autograd/history/node.h"
#include "ebb/core/device/op_context.h"
#include "ebb/core/runtime/block_cache.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Where the parts of a node's block lie.
struct NodeLayout {
  size_t class_bytes;
  size_t outputs;
  size_t meta_words;
  size_t edges;

  /// For a class of `class_bytes` whose outputs have at most `max_ndim` dims.
  NodeLayout(size_t class_bytes, size_t edges, size_t outputs, int max_ndim)
      : class_bytes(class_bytes),
        outputs(outputs),
        meta_words(1 + static_cast<size_t>(max_ndim)),
        edges(edges) {}

  size_t edges_offset() const { return class_bytes + outputs * meta_words * 8; }
  size_t slots_offset() const { return edges_offset() + edges * sizeof(Edge); }
  size_t bytes() const {
    return slots_offset() + (outputs > 1 ? outputs * sizeof(TensorImpl*) : 0);
  }
};

/// Opens the node's header to those who build and run nodes.
struct NodeAccess {
  static constexpr uint8_t kReleased = Node::kReleased;
  static constexpr uint8_t kLocked = Node::kLocked;
  static constexpr uint8_t kHasSaved = Node::kHasSaved;
  static constexpr uint8_t kCallerThread = Node::kCallerThread;

  static std::atomic<uint8_t>& flags(Node& node) { return node.flags_; }
  static NodeExtra*& extra(Node& node) { return node.extra_; }
  static uint32_t& task(Node& node) { return node.task_; }
  static uint32_t& pending(Node& node) { return node.pending_; }
  /// The gradient slots, one per output.
  static TensorImpl** slots(Node& node) {
    if (node.output_count_ == 1) return &node.slot_;
    return reinterpret_cast<TensorImpl**>(node.edge_data() + node.edge_count_);
  }
  static Edge* edges(Node& node) { return node.edge_data(); }
  /// A node whose slot is empty can carry a link to another one there.
  static void set_link(Node& node, Node* next) {
    node.slot_ = static_cast<TensorImpl*>(static_cast<void*>(next));
  }
  static Node* take_link(Node& node) {
    return static_cast<Node*>(static_cast<void*>(std::exchange(node.slot_, nullptr)));
  }

  /// Fills in the header of a node that was just constructed, and leaves it unconnected.
  static void initialize(Node& node, const NodeLayout& layout) {
    node.edge_count_ = static_cast<uint32_t>(layout.edges);
    node.output_count_ = static_cast<uint32_t>(layout.outputs);
    node.edges_offset_ = static_cast<uint32_t>(layout.edges_offset());
    node.meta_offset_ = static_cast<uint16_t>(layout.class_bytes);
    node.meta_words_ = static_cast<uint8_t>(layout.meta_words);
    static_assert(std::is_trivially_copyable_v<Edge>);
    std::memset(static_cast<void*>(node.edge_data()), 0, layout.edges * sizeof(Edge));
    if (layout.outputs > 1) std::fill_n(slots(node), layout.outputs, nullptr);
  }
  static size_t block_bytes(Node& node) {
    const size_t slots = node.output_count_ > 1 ? node.output_count_ * sizeof(TensorImpl*) : 0;
    return node.edges_offset_ + node.edge_count_ * sizeof(Edge) + slots;
  }
  static void describe_output(Node& node, size_t index, const TensorImpl& output) {
    const OpContext context = current_op_context();
    OutputMeta& meta = node.mutable_output_meta(static_cast<uint32_t>(index));
    // dtype, ndim and device are neighbours in both.
    static_assert(offsetof(OutputMeta, device) - offsetof(OutputMeta, dtype) == 2);
    std::memcpy(static_cast<void*>(&meta),
                reinterpret_cast<const char*>(&output) + offsetof(TensorImpl, dtype), 4);
    meta.flags = output.flags;
    meta.context = context;
    for (int dim = 0; dim < output.ndim; ++dim) meta.dims[dim] = output.sizes()[dim];
  }
  /// The node wrote its output over what was there: that it wrote a view says nothing of operands.
  static void mark_as_write(Node& node) { node.mutable_output_meta(0).flags = 0; }
  static void number(Node& node, uint64_t above, LocationId location) {
    ThreadState& state = thread_state;
    const bool in_block = state.next_sequence < state.end_of_sequences;
    if (!in_block || state.next_sequence <= above) [[unlikely]]
      refill_sequences();
    node.sequence_ = state.next_sequence++;
    node.location_ = location;
  }

 private:
  /// Takes the next block of numbers; all of them are above every number handed out before.
  static EBB_API void refill_sequences();
};

// An owning pointer is passed in memory, a plain one in a register. Recording therefore calls
// functions that take and return plain pointers, through inlined ones that say who owns what.
namespace detail {

template <typename NodeType>
NodeType* new_node(size_t edges, size_t outputs, int max_ndim) {
  const NodeLayout layout(sizeof(NodeType), edges, outputs, max_ndim);
  auto* const node = new (allocate_inline(layout.bytes())) NodeType();
  NodeAccess::initialize(*node, layout);
  return node;
}

}  // namespace detail

/// A new node of class NodeType with unconnected edges. `max_ndim`: the most dims of any output.
/// `edges` is at least 1: a run takes a node without edges for a leaf's accumulator.
template <typename NodeType>
[[gnu::always_inline]] inline NodePtr<NodeType> make_node(size_t edges, size_t outputs,
                                                          int max_ndim) {
  return NodePtr<NodeType>(detail::new_node<NodeType>(edges, outputs, max_ndim));
}

/// Says that release_saved() has something to free.
inline void mark_saved(Node& node) {
  NodeAccess::flags(node).store(NodeAccess::kHasSaved, std::memory_order_relaxed);
}
/// Says that only the thread that called backward() may run the node: its rule calls Python, say.
/// Call after mark_saved().
inline void mark_for_caller_thread(Node& node) {
  NodeAccess::flags(node).fetch_or(NodeAccess::kCallerThread, std::memory_order_relaxed);
}

}  // namespace ebb::autograd
