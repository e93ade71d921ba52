// ebb/autograd/run_state.h -- where the state of a run lives: per node, and the run's vectors.
//
// Per node a run keeps how many gradients are still to come and their sum so far. The nodes have
// room for one run's state at a time (NodeScratch, nothing to look up); a run that finds it taken,
// nested inside another or beside it, keeps its state in a map (MapScratch).
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "ebb/autograd/meta.h"
#include "ebb/autograd/node.h"
#include "ebb/autograd/record.h"
#include "ebb/core/tensor.h"

namespace ebb::autograd {

/// Where a run starts: a gradient and the edge that it goes into.
struct Root {
  NodePtr<Node> node;
  uint32_t index = 0;
  Tensor seed;
};

/// A gradient that waits for the end of the run.
struct StagedGradient {
  AccumulateGrad* leaf;
  Tensor grad;
};

/// The vectors of a run. A thread keeps them for its next run: growing them anew costs page faults.
struct RunBuffers {
  std::vector<Root> roots;
  std::vector<Node*> stack;
  std::vector<Node*> heap;
  std::vector<StagedGradient> staged;

  void add_root(const Edge& edge, Tensor seed) {
    roots.push_back({NodePtr<Node>::share(edge.node), edge.index, std::move(seed)});
  }
};

/// The thread's buffers, or fresh ones for a run inside another.
class BufferClaim {
 public:
  BufferClaim();
  ~BufferClaim();
  BufferClaim(const BufferClaim&) = delete;
  BufferClaim& operator=(const BufferClaim&) = delete;
  RunBuffers& operator*() const { return *buffers_; }
  RunBuffers* operator->() const { return buffers_; }

 private:
  RunBuffers* buffers_;
};

/// What a run notes of a node: a count of gradients to come and four marks, in one word.
struct NodeState {
  static constexpr uint32_t kNeeded = 1u << 31;    // on a path to a capture
  static constexpr uint32_t kCaptured = 1u << 30;  // a capture asks for one of its gradients
  static constexpr uint32_t kExecutes = 1u << 29;  // something behind it is needed
  static constexpr uint32_t kAdded = 1u << 28;     // a leaf whose grad was added to already
  static constexpr uint32_t kCountMask = kAdded - 1;
};

inline void release_slots(TensorImpl** slots, uint32_t count) noexcept {
  for (uint32_t index = 0; index < count; ++index) {
    if (slots[index] != nullptr) std::exchange(slots[index], nullptr)->release();
  }
}

/// State inside the nodes. At most one run in the process may use it at a time.
class NodeScratch {
 public:
  NodeScratch();
  /// True at the first visit of this run; the state is then blank.
  bool visit(Node& node) {
    if (NodeAccess::task(node) == id_) return false;
    NodeAccess::task(node) = id_;
    NodeAccess::pending(node) = 0;
    return true;
  }
  bool is_visited(Node& node) const { return NodeAccess::task(node) == id_; }
  uint32_t& state(Node& node) { return NodeAccess::pending(node); }
  TensorImpl** slots(Node& node) { return NodeAccess::slots(node); }
  /// After a failed run: frees the gradients left in slots of all visited nodes, and calls
  /// `see(node, state)` with each.
  template <typename See>
  void forget_all(std::span<const Root> roots, See&& see) noexcept;

 private:
  uint32_t id_;
};

/// Holds the scratch inside nodes if nobody else does.
class ScratchClaim {
 public:
  ScratchClaim();
  ~ScratchClaim();
  ScratchClaim(const ScratchClaim&) = delete;
  ScratchClaim& operator=(const ScratchClaim&) = delete;
  bool is_held() const { return is_held_; }

 private:
  bool is_held_;
};

/// State beside the nodes.
class MapScratch {
 public:
  bool visit(Node& node) {
    const auto [entry, is_new] = entries_.try_emplace(&node);
    if (is_new) entry->second.slots.resize(node.output_count());
    return is_new;
  }
  bool is_visited(Node& node) const { return entries_.contains(&node); }
  uint32_t& state(Node& node) { return entries_.find(&node)->second.state; }
  TensorImpl** slots(Node& node) { return entries_.find(&node)->second.slots.data(); }
  template <typename See>
  void forget_all(std::span<const Root> roots, See&& see) noexcept;

 private:
  struct Entry {
    uint32_t state = 0;
    std::vector<TensorImpl*> slots;
  };
  std::unordered_map<Node*, Entry> entries_;
};

/// The ready nodes, latest recorded first. One register in front of a heap: on a chain, the node
/// just made ready is the one to run next.
class ReadyNodes {
 public:
  explicit ReadyNodes(std::vector<Node*>& heap) : heap_(heap) { heap_.clear(); }
  void push(Node* node) {
    if (next_ == nullptr) {
      next_ = node;
      return;
    }
    if (node->sequence() > next_->sequence()) std::swap(node, next_);
    push_heap(node);
  }
  Node* pop() {
    if (next_ != nullptr && (heap_.empty() || heap_.front()->sequence() < next_->sequence())) {
      return std::exchange(next_, nullptr);
    }
    return heap_.empty() ? nullptr : pop_heap();
  }

 private:
  void push_heap(Node* node);
  Node* pop_heap();

  Node* next_ = nullptr;
  std::vector<Node*>& heap_;
};

// Nodes that wait to be looked at are chained through their slot, which is empty by then: this must
// work when there is no memory left.
template <typename See>
void NodeScratch::forget_all(std::span<const Root> roots, See&& see) noexcept {
  Node* waiting = nullptr;
  const auto forget = [&](Node& node) {
    if (!is_visited(node)) return;
    see(node, state(node));
    NodeAccess::task(node) = 0;
    release_slots(slots(node), node.output_count());
    NodeAccess::set_link(node, std::exchange(waiting, &node));
  };
  for (const Root& root : roots) forget(*root.node);
  while (waiting != nullptr) {
    Node& node = *waiting;
    waiting = NodeAccess::take_link(node);
    for (const Edge& edge : node.edges()) {
      if (edge.node != nullptr) forget(*edge.node);
    }
  }
}

template <typename See>
void MapScratch::forget_all(std::span<const Root> /*roots*/, See&& see) noexcept {
  for (auto& [node, entry] : entries_) {
    see(*node, entry.state);
    release_slots(entry.slots.data(), node->output_count());
  }
}

}  // namespace ebb::autograd
