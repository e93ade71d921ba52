// ebb/autograd/engine/lane_hooks.h -- a step of a node with all that may hang off it: gates, hooks,
// retained gradients, in the order that hooks.h gives.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ebb/autograd/engine/lane.h"
#include "ebb/autograd/history/node_extra.h"
#include "ebb/autograd/hooks/hooks.h"

namespace ebb::autograd {

template <typename Scratch>
bool Lane<Scratch>::pass_gates(Node& node, std::span<Tensor> grads) {
  const bool passes = call_gates(node, grads);
  deliver_sent(node);
  return passes;
}

template <typename Scratch>
void Lane<Scratch>::step_with_extra(Node& node, Tensor* grads) {
  const HookTable& hooks = *node.extra()->hooks;
  const std::span<Tensor> all(grads, node.output_count());
  if (hooks.has(HookKind::gate) && !pass_gates(node, all)) return;
  if (hooks.has(HookKind::tensor)) call_tensor_hooks(node, all);
  add_to_retained(node, grads);
  if (request_.is_restricted() && !executes(node, grads)) return;
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

template <typename Scratch>
void Lane<Scratch>::execute_with_post_hooks(Node& node, Tensor* grads, bool any_defined) {
  const LocationScope location(place_inside(node));
  // Taken now: if the node's own code registers the first hook, there are no grad_outs for it.
  const auto hooks = node.extra()->hooks->snapshot();
  const std::vector<Tensor> grad_outs(grads, grads + node.output_count());
  std::vector<Tensor> grad_inputs(node.edge_count());
  std::optional<OpRange> range;
  if (any_defined) {
    open_range(range, node, grads);
    apply_carefully(node, grads, grad_inputs.data());
  }
  for (size_t index = 0; index < grad_inputs.size(); ++index) {
    Tensor& grad = grad_inputs[index];
    const Edge& edge = node.edges()[index];
    if (edge.node == nullptr || !run_.takes(edge)) grad = {};
    if (grad.defined()) conform(grad, edge.node->output_meta(edge.index), node, index);
  }
  call_post_hooks(*hooks, node, grad_inputs, grad_outs);
  deliver_all(node, grad_inputs.data());
}

template <typename Scratch>
void Lane<Scratch>::add_to_retained(Node& node, const Tensor* grads) {
  NodeExtra& extra = *node.extra();
  const std::lock_guard lock(extra.mutex);
  for (const auto& [index, meta] : extra.retained) {
    if (grads[index].defined()) buffers_.undo.add(node, *meta, grads[index]);
  }
}

template <typename Scratch>
void Lane<Scratch>::accumulate_with_hooks(AccumulateGrad& leaf, Tensor grad) {
  const HookTable& hooks = *leaf.extra()->hooks;
  const bool has_post_hooks = hooks.has(HookKind::post);
  const auto post_hooks = has_post_hooks ? hooks.snapshot() : nullptr;
  const bool commits = has_post_hooks || hooks.has(HookKind::post_accumulate);
  const Tensor grad_out = has_post_hooks ? grad : Tensor();
  if (grad.defined()) {
    if (commits && request_.care.logs()) log_node(leaf, {&grad, 1});
    if (!commits) return accumulate(leaf, std::move(grad));
    if (buffers_.undo.add(leaf, leaf, std::move(grad))) {
      run_.scratch().state(leaf) |= NodeState::kAdded;
      Tensor owner = leaf.share_leaf();
      if (owner.defined()) call_post_accumulate_hooks(leaf, std::move(owner));
      buffers_.undo.settle();
    }
  }
  if (has_post_hooks) call_post_hooks(*post_hooks, leaf, {}, {&grad_out, 1});
}

}  // namespace ebb::autograd
