// ebb/autograd/edge_hook.cpp -- finding the senders of gradients, and adding their shares up.
#include "ebb/autograd/edge_hook.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "ebb/autograd/active_run.h"
#include "ebb/autograd/gradient_math.h"
#include "ebb/core/error.h"
#include "ebb/core/thread_state.h"

namespace ebb::autograd {

EdgeGroup::EdgeGroup(std::vector<Node*> senders, size_t edges)
    : number_(next_multi_grad_number()),
      edges_(edges),
      can_replace_(edges == 1 || senders.size() == 1),
      senders_(std::move(senders)) {}

bool EdgeGroup::arrive(ActiveRun& run, std::span<const std::pair<uint32_t, uint32_t>> shares,
                       std::span<Tensor> grad_inputs, std::vector<Tensor>& sums) {
  return run.with_multi_grad_state(number_, [&](MultiGradState& state) {
    const bool is_last = add_shares(run, state, shares, grad_inputs);
    if (is_last) sums = std::move(state.grads);
    return is_last;
  });
}

bool EdgeGroup::add_shares(ActiveRun& run, MultiGradState& state,
                           std::span<const std::pair<uint32_t, uint32_t>> shares,
                           std::span<Tensor> grad_inputs) {
  if (state.seen == 0) {
    const std::lock_guard lock(mutex_);  // a node that is about to die waits until we have looked
    state.grads.resize(edges_);
    for (const Node* const node : senders_) {
      if (node != nullptr && run.will_execute(*node)) ++state.expected;
    }
  }
  ++state.seen;
  for (const auto& [edge, position] : shares) {
    const Tensor& share = grad_inputs[edge];
    Tensor& sum = state.grads[position];
    if (share.defined()) sum = sum.defined() ? sum_of(sum, share) : share;
  }
  return state.seen == state.expected;
}

void EdgeGroup::forget(const Node* sender) noexcept {
  const std::lock_guard lock(mutex_);
  std::replace(senders_.begin(), senders_.end(), const_cast<Node*>(sender),
               static_cast<Node*>(nullptr));
}

void EdgeHook::call(const HookCall& call) {
  ActiveRun* const run = active_run();
  if (run == nullptr) return;  // a node called by hand
  std::vector<Tensor> sums;
  const bool is_last = group_->arrive(*run, shares_, call.grads, sums);
  const bool is_replaced = is_last && finish(sums);
  if (!group_->can_replace()) {
    if (!is_replaced) return;
    throw NotImplementedError(
        "module hook: needs to return None where several nodes use several inputs, got gradients"
        "\nhint: replace them with hooks of the input tensors");
  }
  // Held back until the last: the sums go out along the first edge to each position.
  for (const auto& [edge, position] : shares_) call.grads[edge] = {};
  if (!is_last) return;
  for (const auto& [edge, position] : shares_) call.grads[edge] = std::exchange(sums[position], {});
}

std::vector<HookHandle> add_edge_hook(
    std::span<const Tensor> outputs, std::span<const GradientEdge> edges, uint64_t since,
    const std::function<std::shared_ptr<Hook>(std::shared_ptr<EdgeGroup>, const Node*,
                                              EdgeHook::Shares)>& make) {
  std::map<std::pair<const Node*, uint32_t>, uint32_t> positions;
  for (uint32_t position = 0; position < edges.size(); ++position) {
    positions.try_emplace({edges[position].node.get(), edges[position].output_nr}, position);
  }
  std::vector<Node*> stack, senders;
  std::vector<EdgeHook::Shares> all_shares;
  std::unordered_set<const Node*> seen;
  const auto visit = [&](Node* node) {
    const bool is_inside = node != nullptr && !node->is_accumulator() && node->sequence() >= since;
    if (is_inside && seen.insert(node).second) stack.push_back(node);
  };
  for (const Tensor& output : outputs) visit(gradient_edge(output).node);
  while (!stack.empty()) {
    Node* const node = stack.back();
    stack.pop_back();
    EdgeHook::Shares shares;
    for (uint32_t index = 0; index < node->edge_count(); ++index) {
      const Edge& edge = node->edges()[index];
      const auto found = positions.find({edge.node, edge.index});
      if (found != positions.end()) shares.emplace_back(index, found->second);
      visit(edge.node);
    }
    if (shares.empty()) continue;
    senders.push_back(node);
    all_shares.push_back(std::move(shares));
  }
  const auto group = std::make_shared<EdgeGroup>(senders, edges.size());
  std::vector<HookHandle> handles;
  for (size_t index = 0; index < senders.size(); ++index) {
    handles.push_back(add_node_hook(*senders[index], HookKind::post,
                                    make(group, senders[index], std::move(all_shares[index]))));
  }
  return handles;
}

uint64_t next_sequence() { return thread_state.next_sequence; }

}  // namespace ebb::autograd
