// ebb/autograd/edge_hook.h -- a hook on what one part of a graph sends along given edges.
//
// A tensor's hook sees the sum over all uses of the tensor. Hooks of modules want the share of one
// module: what the nodes recorded by its forward() send to its inputs. Those nodes get a post-hook
// each, that adds the shares up in the run's own state; the last one calls the hook.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "ebb/autograd/hooks.h"
#include "ebb/autograd/variable.h"

namespace ebb::autograd {

class ActiveRun;
struct MultiGradState;

/// The nodes that send gradients to the edges. They are not owned: one that dies tells the group.
class EBB_API EdgeGroup {
 public:
  EdgeGroup(std::vector<Node*> senders, size_t edges);
  /// Adds the share of one sender; true if it was the last, with all sums.
  bool arrive(ActiveRun& run, std::span<const std::pair<uint32_t, uint32_t>> shares,
              std::span<Tensor> grad_inputs, std::vector<Tensor>& sums);
  void forget(const Node* sender) noexcept;
  /// Whether the hook's results can take the place of the gradients: all go to one edge, or come
  /// from one node. Else the first senders' shares are on their way before the last is known.
  bool can_replace() const { return can_replace_; }

 private:
  bool add_shares(ActiveRun& run, MultiGradState& state,
                  std::span<const std::pair<uint32_t, uint32_t>> shares,
                  std::span<Tensor> grad_inputs);

  uint64_t number_;
  size_t edges_;
  bool can_replace_;
  std::mutex mutex_;  // guards `senders_`
  std::vector<Node*> senders_;
};

/// The hook of one sender.
class EBB_API EdgeHook : public Hook {
 public:
  /// Pairs of one of the node's edges and the position that it leads to.
  using Shares = std::vector<std::pair<uint32_t, uint32_t>>;
  EdgeHook(std::shared_ptr<EdgeGroup> group, const Node* sender, Shares shares)
      : group_(std::move(group)), sender_(sender), shares_(std::move(shares)) {}
  void call(const HookCall& call) final;
  void detached() noexcept final { group_->forget(sender_); }

 protected:
  /// Called once per run with the sums, undefined where nothing came. It may replace them; true if
  /// it did.
  virtual bool finish(std::span<Tensor> sums) = 0;

 private:
  std::shared_ptr<EdgeGroup> group_;
  const Node* sender_;
  Shares shares_;
};

/// Registers what `make` gives on each node behind `outputs` that was recorded since sequence
/// number `since` and has an edge to one of `edges`. Without any such node nothing is registered.
EBB_API std::vector<HookHandle> add_edge_hook(
    std::span<const Tensor> outputs, std::span<const GradientEdge> edges, uint64_t since,
    const std::function<std::shared_ptr<Hook>(std::shared_ptr<EdgeGroup>, const Node*,
                                              EdgeHook::Shares)>& make);

/// No node that this thread recorded so far has this sequence number or a higher one.
EBB_API uint64_t next_sequence();

}  // namespace ebb::autograd
