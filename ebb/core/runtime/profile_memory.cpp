// ebb/core/runtime/profile_memory.cpp -- from single blocks to a curve and to sums by where they
// were made.
#include "ebb/core/runtime/profile_memory.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace ebb::detail {
namespace {

/// Follows the blocks that are alive, by the site that made them.
class Replay {
 public:
  explicit Replay(int64_t start) { report_.start = report_.peak = report_.older_at_peak = start; }

  void see(const MemoryEvent& event) {
    if (event.bytes < 0) return give_back(event);
    const uint32_t site = site_of(event);
    AllocationSite& made_at = report_.sites[site];
    ++made_at.allocations;
    made_at.allocated += event.bytes;
    blocks_[event.block] = site;
    live_of_site_[site] += event.bytes;
    live_ += event.bytes;
    sample(event.tick);
  }

  /// Call when most is alive.
  void keep_at_peak() {
    keep_live(&AllocationSite::at_peak);
    report_.peak = report_.start + live_;
    report_.older_at_peak = report_.start + older_;
  }
  MemoryReport finish() && {
    keep_live(&AllocationSite::at_end);
    report_.is_noted = true;
    return std::move(report_);
  }

 private:
  void keep_live(int64_t AllocationSite::*member) {
    for (size_t site = 0; site < live_of_site_.size(); ++site) {
      report_.sites[site].*member = live_of_site_[site];
    }
  }

  void give_back(const MemoryEvent& event) {
    const auto found = blocks_.find(event.block);
    if (found == blocks_.end()) {
      older_ += event.bytes;
    } else {
      live_of_site_[found->second] += event.bytes;
      blocks_.erase(found);
    }
    live_ += event.bytes;
    sample(event.tick);
  }

  void sample(uint64_t tick) { report_.samples.push_back({tick, report_.start + live_}); }

  uint32_t site_of(const MemoryEvent& event) {
    const auto fresh = static_cast<uint32_t>(report_.sites.size());
    const auto [known, is_new] =
        sites_.try_emplace({event.name, event.location, event.scope}, fresh);
    if (is_new) {
      report_.sites.push_back({event.name, event.location, event.scope, 0, 0, 0, 0});
      live_of_site_.push_back(0);
    }
    return known->second;
  }

  MemoryReport report_;
  std::map<std::tuple<const char*, LocationId, ScopeId>, uint32_t> sites_;
  std::vector<int64_t> live_of_site_;
  std::unordered_map<const void*, uint32_t> blocks_;
  int64_t live_ = 0;   // made since the start, less what was given back
  int64_t older_ = 0;  // given back of what was made before the start: not above 0
};

}  // namespace

MemoryReport report_memory(std::vector<MemoryEvent> events, int64_t start) {
  std::stable_sort(
      events.begin(), events.end(),
      [](const MemoryEvent& one, const MemoryEvent& other) { return one.tick < other.tick; });
  int64_t live = 0, peak = 0;
  size_t until_peak = 0;
  for (size_t index = 0; index < events.size(); ++index) {
    live += events[index].bytes;
    if (live <= peak) continue;
    peak = live;
    until_peak = index + 1;
  }
  Replay replay(start);
  for (size_t index = 0; index < events.size(); ++index) {
    if (index == until_peak) replay.keep_at_peak();
    replay.see(events[index]);
  }
  if (until_peak == events.size()) replay.keep_at_peak();
  return std::move(replay).finish();
}

}  // namespace ebb::detail
