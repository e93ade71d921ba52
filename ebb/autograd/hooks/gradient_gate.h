// ebb/autograd/hooks/gradient_gate.h -- hooks that see several gradients together and may replace
// them.
//
// A part of a graph, such as what a module's forward() recorded, has two gates. Through the first,
// gradients enter at its outputs; through the second, they leave for its inputs. What comes to a
// gate is held back until all has come that the run sends there. Then the gate's hook is called,
// and what it leaves goes on. Nodes stay as they are: nothing is put into the graph for a gate.
//
//   entry gate: a hook of kind `gate` on the nodes of the outputs. Such a node waits for one more
//               gradient, which the gate sends.
//   exit gate:  a post-hook on the nodes inside that send to the inputs; it adds up their shares.
//               The nodes behind wait for one more gradient, which the gate sends.
//
// An output that is used to make another one cannot complete before the other has passed the gate.
// So when nothing else is left to do, a gate takes what has come to such an output: exactly what
// came from outside (ActiveRun::open_stalled_gate). A group of one member holds nothing back.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/hooks/grad_group.h"
#include "ebb/autograd/hooks/hooks.h"

namespace ebb::autograd {

/// What the hooks of one gate share.
class EBB_API GateGroup : public GradGroup {
 public:
  /// `entry`: for an exit gate, the one by which gradients come in.
  GateGroup(Awaits awaits, size_t positions, std::vector<Member> members,
            std::shared_ptr<GateGroup> entry);
  ~GateGroup();
  GateGroup(const GateGroup&) = delete;
  GateGroup& operator=(const GateGroup&) = delete;

  GateGroup* entry() const { return entry_.get(); }
  bool is_entry() const { return awaits() == Awaits::reached; }
  /// Whether an exit gate asks for what an entry gate let through.
  bool has_exit() const { return has_exit_; }
  /// Whether a gate on nodes that the run reaches may hold gradients back. Such a run has one
  /// thread: with what is held back, nodes run in another order than that in which a team adds
  /// gradients up.
  static bool any_in(const ActiveRun& run);
  /// Changes whenever there is one gate more that may hold back; 0 before the first. While it stays
  /// the same, a run that had none has none.
  static uint64_t count_made();

 private:
  const std::shared_ptr<GateGroup> entry_;
  const bool may_hold_;
  bool has_exit_ = false;
};

/// The hook of a gate at one of its nodes.
class EBB_API GateHook : public Hook, public std::enable_shared_from_this<GateHook> {
 public:
  GateHook(std::shared_ptr<GateGroup> group, size_t member)
      : group_(std::move(group)), member_(member), node_(group_->member(member).node) {}
  void call(const HookCall& call) final;
  void detached() noexcept final { group_->forget(member_); }
  const char* noun() const final { return "module hook"; }
  /// Calls the hook with what has come so far, and sends on what was held back. Returns the node.
  Node& open_early(ActiveRun& run);

 protected:
  /// Called once per run, with one gradient per position, undefined where none came; assigning
  /// replaces it. `entered`: for an exit gate, what the entry gate let through, if it did.
  virtual void pass(std::span<Tensor> grads, std::span<const Tensor> entered) = 0;

 private:
  enum class Arrival : uint8_t { passed, held, last };
  const GradGroup::Places& places() const { return group_->member(member_).places; }
  Arrival arrive(ActiveRun& run, const HookCall& call, GroupState& state);
  bool hold(ActiveRun& run, GroupState& state);
  void take_waiting(ActiveRun& run, GroupState& state);
  std::vector<Tensor> let_pass(ActiveRun& run, const std::vector<Edge>& goals);
  Edge goal_of(uint32_t index) const;

  std::shared_ptr<GateGroup> group_;
  size_t member_;
  Node* node_;  // alive whenever the hook is called
};

/// Makes the hook of a gate at one member of the group.
using MakeGateHook =
    std::function<std::shared_ptr<GateHook>(std::shared_ptr<GateGroup>, size_t member)>;

/// Puts a gate where the gradients of `outputs` come in. A later gate at the same place comes
/// first. Each output has a place of its own in the graph, and requires a gradient.
EBB_API std::shared_ptr<GateGroup> add_entry_gate(std::span<const Tensor> outputs,
                                                  const MakeGateHook& make);
/// Puts a gate where the nodes behind `outputs`, recorded since sequence number `since`, send
/// gradients along `edges`. Returns the number of those nodes; without any there is no gate.
EBB_API size_t add_exit_gate(std::span<const Tensor> outputs, std::span<const GradientEdge> edges,
                             uint64_t since, std::shared_ptr<GateGroup> entry,
                             const MakeGateHook& make);

/// No node that this thread recorded so far has this sequence number or a higher one.
EBB_API uint64_t next_sequence();

}  // namespace ebb::autograd
