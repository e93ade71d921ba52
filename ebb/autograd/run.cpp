// ebb/autograd/run.cpp -- the run itself: discover, execute, deliver, commit.
//
// Order: among ready nodes the one recorded last runs first; gradients of one slot are added in the
// order they come, which for a graph recorded by one thread is falling sequence number. A leaf
// accumulates as soon as its gradient is complete: at once if it has a gradient already, else its
// gradient is staged and committed after the last node, so that a failed run leaves it without one.
#include "ebb/autograd/run.h"

#include <algorithm>

#include "ebb/autograd/gradient_math.h"
#include "ebb/autograd/meta.h"
#include "ebb/autograd/node_extra.h"
#include "ebb/core/error.h"

namespace ebb::autograd {
namespace {

// Whether some run is using the scratch inside nodes.
std::atomic<bool> node_scratch_taken{false};

template <typename E>
[[noreturn]] void rethrow_with_line(const E& error, const Node& node) {
  throw E(str(error.what(), "\n  in ", node.name(), ", recorded at ",
              to_string(describe_location(node.location()))));
}

/// Rethrows the current exception; ebb's own errors get the line that recorded the node added.
[[noreturn]] void rethrow_at(const Node& node) {
  try {
    throw;
  } catch (const ShapeError& error) {
    rethrow_with_line(error, node);
  } catch (const ValueError& error) {
    rethrow_with_line(error, node);
  } catch (const DTypeError& error) {
    rethrow_with_line(error, node);
  } catch (const IndexError& error) {
    rethrow_with_line(error, node);
  } catch (const NotImplementedError& error) {
    rethrow_with_line(error, node);
  } catch (const OutOfMemoryError& error) {
    rethrow_with_line(error, node);
  }
}

/// `count` undefined tensors: on the stack if they are few.
class TensorArray {
 public:
  explicit TensorArray(size_t count) {
    if (count > std::size(few_)) many_.resize(count);
  }
  Tensor* data() { return many_.empty() ? few_ : many_.data(); }

 private:
  Tensor few_[4];
  std::vector<Tensor> many_;
};

template <typename Scratch>
class GraphRun final : public RestrictedRun {
 public:
  GraphRun(const RunRequest& request, RunBuffers& buffers)
      : request_(request),
        buffers_(buffers),
        ready_(buffers.heap),
        captured_(request.captures.size()) {
    buffers.staged.clear();
    buffers.stack.clear();
  }

  std::vector<Tensor> run() {
    try {
      discover();
      start();
      while (Node* const node = ready_.pop()) step(*node);
      commit();
    } catch (...) {
      scratch_.forget_all(buffers_.roots);
      throw;
    }
    return std::move(captured_);
  }

  bool is_needed(const Node& node) const override {
    return (scratch_.state(const_cast<Node&>(node)) & NodeState::kNeeded) != 0;
  }

 private:
  struct Frame {
    Node* node;
    uint32_t next_edge;
  };
  void discover() {
    if (!request_.is_restricted) return discover_all();
    for (size_t position = 0; position < request_.captures.size(); ++position) {
      capture_order_.emplace_back(request_.captures[position].first.get(), position);
    }
    std::sort(capture_order_.begin(), capture_order_.end());
    discover_needed();
  }

  /// The captures of one node: pairs of it and a position.
  auto captures_of(const Node& node) const {
    return std::equal_range(capture_order_.begin(), capture_order_.end(),
                            std::pair(&node, size_t{0}),
                            [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  /// Visits everything behind the roots and counts the edges into each node.
  void discover_all() {
    std::vector<Node*>& stack = buffers_.stack;
    for (const Root& root : buffers_.roots) {
      if (scratch_.visit(*root.node)) stack.push_back(root.node.get());
    }
    while (!stack.empty()) {
      Node* const node = stack.back();
      stack.pop_back();
      Edge* const edges = NodeAccess::edges(*node);
      for (size_t index = 0, count = node->edge_count(); index < count; ++index) {
        Node* const next = edges[index].node;
        if (next == nullptr) continue;
        if (scratch_.visit(*next) && next->edge_count() > 0) stack.push_back(next);
        ++scratch_.state(*next);
      }
    }
  }

  /// The same, depth first, counting only edges from which a capture can be reached.
  void discover_needed() {
    std::vector<Frame> path;
    for (const Root& root : buffers_.roots) {
      if (scratch_.visit(*root.node)) path.push_back({root.node.get(), 0});
      while (!path.empty()) {
        Frame& frame = path.back();
        if (frame.next_edge == frame.node->edge_count()) {
          finish_discovery(*frame.node);
          path.pop_back();
          continue;
        }
        Node* const next = frame.node->edges()[frame.next_edge++].node;
        if (next != nullptr && scratch_.visit(*next)) path.push_back({next, 0});
      }
    }
  }

  /// All that lies behind `node` is marked: mark the node itself.
  void finish_discovery(Node& node) {
    uint32_t marks = 0;
    const auto [first, last] = captures_of(node);
    if (first != last) marks |= NodeState::kNeeded | NodeState::kCaptured;
    for (const Edge& edge : node.edges()) {
      if (edge.node == nullptr) continue;
      uint32_t& next = scratch_.state(*edge.node);
      if ((next & NodeState::kNeeded) == 0) continue;
      ++next;
      marks |= NodeState::kNeeded | NodeState::kExecutes;
    }
    scratch_.state(node) |= marks;
  }

  /// Puts the seeds into their slots, then lets those roots run that wait for nobody.
  void start() {
    for (Root& root : buffers_.roots) {
      if (request_.is_restricted && !is_needed(*root.node)) continue;
      add_to_slot(*root.node, root.index, root.seed.leak());
    }
    for (const Root& root : buffers_.roots) {
      uint32_t& state = scratch_.state(*root.node);
      const bool waits = (state & NodeState::kCountMask) != 0;
      if (waits || (request_.is_restricted && !is_needed(*root.node))) continue;
      state |= NodeState::kCountMask;  // several roots may be outputs of one node: queue it once
      make_ready(*root.node);
    }
  }

  void make_ready(Node& node) {
    if (node.edge_count() == 0) {
      step(node);
    } else {
      ready_.push(&node);
    }
  }

  void step(Node& node) {
    TensorImpl** const slots = scratch_.slots(node);
    if (node.output_count() == 1) [[likely]] {
      Tensor grad = Tensor::adopt(std::exchange(slots[0], nullptr));
      step(node, &grad, grad.defined());
      return;
    }
    TensorArray grads(node.output_count());
    bool any_defined = false;
    for (uint32_t index = 0; index < node.output_count(); ++index) {
      grads.data()[index] = Tensor::adopt(std::exchange(slots[index], nullptr));
      any_defined |= grads.data()[index].defined();
    }
    step(node, grads.data(), any_defined);
  }

  void step(Node& node, Tensor* grads, bool any_defined) {
    if (node.extra() != nullptr) [[unlikely]]
      add_to_retained(node, grads);
    if (request_.is_restricted) {
      const uint32_t state = scratch_.state(node);
      if ((state & NodeState::kCaptured) != 0) capture(node, grads);
      if ((state & NodeState::kExecutes) == 0) return;
    } else if (node.edge_count() == 0) {
      if (any_defined) accumulate(static_cast<AccumulateGrad&>(node), std::move(grads[0]));
      return;
    }
    if (node.edge_count() <= 2) [[likely]] {
      Tensor grad_inputs[2];
      execute(node, grads, grad_inputs, any_defined);
    } else {
      TensorArray grad_inputs(node.edge_count());
      execute(node, grads, grad_inputs.data(), any_defined);
    }
  }

  void execute(Node& node, Tensor* grads, Tensor* grad_inputs, bool any_defined) {
    if (request_.create_graph) {  // what backward records belongs to the line of the forward op
      const LocationScope location(node.location());
      apply_and_deliver(node, grads, grad_inputs, any_defined);
    } else {
      apply_and_deliver(node, grads, grad_inputs, any_defined);
    }
  }

  void apply_and_deliver(Node& node, Tensor* grads, Tensor* grad_inputs, bool any_defined) {
    Edge* const edges = NodeAccess::edges(node);
    // By the time that the gradient is there, so is the node that it goes to.
    __builtin_prefetch(edges[0].node);
    // Without any gradient there is nothing to compute, yet those behind wait for the news.
    if (any_defined) [[likely]] {
      try {
        NodeRun run(node, request_.releases, request_.is_restricted ? this : nullptr);
        node.apply(grads, grad_inputs, run);
      } catch (const Error&) {
        rethrow_at(node);
      }
      if (request_.releases) release(node);
    }
    for (size_t index = 0, count = node.edge_count(); index < count; ++index) {
      if (edges[index].node != nullptr) deliver(node, index, edges[index], grad_inputs[index]);
    }
  }

  void release(Node& node) {
    if ((NodeAccess::flags(node).load(std::memory_order_relaxed) & NodeAccess::kHasSaved) == 0) {
      return;
    }
    const SavedLock lock(node);
    node.release_saved();
    node.edges()[0].freed_at = request_.location;
    NodeAccess::flags(node).fetch_or(NodeAccess::kReleased, std::memory_order_relaxed);
  }

  /// Adds a gradient to the slot that `edge` leads to; the node there may run if it was the last.
  void deliver(const Node& node, size_t index, const Edge& edge, Tensor& grad) {
    Node& next = *edge.node;
    uint32_t& state = scratch_.state(next);
    if (request_.is_restricted && (state & NodeState::kNeeded) == 0) return;
    if (grad.defined()) {
      const OutputMeta& meta = next.output_meta(edge.index);
      if (!conforms(*grad.impl(), meta)) [[unlikely]] {
        grad = conform(std::move(grad), meta, node, index);
      }
      add_to_slot(next, edge.index, grad.leak());
    }
    if ((--state & NodeState::kCountMask) == 0) make_ready(next);
  }

  void add_to_slot(Node& node, uint32_t index, TensorImpl* grad) {
    TensorImpl*& slot = scratch_.slots(node)[index];
    if (slot == nullptr) [[likely]] {
      slot = grad;
      return;
    }
    const Tensor later = Tensor::adopt(grad);
    Tensor sum = add_gradients(Tensor::adopt(std::exchange(slot, nullptr)), later);
    slot = sum.leak();
  }

  void capture(Node& node, const Tensor* grads) {
    const auto [first, last] = captures_of(node);
    for (auto entry = first; entry != last; ++entry) {
      captured_[entry->second] = grads[request_.captures[entry->second].second];
    }
  }

  void add_to_retained(Node& node, const Tensor* grads) {
    NodeExtra& extra = *node.extra();
    const std::lock_guard lock(extra.mutex);
    for (const auto& [index, meta] : extra.retained) {
      if (grads[index].defined()) meta->accumulate(grads[index]);
    }
  }

  void accumulate(AccumulateGrad& leaf, Tensor grad) {
    if (!leaf.try_accumulate(grad)) buffers_.staged.push_back({&leaf, std::move(grad)});
  }

  /// Copies what must be copied first: that may run out of memory, and then nothing has happened.
  void commit() {
    for (StagedGradient& staged : buffers_.staged) {
      staged.grad = owned_gradient(std::move(staged.grad));
    }
    for (StagedGradient& staged : buffers_.staged) {
      staged.leaf->accumulate(std::move(staged.grad));
    }
  }

  const RunRequest& request_;
  RunBuffers& buffers_;
  mutable Scratch scratch_;
  ReadyNodes ready_;
  std::vector<Tensor> captured_;
  std::vector<std::pair<const Node*, size_t>> capture_order_;  // node and position, sorted
};

void release_slots(TensorImpl** slots, uint32_t count) noexcept {
  for (uint32_t index = 0; index < count; ++index) {
    if (slots[index] != nullptr) std::exchange(slots[index], nullptr)->release();
  }
}

/// Holds the scratch inside nodes if nobody else does.
class ScratchClaim {
 public:
  ScratchClaim() : is_held_(!node_scratch_taken.exchange(true, std::memory_order_acquire)) {}
  ~ScratchClaim() {
    if (is_held_) node_scratch_taken.store(false, std::memory_order_release);
  }
  ScratchClaim(const ScratchClaim&) = delete;
  ScratchClaim& operator=(const ScratchClaim&) = delete;
  bool is_held() const { return is_held_; }

 private:
  bool is_held_;
};

}  // namespace

// A run's number is never reused while a node could still carry it: 2^32 runs lie between.
NodeScratch::NodeScratch() {
  static std::atomic<uint32_t> next_id{1};
  id_ = next_id.fetch_add(1, std::memory_order_relaxed);
  if (id_ == 0) id_ = next_id.fetch_add(1, std::memory_order_relaxed);  // 0 marks fresh nodes
}

// Nodes that wait to be looked at are chained through their slot, which is empty by then: this must
// work when there is no memory left.
void NodeScratch::forget_all(std::span<const Root> roots) noexcept {
  Node* waiting = nullptr;
  const auto forget = [&](Node& node) {
    if (!is_visited(node)) return;
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

void MapScratch::forget_all(std::span<const Root> /*roots*/) noexcept {
  for (auto& [node, entry] : entries_) release_slots(entry.slots.data(), node->output_count());
}

void ReadyNodes::push_heap(Node* node) {
  heap_.push_back(node);
  std::push_heap(heap_.begin(), heap_.end(),
                 [](const Node* a, const Node* b) { return a->sequence() < b->sequence(); });
}

Node* ReadyNodes::pop_heap() {
  std::pop_heap(heap_.begin(), heap_.end(),
                [](const Node* a, const Node* b) { return a->sequence() < b->sequence(); });
  Node* const node = heap_.back();
  heap_.pop_back();
  return node;
}

bool NodeRun::is_needed(const Node* node) const { return restricted_to_->is_needed(*node); }

BufferClaim::BufferClaim() : buffers_(static_cast<RunBuffers*>(thread_state.engine)) {
  thread_state.engine = nullptr;
  if (buffers_ == nullptr) buffers_ = new RunBuffers();
}

BufferClaim::~BufferClaim() {
  thread_local std::unique_ptr<RunBuffers> kept;
  buffers_->roots.clear();
  buffers_->staged.clear();
  if (kept == nullptr) kept.reset(buffers_);
  if (kept.get() == buffers_) {
    thread_state.engine = buffers_;
  } else {
    delete buffers_;  // of a run inside another, which is using the kept ones
  }
}

std::vector<Tensor> run_graph(const RunRequest& request, RunBuffers& buffers) {
  const uint32_t grad_off = request.create_graph ? 0 : gate::kNoGrad;
  const ModeScope mode(grad_off, gate::kNoGrad & ~grad_off);
  const ScratchClaim claim;
  if (claim.is_held()) return GraphRun<NodeScratch>(request, buffers).run();
  return GraphRun<MapScratch>(request, buffers).run();
}

}  // namespace ebb::autograd
