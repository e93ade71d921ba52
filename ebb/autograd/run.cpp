// ebb/autograd/run.cpp -- the run itself: discover, execute, deliver, commit.
//
// Order: among ready nodes the one recorded last runs first; gradients of one slot are added in the
// order they come, which for a graph recorded by one thread is falling sequence number. A leaf
// accumulates as soon as its gradient is complete: at once if it has a gradient already, else its
// gradient is staged and committed after the last node, so that a failed run leaves it without one.
//
// Hooks cost nothing where there are none: a node that has any, or a tensor that retains its
// gradient, takes step_with_extra(), which follows the order that hooks.h gives.
#include "ebb/autograd/run.h"

#include <algorithm>

#include "ebb/autograd/active_run.h"
#include "ebb/autograd/foreign_error.h"
#include "ebb/autograd/gradient_math.h"
#include "ebb/autograd/hooks.h"
#include "ebb/autograd/meta.h"
#include "ebb/autograd/node_extra.h"
#include "ebb/core/error.h"

namespace ebb::autograd {
namespace {

/// Rethrows the exception that apply() threw with the line that recorded the node added.
[[noreturn]] void rethrow_at(const Node& node) {
  try {
    throw;
  } catch (const AutogradError&) {
    throw;  // says what was saved where by itself
  } catch (...) {
    rethrow_with(str("\n  in ", node.name(), ", recorded at ",
                     to_string(describe_location(node.location()))));
  }
}

/// The leaves that a failed run had added to, for the error's text. A retry would count them twice.
class AddedLeaves {
 public:
  void see(const Node& node, uint32_t state) noexcept {
    if ((state & NodeState::kAdded) == 0) return;
    try {
      if (count_++ >= kNamed) return;
      const OutputMeta& meta = node.output_meta(0);
      names_ += str(count_ == 1 ? "" : ", ", meta.dtype, ' ', PrintShape{meta.shape()});
    } catch (const std::bad_alloc&) {  // then it goes unnamed
    }
  }
  /// Rethrows the exception being handled, with what was seen.
  [[noreturn]] void rethrow() const {
    if (count_ == 0) throw;
    rethrow_with(str("\n  gradients were already added to ", count_,
                     count_ == 1 ? " leaf (" : " leaves (", names_, count_ > kNamed ? ", ..." : "",
                     "): a retry would add them again"));
  }

 private:
  static constexpr size_t kNamed = 8;
  size_t count_ = 0;
  std::string names_;
};

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
class GraphRun final : public RestrictedRun, public ActiveRun {
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
    const ActiveRunScope scope(this);
    try {
      discover();
      start();
      while (Node* const node = ready_.pop()) step(*node);
      commit();
    } catch (...) {
      AddedLeaves added;
      scratch_.forget_all(buffers_.roots,
                          [&](const Node& node, uint32_t state) { added.see(node, state); });
      added.rethrow();
    }
    current_ = nullptr;
    if (request_.finish) request_.finish(captured_);
    call_callbacks();
    return std::move(captured_);
  }

  bool is_needed(const Edge& edge) const override { return takes(edge); }

  bool keeps_graph() const override { return !request_.releases; }
  bool will_reach(const Node& node) const override {
    return scratch_.is_visited(const_cast<Node&>(node)) && has_mark(node, NodeState::kNeeded);
  }
  bool will_execute(const Node& node) const override {
    return scratch_.is_visited(const_cast<Node&>(node)) && has_mark(node, NodeState::kExecutes);
  }

  std::vector<NodePtr<Node>> execution_order() const override {
    std::unordered_map<Node*, uint32_t> pending = count_edges();
    std::vector<NodePtr<Node>> order;
    std::vector<Node*> heap;
    ReadyNodes ready(heap);
    const auto make_ready = [&](Node* node) {
      if (node->edge_count() > 0) return ready.push(node);
      if (will_execute(*node)) order.push_back(NodePtr<Node>::share(node));
    };
    for (const Root& root : buffers_.roots) {
      const auto entry = pending.find(root.node.get());
      if (entry == pending.end() || entry->second != 0) continue;
      entry->second = UINT32_MAX;  // several roots may be outputs of one node
      make_ready(root.node.get());
    }
    while (Node* const node = ready.pop()) {
      if (!will_execute(*node)) continue;
      order.push_back(NodePtr<Node>::share(node));
      for (const Edge& edge : node->edges()) {
        if (edge.node != nullptr && takes(edge) && --pending[edge.node] == 0) make_ready(edge.node);
      }
    }
    return order;
  }

 private:
  struct Frame {
    Node* node;
    uint32_t next_edge;
  };

  /// The number of edges into each node that takes part: the run uses its own counts up.
  std::unordered_map<Node*, uint32_t> count_edges() const {
    std::unordered_map<Node*, uint32_t> pending;
    std::vector<Node*> stack;
    const auto visit = [&](Node* node) {
      const auto [entry, is_new] = pending.try_emplace(node, 0);
      if (is_new) stack.push_back(node);
      return entry;
    };
    for (const Root& root : buffers_.roots) {
      if (will_reach(*root.node)) visit(root.node.get());
    }
    while (!stack.empty()) {
      Node* const node = stack.back();
      stack.pop_back();
      for (const Edge& edge : node->edges()) {
        if (edge.node != nullptr && takes(edge)) ++visit(edge.node)->second;
      }
    }
    return pending;
  }

  void discover() {
    if (!request_.is_restricted) return discover_all();
    for (size_t position = 0; position < request_.captures.size(); ++position) {
      capture_order_.emplace_back(request_.captures[position].first.get(), position);
    }
    std::sort(capture_order_.begin(), capture_order_.end());
    for (const NodePtr<Node>& node : request_.accumulators) accumulators_.push_back(node.get());
    std::sort(accumulators_.begin(), accumulators_.end());
    for (const auto& [node, index] : request_.cuts) cuts_.emplace_back(node.get(), index);
    std::sort(cuts_.begin(), cuts_.end());
    discover_needed();
  }

  /// The captures of one node: pairs of it and a position.
  auto captures_of(const Node& node) const {
    return std::equal_range(capture_order_.begin(), capture_order_.end(),
                            std::pair(&node, size_t{0}),
                            [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  bool is_cut(const Node* node, uint32_t index) const {
    return !cuts_.empty() && std::binary_search(cuts_.begin(), cuts_.end(), std::pair(node, index));
  }

  bool has_mark(const Node& node, uint32_t mark) const {
    return !request_.is_restricted || (scratch_.state(const_cast<Node&>(node)) & mark) != 0;
  }

  /// Whether a gradient passes along the edge, which belongs to a visited node.
  bool takes(const Edge& edge) const {
    if (!request_.is_restricted) return true;
    return !is_cut(edge.node, edge.index) && (scratch_.state(*edge.node) & NodeState::kNeeded) != 0;
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
      if (is_cut(root.node.get(), root.index)) continue;
      if (scratch_.visit(*root.node)) path.push_back({root.node.get(), 0});
      while (!path.empty()) {
        Frame& frame = path.back();
        if (frame.next_edge == frame.node->edge_count()) {
          finish_discovery(*frame.node);
          path.pop_back();
          continue;
        }
        const Edge& edge = frame.node->edges()[frame.next_edge++];
        if (edge.node == nullptr || is_cut(edge.node, edge.index)) continue;
        if (scratch_.visit(*edge.node)) path.push_back({edge.node, 0});
      }
    }
  }

  /// All that lies behind `node` is marked: mark the node itself.
  void finish_discovery(Node& node) {
    uint32_t marks = 0;
    const auto [first, last] = captures_of(node);
    if (first != last) marks |= NodeState::kNeeded | NodeState::kCaptured;
    const bool accumulates =
        std::binary_search(accumulators_.begin(), accumulators_.end(), &node) ||
        (request_.other_leaves && node.edge_count() == 0 && first == last);
    if (accumulates) marks |= NodeState::kNeeded | NodeState::kExecutes;
    for (const Edge& edge : node.edges()) {
      if (edge.node == nullptr || is_cut(edge.node, edge.index)) continue;
      uint32_t& next = scratch_.state(*edge.node);
      if ((next & NodeState::kNeeded) == 0) continue;
      ++next;
      marks |= NodeState::kNeeded | NodeState::kExecutes;
    }
    scratch_.state(node) |= marks;
  }

  /// Whether a root's seed goes anywhere.
  bool starts(const Root& root) const {
    return !request_.is_restricted ||
           (!is_cut(root.node.get(), root.index) && has_mark(*root.node, NodeState::kNeeded));
  }

  /// Puts the seeds into their slots, then lets those roots run that wait for nobody.
  void start() {
    for (Root& root : buffers_.roots) {
      if (starts(root)) add_to_slot(*root.node, root.index, root.seed.leak());
    }
    for (const Root& root : buffers_.roots) {
      if (!starts(root)) continue;
      uint32_t& state = scratch_.state(*root.node);
      if ((state & NodeState::kCountMask) != 0) continue;  // it waits for somebody
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
    current_ = &node;
    if (node.extra() != nullptr) [[unlikely]]
      return step_with_extra(node, grads);
    if (request_.is_restricted) {
      const uint32_t state = scratch_.state(node);
      if ((state & NodeState::kCaptured) != 0) capture(node, grads);
      if ((state & NodeState::kExecutes) == 0) return;
    }
    if (node.edge_count() == 0) {
      if (any_defined) accumulate(static_cast<AccumulateGrad&>(node), std::move(grads[0]));
      return;
    }
    execute(node, grads, any_defined);
  }

  /// A step with all that may hang off a node, in the order of hooks.h.
  [[gnu::noinline]] void step_with_extra(Node& node, Tensor* grads) {
    const HookTable& hooks = *node.extra()->hooks;
    const std::span<Tensor> all(grads, node.output_count());
    if (hooks.has(HookKind::tensor)) call_tensor_hooks(node, all);
    add_to_retained(node, grads);
    if (request_.is_restricted) {
      const uint32_t state = scratch_.state(node);
      if ((state & NodeState::kCaptured) != 0) capture(node, grads);
      if ((state & NodeState::kExecutes) == 0) return;
    }
    if (hooks.has(HookKind::pre)) call_pre_hooks(node, all);
    if (node.edge_count() == 0) {
      accumulate_with_hooks(static_cast<AccumulateGrad&>(node), std::move(grads[0]));
      return;
    }
    const bool any_defined =
        std::any_of(all.begin(), all.end(), [](const Tensor& grad) { return grad.defined(); });
    if (hooks.has(HookKind::post)) {
      execute_with_post_hooks(node, grads, any_defined);
    } else {
      execute(node, grads, any_defined);
    }
  }

  [[gnu::always_inline]] void execute(Node& node, Tensor* grads, bool any_defined) {
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
    // By the time that the gradient is there, so is the node that it goes to.
    __builtin_prefetch(NodeAccess::edges(node)[0].node);
    // Without any gradient there is nothing to compute, yet those behind wait for the news.
    if (any_defined) [[likely]]
      apply(node, grads, grad_inputs);
    deliver_all(node, grad_inputs);
  }

  [[gnu::always_inline]] void apply(Node& node, Tensor* grads, Tensor* grad_inputs) {
    try {
      NodeRun run(node, request_.releases, request_.is_restricted ? this : nullptr);
      node.apply(grads, grad_inputs, run);
    } catch (...) {
      rethrow_at(node);
    }
    if (request_.releases) release(node);
  }

  [[gnu::always_inline]] void deliver_all(Node& node, Tensor* grad_inputs) {
    Edge* const edges = NodeAccess::edges(node);
    for (size_t index = 0, count = node.edge_count(); index < count; ++index) {
      if (edges[index].node != nullptr) deliver(node, index, edges[index], grad_inputs[index]);
    }
  }

  [[gnu::noinline]] void execute_with_post_hooks(Node& node, Tensor* grads, bool any_defined) {
    const LocationScope location(request_.create_graph ? node.location() : thread_state.location);
    const std::vector<Tensor> grad_outs(grads, grads + node.output_count());
    std::vector<Tensor> grad_inputs(node.edge_count());
    if (any_defined) apply(node, grads, grad_inputs.data());
    for (size_t index = 0; index < grad_inputs.size(); ++index) {
      Tensor& grad = grad_inputs[index];
      const Edge& edge = node.edges()[index];
      if (edge.node == nullptr || !takes(edge)) grad = {};
      if (!grad.defined()) continue;
      const OutputMeta& meta = edge.node->output_meta(edge.index);
      if (!conforms(*grad.impl(), meta)) grad = conform(std::move(grad), meta, node, index);
    }
    call_post_hooks(node, grad_inputs, grad_outs);
    deliver_all(node, grad_inputs.data());
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
  [[gnu::always_inline]] void deliver(const Node& node, size_t index, const Edge& edge,
                                      Tensor& grad) {
    if (!takes(edge)) return;
    Node& next = *edge.node;
    if (grad.defined()) {
      const OutputMeta& meta = next.output_meta(edge.index);
      if (!conforms(*grad.impl(), meta)) [[unlikely]] {
        grad = conform(std::move(grad), meta, node, index);
      }
      add_to_slot(next, edge.index, grad.leak());
    }
    if ((--scratch_.state(next) & NodeState::kCountMask) == 0) make_ready(next);
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
    if (!request_.stages_all && leaf.try_accumulate(grad)) {
      scratch_.state(leaf) |= NodeState::kAdded;
    } else {
      buffers_.staged.push_back({&leaf, std::move(grad)});
    }
  }

  /// A leaf whose hooks want to see the new gradient receives it at once.
  void accumulate_with_hooks(AccumulateGrad& leaf, Tensor grad) {
    const HookTable& hooks = *leaf.extra()->hooks;
    const bool has_post_hooks = hooks.has(HookKind::post);
    const bool commits = has_post_hooks || hooks.has(HookKind::post_accumulate);
    const Tensor grad_out = has_post_hooks ? grad : Tensor();
    if (grad.defined()) {
      if (!commits) return accumulate(leaf, std::move(grad));
      leaf.accumulate(std::move(grad));
      scratch_.state(leaf) |= NodeState::kAdded;
      Tensor owner = leaf.share_leaf();
      if (owner.defined()) call_post_accumulate_hooks(leaf, std::move(owner));
    }
    if (has_post_hooks) call_post_hooks(leaf, {}, {&grad_out, 1});
  }

  /// Copies what must be copied first: that may run out of memory, and then nothing has happened.
  void commit() {
    for (StagedGradient& staged : buffers_.staged) {
      staged.grad = owned_gradient(std::move(staged.grad));
    }
    for (StagedGradient& staged : buffers_.staged) {
      staged.leaf->accumulate(std::move(staged.grad));
      scratch_.state(*staged.leaf) |= NodeState::kAdded;
    }
  }

  const RunRequest& request_;
  RunBuffers& buffers_;
  mutable Scratch scratch_;
  ReadyNodes ready_;
  std::vector<Tensor> captured_;
  std::vector<std::pair<const Node*, size_t>> capture_order_;  // node and position, sorted
  std::vector<const Node*> accumulators_;                      // sorted
  std::vector<std::pair<const Node*, uint32_t>> cuts_;         // node and output, sorted
};

}  // namespace

bool NodeRun::is_needed(const Edge& edge) const { return restricted_to_->is_needed(edge); }

std::vector<Tensor> run_graph(const RunRequest& request, RunBuffers& buffers) {
  const uint32_t grad_off = request.create_graph ? 0 : gate::kNoGrad;
  // Gradients are ordinary tensors, also if backward() is called in inference mode.
  const ModeScope mode(grad_off, (gate::kNoGrad & ~grad_off) | gate::kInference);
  const ScratchClaim claim;
  if (claim.is_held()) return GraphRun<NodeScratch>(request, buffers).run();
  return GraphRun<MapScratch>(request, buffers).run();
}

}  // namespace ebb::autograd
