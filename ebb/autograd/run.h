// ebb/autograd/run.h -- one run over a graph: what is asked of it, and where its state lives.
//
// Per node a run keeps how many gradients are still to come and their sum so far. The nodes have
// room for one run's state at a time (NodeScratch, nothing to look up); a run that finds it taken,
// nested inside another or beside it, keeps its state in a map (MapScratch). See run.cpp.
#pragma once

#include <atomic>
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

/// Everything that a caller decides about a run.
struct RunRequest {
  /// Edges whose gradient is wanted back, in the caller's order.
  std::vector<std::pair<NodePtr<Node>, uint32_t>> captures;
  bool is_restricted = false;  // run only what leads to a capture
  bool create_graph = false;
  bool releases = true;
  LocationId location = 0;  // of the call

  void add_capture(const Edge& edge) {
    captures.emplace_back(NodePtr<Node>::share(edge.node), edge.index);
  }
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

/// Runs the graph. Returns one gradient per capture, undefined where none arrived.
std::vector<Tensor> run_graph(const RunRequest& request, RunBuffers& buffers);

/// What a run notes of a node: a count of gradients to come and three marks, in one word.
struct NodeState {
  static constexpr uint32_t kNeeded = 1u << 31;    // on a path to a capture
  static constexpr uint32_t kCaptured = 1u << 30;  // a capture asks for one of its gradients
  static constexpr uint32_t kExecutes = 1u << 29;  // something behind it is needed
  static constexpr uint32_t kCountMask = kExecutes - 1;
};

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
  /// After a failed run: frees the gradients left in slots of all visited nodes.
  void forget_all(std::span<const Root> roots) noexcept;

 private:
  uint32_t id_;
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
  void forget_all(std::span<const Root> roots) noexcept;

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

}  // namespace ebb::autograd
