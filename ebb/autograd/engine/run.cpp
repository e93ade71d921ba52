// ebb/autograd/engine/run.cpp -- the run itself: discover, execute, deliver, commit.
//
// Order: among ready nodes the one recorded last runs first; gradients of one slot are added in the
// order they come, which for a graph recorded by one thread is falling sequence number. A leaf
// accumulates as soon as its gradient is complete: at once if it has a gradient already, else its
// gradient is staged and committed after the last node, so that a failed run leaves it without one.
//
// The run looks up every 20 us (pacer.h), and if it finds work for several threads, a team runs
// part of the graph (team.h), with the same result.
#include "ebb/autograd/engine/run.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

#include "ebb/autograd/engine/nesting.h"
#include "ebb/autograd/engine/node_step.h"
#include "ebb/autograd/engine/pacer.h"
#include "ebb/autograd/engine/placed_run.h"
#include "ebb/autograd/engine/ready_nodes.h"
#include "ebb/autograd/engine/scratch.h"
#include "ebb/autograd/engine/team.h"
#include "ebb/autograd/history/gradient_math.h"
#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/op_observer.h"
#include "ebb/autograd/history/slot.h"
#include "ebb/autograd/history/tensor_name.h"
#include "ebb/autograd/hooks/foreign_error.h"
#include "ebb/autograd/hooks/gradient_gate.h"
#include "ebb/autograd/watch/cut_trace.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {

void rethrow_at(const Node& node) {
  try {
    throw;
  } catch (const AutogradError&) {
    // It says what was saved where by itself, but not who called.
    const std::string stack = explain_location(node.location());
    if (stack.find('\n') == std::string::npos) throw;
    rethrow_with("\n  in " + describe_node(node));
  } catch (...) {
    rethrow_with("\n  in " + describe_node(node));
  }
}

bool accumulate_noted(AccumulateGrad& leaf, Tensor& grad) {
  if (!leaf.grad().defined()) return leaf.try_accumulate(grad);  // it gets its first in the end
  const CallRange range("AccumulateGrad", leaf.location());
  return leaf.try_accumulate(grad);
}

namespace {

/// The leaves that a failed run had added to, for the error's text. A retry would count them twice.
class AddedLeaves {
 public:
  void see(const Node& node, uint32_t state) noexcept {
    if ((state & NodeState::kAdded) == 0) return;
    try {
      if (count_++ >= kNamed) return;
      const Edge leaf = {const_cast<Node*>(&node), 0, 0};
      names_ += str(count_ == 1 ? "" : ", ", describe_place(leaf));
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

template <typename Scratch>
class GraphRun final : public RunCore<Scratch>, public NodeStepper<GraphRun<Scratch>> {
  using Core = RunCore<Scratch>;
  using Core::buffers_;
  using Core::has_device_nodes_;
  using Core::request_;
  using Core::scratch_;

 public:
  GraphRun(const RunRequest& request, RunBuffers& buffers, const RunNumber* number)
      : Core(request, buffers, number),
        ready_(buffers.heap),
        may_share_(!request.create_graph && !request.checks_gradients()) {
    buffers.staged.clear();
    buffers.stack.clear();
    buffers.pacer.start_run();
  }

  void run() {
    const ActiveRunScope scope(this);
    try {
      start();
      run_all_ready();
      if (this->has_notes()) [[unlikely]]
        open_stalled_gates();
      commit();
    } catch (...) {
      AddedLeaves added;
      scratch_.forget_all(buffers_.roots,
                          [&](const Node& node, uint32_t state) { added.see(node, state); });
      added.rethrow();
    }
    this->note_current(nullptr);
    this->call_callbacks();
  }

 private:
  friend NodeStepper<GraphRun>;
  friend Team<GraphRun>;
  friend TeamLane<GraphRun>;
  friend PlacedRun<GraphRun>;
  friend PlacedLane<GraphRun>;
  Core& core() { return *this; }
  using Core::note_current;
  void note_current(Node& node) { Core::note_current(&node); }
  Pacer& pacer() { return buffers_.pacer; }

  [[gnu::noinline]] void open_stalled_gates() {
    while (Node* const node = this->open_stalled_gate()) {
      this->deliver_sent(*node);
      run_all_ready();
    }
  }

  void run_all_ready() {
    if (has_device_nodes_) [[unlikely]] {
      run_placed_nodes();
    } else {
      run_ready_nodes();
    }
  }

  [[gnu::noinline]] void run_ready_nodes() {
    Pacer& pacer = buffers_.pacer;
    while (Node* node = ready_.pop()) {
      if (pacer.is_due()) [[unlikely]] {
        node = look_around(node);
        if (node == nullptr) break;
      }
      this->step(*node);
    }
  }

  [[gnu::noinline]] void run_placed_nodes() {
    const RunPlaces places = buffers_.places;
    const bool has_workers = !request_.create_graph && may_use_threads() && !has_gates();
    PlacedRun<GraphRun> placed(*this, has_workers ? places.devices : std::vector<Device>());
    placed.run(places.streams);
  }

  /// Whether a root's seed goes anywhere.
  bool starts(const Root& root) const {
    return !request_.is_restricted() || (!Core::is_cut(root.node.get(), root.index) &&
                                         Core::has_mark(*root.node, NodeState::kNeeded));
  }

  /// Puts the seeds into their slots, then lets those roots run that wait for nobody.
  void start() {
    for (Root& root : buffers_.roots) {
      if (!starts(root)) continue;
      add_to_slot(*root.node, root.index, std::move(root.seed), {UINT64_MAX, 0});
    }
    for (const Root& root : buffers_.roots) {
      if (!starts(root)) continue;
      uint32_t& state = scratch_.state(*root.node);
      if ((state & NodeState::kCountMask) != 0) continue;  // it waits for somebody
      state |= NodeState::kCountMask;  // several roots may be outputs of one node: queue it once
      make_ready(*root.node);
    }
  }

  /// Returns the node to run next: `node`, unless a team has run it.
  [[gnu::noinline]] Node* look_around(Node* node) {
    buffers_.pacer.look();
    if (!may_share_ || !may_share_run() || has_gates()) return node;
    ready_.push(node);
    const size_t width =
        ready_.count_up_to(kMostLanes, [](const Node& node) { return is_for_team(node); });
    if (buffers_.pacer.judge.wants_team(width >= 2 && buffers_.pacer.has_long_nodes())) {
      Team<GraphRun> team(*this, width);
      may_share_ = team.run();
    }
    return ready_.pop();
  }

  /// Whether a gate may hold gradients of this run back; hooks may add one while the run goes on.
  bool has_gates() {
    const uint64_t made = GateGroup::count_made();
    if (made == gates_seen_) return false;
    if (GateGroup::any_in(*this)) return true;
    gates_seen_ = made;
    return false;
  }

  void make_ready(Node& node) {
    if (node.edge_count() == 0) {
      this->step(node);
    } else {
      ready_.push(&node);
    }
  }

  /// Adds a gradient to the slot that `edge` leads to; the node there may run if it was the last.
  [[gnu::always_inline]] void deliver(const Node& node, size_t index, const Edge& edge,
                                      Tensor& grad) {
    if (!this->takes(edge)) return;
    Node& next = *edge.node;
    if (grad.defined()) {
      const OutputMeta& meta = next.output_meta(edge.index);
      if (!conforms(*grad.impl(), meta)) [[unlikely]] {
        grad = conform(std::move(grad), meta, node, index);
      }
      add_to_slot(next, edge.index, std::move(grad),
                  {node.sequence(), static_cast<uint32_t>(index)});
    }
    assert((scratch_.state(next) & NodeState::kCountMask) != 0);  // nobody sends twice
    const uint32_t left = --scratch_.state(next) & (NodeState::kCountMask | NodeState::kWaits);
    if (left == 0) {
      make_ready(next);
    } else if (left == NodeState::kWaits) [[unlikely]] {
      sum_all_waiting(next);
      make_ready(next);
    }
  }

  /// What a team left waiting in the slots of a node has become complete.
  void sum_all_waiting(Node& node) {
    TensorImpl** const slots = scratch_.slots(node);
    for (uint32_t index = 0; index < node.output_count(); ++index) sum_waiting(slots[index]);
    scratch_.state(node) &= ~NodeState::kWaits;
  }

  void add_to_slot(Node& node, uint32_t index, Tensor&& grad, SlotOrder order) {
    TensorImpl*& slot = scratch_.slots(node)[index];
    if (slot == nullptr) [[likely]] {
      slot = grad.leak();
    } else {
      add_to_filled_slot(slot, std::move(grad), order);
    }
  }

  void accumulate(AccumulateGrad& leaf, Tensor grad) {
    if (request_.is_careful_with_leaves) [[unlikely]]
      return accumulate_carefully(leaf, std::move(grad));
    if (leaf.try_accumulate(grad)) {
      scratch_.state(leaf) |= NodeState::kAdded;
    } else {
      buffers_.staged.push_back({&leaf, std::move(grad)});
    }
  }
  [[gnu::noinline]] void accumulate_carefully(AccumulateGrad& leaf, Tensor grad) {
    if (!request_.stages_all && accumulate_noted(leaf, grad)) {
      scratch_.state(leaf) |= NodeState::kAdded;
    } else {
      buffers_.staged.push_back({&leaf, std::move(grad)});
    }
  }
  void stage(StagedGradient staged) { buffers_.staged.push_back(std::move(staged)); }

  /// Copies what must be copied first: that may run out of memory, and then nothing has happened.
  void commit() {
    if (request_.is_careful_with_leaves || request_.is_restricted()) [[unlikely]]
      return commit_carefully();
    commit_staged();
  }

  /// In a profile leaves without a gradient get theirs in one range: there are many, and most only
  /// have it handed over.
  [[gnu::noinline]] void commit_carefully() {
    const bool has_sink = request_.is_restricted() && request_.restriction->sink != nullptr;
    if (buffers_.staged.empty() && !has_sink) return;  // as in grad(): there is nothing to add to
    const CallRange range("AccumulateGrad", request_.location);
    if (request_.stages_all || request_.is_restricted()) return commit_all();
    commit_staged();
  }

  void commit_staged() {
    for (StagedGradient& staged : buffers_.staged) {
      staged.grad = owned_gradient(std::move(staged.grad));
    }
    for (StagedGradient& staged : buffers_.staged) {
      staged.leaf->accumulate(std::move(staged.grad));
      scratch_.state(*staged.leaf) |= NodeState::kAdded;
    }
  }

  /// The same where some of the leaves have a gradient to add to, or others than leaves want one.
  void commit_all() {
    CaptureSink* const sink = request_.is_restricted() ? request_.restriction->sink : nullptr;
    std::vector<PreparedGradient> prepared;
    prepared.reserve(buffers_.staged.size());
    for (StagedGradient& staged : buffers_.staged) {
      prepared.push_back(staged.leaf->prepare(std::move(staged.grad)));
    }
    if (sink != nullptr) sink->prepare(request_.restriction->captured);
    for (size_t index = 0; index < prepared.size(); ++index) {
      AccumulateGrad& leaf = *buffers_.staged[index].leaf;
      leaf.accumulate(std::move(prepared[index]));
      scratch_.state(leaf) |= NodeState::kAdded;
    }
    if (sink != nullptr) sink->commit();
  }

  ReadyNodes ready_;
  bool may_share_;           // whether a team may run part of it
  uint64_t gates_seen_ = 0;  // of so many made, none is in this graph
};

[[gnu::noinline]] void run_in_map(const RunRequest& request, RunBuffers& buffers) {
  GraphRun<MapScratch> run(request, buffers, nullptr);
  run.discover(true);
  run.run();
}

/// While a run goes on a helper's stack, its buffers count no levels of this thread.
class LevelScope {
 public:
  explicit LevelScope(RunBuffers& buffers)
      : buffers_(buffers), level_(std::exchange(buffers.level, 0u)) {}
  ~LevelScope() { buffers_.level = level_; }
  LevelScope(const LevelScope&) = delete;
  LevelScope& operator=(const LevelScope&) = delete;

 private:
  RunBuffers& buffers_;
  const uint32_t level_;
};

[[gnu::noinline]] void run_deep(const RunRequest& request, RunBuffers& buffers) {
  const LevelScope scope(buffers);
  run_on_helper_thread([&] { run_graph(request, buffers); });
}

}  // namespace

bool NodeRun::is_needed(const Edge& edge) const { return restricted_to_->is_needed(edge); }

void run_graph(const RunRequest& request, RunBuffers& buffers) {
  if (buffers.level > kLevelsPerThread) [[unlikely]]
    return run_deep(request, buffers);
  const uint32_t grad_off = request.create_graph ? 0 : gate::kNoGrad;
  // Gradients are ordinary tensors, also if backward() is called in inference mode.
  // Rules may compute what is not finite on their way, and their nodes have a place already.
  constexpr uint32_t kNotInside =
      gate::kInference | gate::kNanCheck | gate::kAnomaly | gate::kObserved | gate::kCutTrace;
  const RunModes modes(grad_off, (gate::kNoGrad & ~grad_off) | kNotInside);
  {
    RunNumber number;
    if (number.get() != 0) [[likely]] {
      GraphRun<NodeScratch> run(request, buffers, &number);
      if (run.discover(!number.has_others())) [[likely]] {
        number.unlock();
        return run.run();
      }
    }
  }
  run_in_map(request, buffers);  // another run in progress has one of the nodes
}

}  // namespace ebb::autograd
