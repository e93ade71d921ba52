// ebb/graph/times.cpp -- from ranges to the nodes that they recorded or ran.
#include "ebb/graph/times.h"

#include <cmath>
#include <unordered_map>

namespace ebb::graph {
namespace {

/// What all ranges of one number and one direction took. In ticks; one that is inside another of
/// the same counts with that only.
struct Sum {
  uint64_t ticks = 0;
  int64_t bytes = 0;
  bool is_known = false;
  // The last one added, which a range around it replaces.
  uint64_t last_start = 0;
  uint64_t last_ticks = 0;
  int64_t last_bytes = 0;

  void add(const ProfileRange& range, int64_t size) {
    if (is_known && last_start >= range.start) {
      ticks -= last_ticks;
      bytes -= last_bytes;
    }
    is_known = true;
    last_start = range.start;
    last_ticks = range.end - range.start;
    last_bytes = size;
    ticks += last_ticks;
    bytes += last_bytes;
  }
  int64_t ns(double ns_per_tick) const {
    return is_known ? std::llround(static_cast<double>(ticks) * ns_per_tick) : -1;
  }
};

struct NodeSums {
  Sum forward;
  Sum backward;
};

}  // namespace

void add_times(Snapshot& snapshot, const ProfileReport& profile) {
  std::unordered_map<uint64_t, NodeSums> by_sequence;
  for (const NodeRow& node : snapshot.nodes) {
    if (node.kind != NodeKind::leaf) by_sequence.try_emplace(node.sequence);
  }
  for (const ThreadProfile& thread : profile.threads) {
    for (size_t index = 0; index < thread.ranges.size(); ++index) {
      const ProfileRange& range = thread.ranges[index];
      const auto found = by_sequence.find(range.sequence);
      if (range.sequence == 0 || found == by_sequence.end()) continue;
      const int64_t bytes = thread.memory.empty() ? range.bytes : thread.memory[index].allocated;
      (range.is_backward ? found->second.backward : found->second.forward).add(range, bytes);
    }
  }
  std::vector<TimeRow> times;
  times.reserve(snapshot.nodes.size());
  for (const NodeRow& node : snapshot.nodes) {
    const auto found = by_sequence.find(node.sequence);
    const bool is_leaf = node.kind == NodeKind::leaf || found == by_sequence.end();
    const NodeSums sums = is_leaf ? NodeSums{} : found->second;
    times.push_back({.forward_ns = sums.forward.ns(profile.ns_per_tick),
                     .backward_ns = sums.backward.ns(profile.ns_per_tick),
                     .allocated = sums.forward.bytes + sums.backward.bytes});
  }
  snapshot.times = std::move(times);
}

}  // namespace ebb::graph
