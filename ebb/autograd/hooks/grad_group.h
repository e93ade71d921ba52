// ebb/autograd/hooks/grad_group.h -- gradients that a hook wants together: who brings them, who
// has.
//
// Multi-grad hooks (multi_grad_hook.h) and gates (gradient_gate.h) hang one hook on each of several
// nodes. The group knows the nodes; what has arrived is counted in the run itself, so runs on
// several threads do not meet, and one that fails leaves nothing.
#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "ebb/autograd/hooks/active_run.h"

namespace ebb::autograd {

/// The nodes of a group. They are not owned: one that dies tells the group.
class EBB_API GradGroup {
 public:
  /// Pairs of one of a node's gradients and a position in the group.
  using Places = std::vector<std::pair<uint32_t, uint32_t>>;
  struct Member {
    Node* node;
    Places places;
  };
  /// Which members a run waits for: those whose gradients it completes, or those that it executes.
  enum class Awaits : uint8_t { reached, executed };

  GradGroup(Awaits awaits, size_t positions, std::vector<Member> members);

  uint64_t number() const { return number_; }
  Awaits awaits() const { return awaits_; }
  size_t positions() const { return positions_; }
  size_t member_count() const { return members_.size(); }
  /// Only while the member's node is alive.
  const Member& member(size_t index) const { return members_[index]; }
  /// Notes that a member has come. True if it was the last that the run waits for. Call within
  /// ActiveRun::with_group_state().
  bool note_arrival(const ActiveRun& run, GroupState& state);
  /// A member's node is dying, or its hook was removed.
  void forget(size_t member) noexcept;
  /// Calls `see` with each member that is alive. No member dies meanwhile.
  void for_each(const std::function<void(const Member&)>& see);

 private:
  const uint64_t number_;
  const Awaits awaits_;
  const size_t positions_;
  std::mutex mutex_;  // guards the nodes of `members_`
  std::vector<Member> members_;
};

}  // namespace ebb::autograd
