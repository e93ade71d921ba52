// ebb/autograd/history/node_block.cpp -- destroying nodes without recursion, and numbering them.
//
// A dying node drops its edges, which may kill the nodes behind it, and so on for millions of
// nodes. So a dead node is only put on a list of its thread; whoever put the first one there
// empties it.
#include "ebb/autograd/history/node_block.h"

#include "ebb/autograd/history/node_extra.h"

namespace ebb::autograd {
namespace {

// Stands in thread_state.dead_nodes while the list is being emptied but has no node in it.
char end_of_list;

void free_extra(NodeExtra* extra) noexcept {
  const auto release = ebb::detail::release_py_object;
  if (extra->py_object != nullptr && release != nullptr) release(extra->py_object);
  delete extra;
}

}  // namespace

void Node::dispose() noexcept {
  ThreadState& state = thread_state;
  const bool is_first = state.dead_nodes == nullptr;
  // The slot is free: no run can hold a node that has no owner. It serves as the list's link.
  slot_ = static_cast<TensorImpl*>(is_first ? static_cast<void*>(&end_of_list) : state.dead_nodes);
  state.dead_nodes = this;
  __builtin_prefetch(reinterpret_cast<char*>(this) + sizeof(Node));  // its edges are next
  if (!is_first) return;
  while (state.dead_nodes != &end_of_list) {
    Node* const node = static_cast<Node*>(state.dead_nodes);
    state.dead_nodes = node->slot_;
    destroy(node);
  }
  state.dead_nodes = nullptr;
}

void Node::destroy(Node* node) noexcept {
  for (const Edge& edge : node->edges()) {
    if (edge.node != nullptr) edge.node->release();
  }
  if (node->extra_ != nullptr) free_extra(node->extra_);
  const size_t bytes = NodeAccess::block_bytes(*node);
  node->~Node();
  deallocate_inline(node, bytes);
}

NodeExtra& ensure_extra(Node& node) {
  std::atomic_ref<NodeExtra*> slot(NodeAccess::extra(node));
  NodeExtra* existing = slot.load(std::memory_order_acquire);
  if (existing != nullptr) return *existing;
  auto* const made = new NodeExtra();
  if (slot.compare_exchange_strong(existing, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *existing;
}

void NodeAccess::refill_sequences() {
  // 0 is left to accumulators, which come after everything.
  static std::atomic<uint64_t> next_block{1};
  constexpr uint64_t kBlock = 1024;
  const uint64_t first = next_block.fetch_add(kBlock, std::memory_order_relaxed);
  thread_state.next_sequence = first;
  thread_state.end_of_sequences = first + kBlock;
}

}  // namespace ebb::autograd
