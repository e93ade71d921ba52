// ebb/autograd/engine/placed_run.cpp -- where nodes run, and ordering the streams of a run and its
// caller.
#include "ebb/autograd/engine/placed_run.h"

namespace ebb::autograd {
namespace {

/// Calls `use(mine, other)` for each device for which the thread's current streams and those of the
/// set differ.
template <typename Use>
void for_each_difference(StreamSet set, Use&& use) {
  for (const Stream& other : streams_in(set)) {
    const Stream mine = current_stream(other.device);
    if (mine != other) use(mine, other);
  }
  for (const Stream& mine : streams_in(current_streams())) {
    const Stream other = stream_in(set, mine.device);
    if (other.id == 0) use(mine, other);
  }
}

}  // namespace

Device home_of(const Node& node) {
  if (node.extra() != nullptr || node.needs_caller_thread()) return {};
  const Device device = revealed(node.output_meta(0).device);
  return is_on_host(device) ? Device{} : device;
}

void fork_streams(std::span<const StreamSet> sets) {
  for (const StreamSet set : sets) {
    for_each_difference(set, [](Stream mine, Stream other) { order_streams(mine, other); });
  }
}

void join_streams(std::span<const StreamSet> sets) {
  for (const StreamSet set : sets) {
    for_each_difference(set, [](Stream mine, Stream other) { order_streams(other, mine); });
  }
}

}  // namespace ebb::autograd
