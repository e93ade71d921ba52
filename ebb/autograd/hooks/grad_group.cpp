// ebb/autograd/hooks/grad_group.cpp -- counting the members of a group in a run.
#include "ebb/autograd/hooks/grad_group.h"

#include <atomic>

namespace ebb::autograd {
namespace {

uint64_t next_number() {
  static std::atomic<uint64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

GradGroup::GradGroup(Awaits awaits, size_t positions, std::vector<Member> members)
    : number_(next_number()),
      awaits_(awaits),
      positions_(positions),
      members_(std::move(members)) {}

bool GradGroup::note_arrival(const ActiveRun& run, GroupState& state) {
  if (state.seen == 0) {
    state.grads.resize(positions_);
    for_each([&](const Member& member) {
      const bool takes_part = awaits_ == Awaits::reached ? run.will_reach(*member.node)
                                                         : run.will_execute(*member.node);
      state.expected += takes_part ? 1 : 0;
    });
  }
  return ++state.seen == state.expected;
}

void GradGroup::forget(size_t member) noexcept {
  const std::lock_guard lock(mutex_);
  members_[member].node = nullptr;
}

void GradGroup::for_each(const std::function<void(const Member&)>& see) {
  const std::lock_guard lock(mutex_);  // a node that is about to die waits until we have looked
  for (const Member& member : members_) {
    if (member.node != nullptr) see(member);
  }
}

}  // namespace ebb::autograd
