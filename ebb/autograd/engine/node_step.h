// ebb/autograd/engine/node_step.h -- running one node of a run: what arrived in, what leaves out.
//
// Who derives from NodeStepper says where gradients go and what becomes ready: GraphRun (run.cpp)
// on one thread, TeamLane (team.h) and PlacedLane (placed_run.h) on one of several.
//
// Hooks cost nothing where there are none: a node that has any, or a tensor that retains its
// gradient, takes step_with_extra(), which follows the order that hooks.h gives.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ebb/autograd/engine/run_core.h"
#include "ebb/autograd/history/gradient_math.h"
#include "ebb/autograd/history/node_extra.h"
#include "ebb/autograd/hooks/hooks.h"
#include "ebb/autograd/watch/finite_check.h"
#include "ebb/core/runtime/profile.h"

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

/// `Derived` has core(), note_current(node), deliver(node, index, edge, grad) and
/// accumulate(leaf, grad).
template <typename Derived>
class NodeStepper {
 public:
  void step(Node& node) {
    TensorImpl** const slots = self().core().scratch().slots(node);
    if (node.output_count() != 1) [[unlikely]]
      return step_with_outputs(node, slots);
    Tensor grad = Tensor::adopt(std::exchange(slots[0], nullptr));
    step(node, &grad, grad.defined());
  }

 protected:
  /// What gates held back until this node's turn goes on.
  void deliver_sent(Node& node) {
    if (!self().core().has_notes()) return;
    for (SentGradient& sent : self().core().take_sent()) {
      self().deliver(node, 0, sent.edge, sent.grad);
    }
  }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
  const RunRequest& request() { return self().core().request(); }

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

  // One function with step(): a frame of its own would cost a plain node a tenth of its run.
  [[gnu::always_inline]] void step(Node& node, Tensor* grads, bool any_defined) {
    self().note_current(node);
    if (node.extra() != nullptr) [[unlikely]]
      return step_with_extra(node, grads);
    if (request().is_restricted()) {
      const uint32_t state = self().core().state_of(node);
      if ((state & NodeState::kCaptured) != 0) self().core().capture(node, grads);
      if ((state & NodeState::kExecutes) == 0) return;
    }
    if (node.edge_count() == 0) {
      if (any_defined) self().accumulate(static_cast<AccumulateGrad&>(node), std::move(grads[0]));
      return;
    }
    execute(node, grads, any_defined);
  }

  [[gnu::noinline]] bool pass_gates(Node& node, std::span<Tensor> grads) {
    const bool passes = call_gates(node, grads);
    deliver_sent(node);
    return passes;
  }

  /// A step with all that may hang off a node, in the order of hooks.h.
  [[gnu::noinline]] void step_with_extra(Node& node, Tensor* grads) {
    const HookTable& hooks = *node.extra()->hooks;
    const std::span<Tensor> all(grads, node.output_count());
    if (hooks.has(HookKind::gate) && !pass_gates(node, all)) return;
    if (hooks.has(HookKind::tensor)) call_tensor_hooks(node, all);
    add_to_retained(node, grads);
    if (request().is_restricted()) {
      const uint32_t state = self().core().state_of(node);
      if ((state & NodeState::kCaptured) != 0) self().core().capture(node, grads);
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
      deliver_sent(node);
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
    if (request().is_careful) [[unlikely]] {
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
      open_range(range, node);
      apply_carefully(node, grads, grad_inputs);
    }
    deliver_all(node, grad_inputs);
  }

  /// In a profile: the range of a node, with what makes its results fit and adds them up.
  void open_range(std::optional<OpRange>& range, const Node& node) {
    if ((request().watch & gate::kProfiler) == 0) return;
    range.emplace(keep_range_name(node.name()), node.location(),
                  node.output_count() == 0 ? 0 : scope_of(node.output_meta(0).context),
                  node.sequence());
  }

  /// What backward records belongs to the line of the forward op.
  LocationId place_inside(const Node& node) {
    return request().create_graph ? node.location() : thread_state.location;
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
    NodeRun run(node, request().releases, request().is_restricted() ? &self().core() : nullptr);
    try {
      node.apply(grads, grad_inputs, run);
    } catch (...) {
      rethrow_at(node);
    }
    if (run.releases()) release(node);
  }

  /// apply(), with what was computed looked at if the run asks for that.
  [[gnu::noinline]] void apply_carefully(Node& node, Tensor* grads, Tensor* grad_inputs) {
    if (!request().checks_gradients()) return apply(node, grads, grad_inputs);
    const std::vector<Tensor> arrived(grads, grads + node.output_count());
    apply(node, grads, grad_inputs);
    try {
      check_gradients(node, arrived, {grad_inputs, node.edge_count()}, request().watch);
    } catch (...) {
      rethrow_at(node);
    }
  }

  [[gnu::always_inline]] void deliver_all(Node& node, Tensor* grad_inputs) {
    Edge* const edges = NodeAccess::edges(node);
    for (size_t index = 0, count = node.edge_count(); index < count; ++index) {
      if (edges[index].node != nullptr) {
        self().deliver(node, index, edges[index], grad_inputs[index]);
      }
    }
  }

  [[gnu::noinline]] void execute_with_post_hooks(Node& node, Tensor* grads, bool any_defined) {
    const LocationScope location(place_inside(node));
    // Taken now: if the node's own code registers the first hook, there are no grad_outs for it.
    const auto hooks = node.extra()->hooks->snapshot();
    const std::vector<Tensor> grad_outs(grads, grads + node.output_count());
    std::vector<Tensor> grad_inputs(node.edge_count());
    std::optional<OpRange> range;
    if (any_defined) {
      open_range(range, node);
      apply_carefully(node, grads, grad_inputs.data());
    }
    for (size_t index = 0; index < grad_inputs.size(); ++index) {
      Tensor& grad = grad_inputs[index];
      const Edge& edge = node.edges()[index];
      if (edge.node == nullptr || !self().core().takes(edge)) grad = {};
      if (!grad.defined()) continue;
      const OutputMeta& meta = edge.node->output_meta(edge.index);
      if (!conforms(*grad.impl(), meta)) grad = conform(std::move(grad), meta, node, index);
    }
    call_post_hooks(*hooks, node, grad_inputs, grad_outs);
    deliver_all(node, grad_inputs.data());
  }

  void release(Node& node) {
    if ((NodeAccess::flags(node).load(std::memory_order_relaxed) & NodeAccess::kHasSaved) == 0) {
      return;
    }
    const SavedLock lock(node);
    node.release_saved();
    node.edges()[0].freed_at = request().location;
    NodeAccess::flags(node).fetch_or(NodeAccess::kReleased, std::memory_order_relaxed);
  }

  static void add_to_retained(Node& node, const Tensor* grads) {
    NodeExtra& extra = *node.extra();
    const std::lock_guard lock(extra.mutex);
    for (const auto& [index, meta] : extra.retained) {
      if (grads[index].defined()) meta->accumulate(grads[index]);
    }
  }

  /// A leaf whose hooks want to see the new gradient receives it at once.
  void accumulate_with_hooks(AccumulateGrad& leaf, Tensor grad) {
    const HookTable& hooks = *leaf.extra()->hooks;
    const bool has_post_hooks = hooks.has(HookKind::post);
    const auto post_hooks = has_post_hooks ? hooks.snapshot() : nullptr;
    const bool commits = has_post_hooks || hooks.has(HookKind::post_accumulate);
    const Tensor grad_out = has_post_hooks ? grad : Tensor();
    if (grad.defined()) {
      if (!commits) return self().accumulate(leaf, std::move(grad));
      if (leaf.accumulate(std::move(grad))) {
        self().core().scratch().state(leaf) |= NodeState::kAdded;
        Tensor owner = leaf.share_leaf();
        if (owner.defined()) call_post_accumulate_hooks(leaf, std::move(owner));
      }
    }
    if (has_post_hooks) call_post_hooks(*post_hooks, leaf, {}, {&grad_out, 1});
  }
};

}  // namespace ebb::autograd
