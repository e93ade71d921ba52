// ebb/autograd/engine/lane.h -- one thread of a run: steps nodes, and delivers what they compute.
//
// The caller of backward() is a lane, alone on most runs. Where several threads run a graph it is
// one of a crew (crew.h), and so is each helper and each worker of a device: lane_in_crew.h. Start
// reading at step(), then deliver().
//
// Hooks cost nothing where there are none: a node that has any, or a tensor that retains its
// gradient, takes step_with_extra() (lane_hooks.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ebb/autograd/engine/crew.h"
#include "ebb/autograd/engine/ready_nodes.h"
#include "ebb/autograd/engine/run_core.h"
#include "ebb/autograd/history/gradients/gradient_math.h"
#include "ebb/autograd/history/gradients/slot.h"
#include "ebb/autograd/history/node_extra.h"
#include "ebb/autograd/hooks/hooks.h"
#include "ebb/autograd/watch/call_text.h"
#include "ebb/autograd/watch/finite_check.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/core/runtime/profile.h"
#include "ebb/core/tensor/device_memory.h"

namespace ebb::autograd {

/// Rethrows the exception that apply() threw with the line that recorded the node added.
[[noreturn]] void rethrow_at(const Node& node);

/// leaf.try_accumulate(grad), as a range of a profile if one runs here.
bool accumulate_noted(AccumulateGrad& leaf, Tensor& grad);

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
class Lane {
 public:
  /// The caller's lane; alone until it joins a crew.
  Lane(RunCore<Scratch>& run, RunBuffers& buffers)
      : run_(run),
        request_(run.request()),
        buffers_(buffers),
        ready_(buffers.heap),
        is_plain_(!request_.is_restricted()) {}
  /// A helper's, or that of the worker with a list of the crew's board.
  Lane(RunCore<Scratch>& run, RunBuffers& buffers, Crew& crew, LaneRole role, size_t list)
      : Lane(run, buffers) {
    role_ = role;
    list_ = static_cast<uint32_t>(list);
    join(&crew);
  }

  RunCore<Scratch>& run() { return run_; }
  ReadyNodes& ready() { return ready_; }
  Pacer& pacer() { return buffers_.pacer; }
  /// Makes the caller's lane one of a crew; null: alone again. Returns the crew that it was of.
  Crew* join(Crew* crew) {
    is_plain_ = crew == nullptr && !request_.is_restricted();
    return std::exchange(crew_, crew);
  }

  /// Runs a node that is ready. Alone.
  [[gnu::always_inline]] void run_alone(Node& node) {
    run_.note_current(&node);
    step(node);
  }
  /// Takes a gradient to a node that has a gradient less to wait for. A leaf that is complete runs
  /// at once, any other node is ready then.
  [[gnu::always_inline]] void deliver(const Node& node, size_t index, const Edge& edge,
                                      Tensor& grad) {
    if (!is_plain_) [[unlikely]]
      return deliver_with_care(node, index, edge, grad);
    deliver_alone(node, index, edge, grad);
  }
  /// What gates held back until this node's turn goes on.
  void deliver_sent(Node& node) {
    if (!run_.has_notes()) return;
    for (SentGradient& sent : run_.take_sent()) deliver(node, 0, sent.edge, sent.grad);
  }
  /// Alone: a leaf runs at once, any other node is ready then.
  void make_ready(Node& node) {
    if (node.edge_count() == 0) {
      run_alone(node);
    } else {
      ready_.push(&node);
    }
  }
  void add_to_slot(Node& node, uint32_t index, Tensor&& grad, SlotOrder order) {
    TensorImpl*& slot = scratch().slots(node)[index];
    if (slot == nullptr) [[likely]] {
      slot = grad.leak();
    } else {
      add_to_filled_slot(slot, std::move(grad), order);
    }
  }

  /// Runs what a crew's board has for this lane until nothing is left, a node fails, or all are
  /// stopped; then leaves. `look`: what the caller does now and then, with the node that it was
  /// about to run; gives the node to run instead, or null.
  template <typename Look>
  void work_with(Look&& look) {
    try {
      run_nodes(std::forward<Look>(look));
    } catch (...) {
      crew_->board.fail(UINT64_MAX);
    }
    crew_->board.leave(role_);
  }
  /// For a helper or worker, on its thread.
  void work() noexcept {
    const ThreadModesScope modes(crew_->modes);
    const ActiveRunScope part(&run_);
    const StopScope stop(crew_->board.signal());
    const DeferWarnings defer(crew_->warnings);
    const auto no_look = [](Node* node) { return node; };
    if (role_ == LaneRole::worker) return run_nodes(no_look);  // the last access to the run
    if (crew_->board.join()) work_with(no_look);
  }
  /// For the caller, once its crew has parted: adds what the lane kept for leaves.
  void accumulate_kept(Lane& caller) {
    for (StagedGradient& kept : std::exchange(buffers_.kept, {})) {
      caller.accumulate(*kept.leaf, std::move(kept.prepared.grad));
    }
  }

 private:
  Scratch& scratch() const { return run_.scratch(); }
  bool is_caller() const { return role_ == LaneRole::caller; }

  /// step() for a node of several outputs.
  [[gnu::noinline]] void step_with_outputs(Node& node, TensorImpl** slots) {
    TensorArray grads(node.output_count());
    bool any_defined = false;
    for (uint32_t index = 0; index < node.output_count(); ++index) {
      grads.data()[index] = Tensor::adopt(std::exchange(slots[index], nullptr));
      any_defined |= grads.data()[index].defined();
    }
    step(node, grads.data(), any_defined);
  }

  void step(Node& node) {
    TensorImpl** const slots = scratch().slots(node);
    if (node.output_count() != 1) [[unlikely]]
      return step_with_outputs(node, slots);
    Tensor grad = Tensor::adopt(std::exchange(slots[0], nullptr));
    step(node, &grad, grad.defined());
  }

  // One function with step(): a frame of its own would cost a plain node a tenth of its run.
  [[gnu::always_inline]] void step(Node& node, Tensor* grads, bool any_defined) {
    if (node.extra() != nullptr) [[unlikely]]
      return step_with_extra(node, grads);
    if (request_.is_restricted() && !executes(node, grads)) return;
    if (node.edge_count() == 0) {
      if (any_defined) accumulate(static_cast<AccumulateGrad&>(node), std::move(grads[0]));
      return;
    }
    execute(node, grads, any_defined);
  }

  /// In a restricted run: captures what is asked for. Whether something behind the node is, too.
  bool executes(Node& node, Tensor* grads) {
    const uint32_t state = run_.state_of(node);
    if ((state & NodeState::kCaptured) != 0) run_.capture(node, grads);
    return (state & NodeState::kExecutes) != 0;
  }

  [[gnu::noinline]] bool pass_gates(Node& node, std::span<Tensor> grads);

  /// A step with all that may hang off a node, in the order of hooks.h.
  [[gnu::noinline]] void step_with_extra(Node& node, Tensor* grads);

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
    if (request_.care.is_for_nodes()) [[unlikely]] {
      execute_carefully(node, grads, grad_inputs, any_defined);
    } else {
      apply_and_deliver(node, grads, grad_inputs, any_defined);
    }
  }

  [[gnu::noinline]] void execute_carefully(Node& node, Tensor* grads, Tensor* grad_inputs,
                                           bool any_defined) {
    const LocationScope location(place_inside(node));
    std::optional<OpRange> range;
    if (any_defined) {
      open_range(range, node, grads);
      apply_carefully(node, grads, grad_inputs);
    }
    deliver_all(node, grad_inputs);
  }

  /// In a profile: the range of a node, with what makes its results fit and adds them up. If the
  /// run is logged, its line.
  void open_range(std::optional<OpRange>& range, const Node& node, const Tensor* grads) {
    const std::span<const Tensor> arrived(grads, node.output_count());
    if (request_.care.logs()) log_node(node, arrived);
    if (!request_.care.profiles()) return;
    range.emplace(keep_range_name(node.name()), node.location(),
                  node.output_count() == 0 ? 0 : scope_of(node.output_meta(0).context),
                  node.sequence());
    if (range->wants_operands()) range->set_operands(describe_operands(arrived));
  }

  /// What backward records belongs to the line of the forward op.
  LocationId place_inside(const Node& node) {
    return request_.care.records() ? node.location() : thread_state.location;
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
    NodeRun run(node, request_.releases, request_.is_restricted() ? &run_ : nullptr);
    try {
      node.apply(grads, grad_inputs, run);
    } catch (...) {
      rethrow_at(node);
    }
    if (run.releases()) release(node);
  }

  /// apply(), with what was computed looked at if the run asks for that.
  [[gnu::noinline]] void apply_carefully(Node& node, Tensor* grads, Tensor* grad_inputs) {
    if (!request_.care.checks_gradients()) return apply(node, grads, grad_inputs);
    const std::vector<Tensor> arrived(grads, grads + node.output_count());
    apply(node, grads, grad_inputs);
    try {
      check_gradients(node, arrived, {grad_inputs, node.edge_count()}, request_.care.checks());
    } catch (...) {
      rethrow_at(node);
    }
  }

  [[gnu::always_inline]] void deliver_all(Node& node, Tensor* grad_inputs) {
    Edge* const edges = NodeAccess::edges(node);
    for (size_t index = 0, count = node.edge_count(); index < count; ++index) {
      if (edges[index].node != nullptr) {
        deliver(node, index, edges[index], grad_inputs[index]);
      }
    }
  }

  [[gnu::noinline]] void execute_with_post_hooks(Node& node, Tensor* grads, bool any_defined);

  void release(Node& node) {
    if ((NodeAccess::flags(node).load(std::memory_order_relaxed) & NodeAccess::kHasSaved) == 0) {
      return;
    }
    const SavedLock lock(node);
    node.release_saved();
    node.edges()[0].freed_at = request_.location;
    NodeAccess::flags(node).fetch_or(NodeAccess::kReleased, std::memory_order_relaxed);
  }

  void add_to_retained(Node& node, const Tensor* grads);

  /// A leaf whose hooks want to see the new gradient receives it at once.
  void accumulate_with_hooks(AccumulateGrad& leaf, Tensor grad);

  /// Keeps the gradient of a leaf for the end of the run.
  void accumulate(AccumulateGrad& leaf, Tensor grad) {
    if (crew_ != nullptr || request_.care.is_for_leaves()) [[unlikely]]
      return accumulate_carefully(leaf, std::move(grad));
    buffers_.staged.emplace_back(leaf, std::move(grad));
  }
  [[gnu::noinline]] void accumulate_carefully(AccumulateGrad& leaf, Tensor grad);

  [[gnu::noinline]] void deliver_with_care(const Node& node, size_t index, const Edge& edge,
                                           Tensor& grad);

  [[gnu::always_inline]] void deliver_alone(const Node& node, size_t index, const Edge& edge,
                                            Tensor& grad) {
    Node& next = *edge.node;
    if (grad.defined()) {
      conform(grad, next.output_meta(edge.index), node, index);
      add_to_slot(next, edge.index, std::move(grad),
                  {node.sequence(), static_cast<uint32_t>(index)});
    }
    assert((scratch().state(next) & NodeState::kCountMask) != 0);  // nobody sends twice
    const uint32_t left = --scratch().state(next) & (NodeState::kCountMask | NodeState::kWaits);
    if (left == 0) {
      make_ready(next);
    } else if (left == NodeState::kWaits) [[unlikely]] {
      sum_all_waiting(next);
      make_ready(next);
    }
  }

  /// What several threads left waiting in the slots of a node has become complete.
  void sum_all_waiting(Node& node) {
    TensorImpl** const slots = scratch().slots(node);
    for (uint32_t index = 0; index < node.output_count(); ++index) sum_waiting(slots[index]);
    scratch().state(node) &= ~NodeState::kWaits;
  }

  // One of a crew: lane_in_crew.h.

  template <typename Look>
  void run_nodes(Look&& look);

  void note_help(uint64_t since, uint64_t count);

  void run_in_crew(Node& node);
  void step_or_fail(Node& node);

  void step_in_crew(Node& node) {
    if (is_caller()) run_.note_current(&node);
    step(node);
  }

  /// Whether the lane of a team leaves the node to others.
  bool passes_on(Node& node);

  /// A gradient that fits, on the streams of the node that it goes to.
  [[gnu::noinline]] void deliver_in_crew(const Node& node, size_t index, const Edge& edge,
                                         Tensor& grad);

  void make_ready_in_crew(Node& node);

  StreamSet streams_for(const Node& node) const {
    return node.edge_count() == 0 ? crew_->streams : streams_of(node.output_meta(0).context);
  }

  /// The gradient comes from the current streams; the node goes on when it is there.
  void arrive(const Tensor& grad, const Node& node);

  /// Into a slot that others may look at.
  void add_early(Node& node, uint32_t index, Tensor&& grad, SlotOrder order);

  RunCore<Scratch>& run_;
  const RunRequest& request_;
  RunBuffers& buffers_;
  ReadyNodes ready_;
  Crew* crew_ = nullptr;  // null: alone
  bool is_plain_;         // alone, in a run that no edge is left out of
  LaneRole role_ = LaneRole::caller;
  uint32_t list_ = 0;  // of the crew's board
};

/// A lane with vectors of its own: a helper's or a worker's.
template <typename Scratch>
struct OtherLane final : public DeviceJob {
  OtherLane(RunCore<Scratch>& run, Crew& crew, LaneRole role, size_t list = 0)
      : lane(run, buffers, crew, role, list) {}
  void work() noexcept override { lane.work(); }
  RunBuffers buffers;
  Lane<Scratch> lane;
};

}  // namespace ebb::autograd
