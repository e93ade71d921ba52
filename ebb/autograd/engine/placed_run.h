// ebb/autograd/engine/placed_run.h -- runs a graph that has nodes on devices: whose thread, which
// stream.
//
// Each device's nodes run on its worker thread, the others, and those with hooks or Python code, on
// the thread that called backward(). A node runs on the streams that its forward op ran on. Where a
// gradient goes from one stream to another, the other one waits for it, before it is put into the
// slot. Leaves are added to on the caller's streams. To the caller the run is one op on its current
// streams: streams of nodes wait for those at the start, and those for them at the end.
//
// Start reading at PlacedRun::run(). Where threads may not be used the caller's lane runs all
// nodes.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ebb/autograd/engine/lane.h"
#include "ebb/autograd/engine/lane_in_crew.h"
#include "ebb/core/runtime/parallel.h"

namespace ebb::autograd {

template <typename Scratch>
class PlacedRun {
 public:
  /// What the caller does now and then; see Lane::work_with().
  using Look = FunctionRef<Node*(Node*)>;

  /// `devices`: those that have nodes, if their workers may run them; else none.
  PlacedRun(Lane<Scratch>& caller, std::vector<Device> devices, Look look)
      : caller_(caller), crew_(std::move(devices)), look_(look) {
    for (size_t list = 1; list <= crew_.devices.size(); ++list) {
      workers_.push_back(
          std::make_unique<OtherLane<Scratch>>(caller.run(), crew_, LaneRole::worker, list));
      crew_.workers.push_back(workers_.back().get());
    }
  }

  /// Runs all that is ready in the caller's lane, and what becomes so. Throws what a node threw.
  void run(std::span<const StreamSet> used) {
    fork_streams(used);
    while (Node* const node = caller_.ready().pop()) crew_.push(node);
    caller_.join(&crew_);
    work();
    while (crew_.board.reopen()) {  // too much was waiting
      crew_.devices.clear();
      for (Node* const node : crew_.board.take_all()) crew_.push(node);
      work();
    }
    caller_.join(nullptr);
    finish(used);
  }

 private:
  /// Until nothing is left, a node fails, or the lanes are stopped.
  void work() {
    const StopScope stop(crew_.board.signal());
    if (crew_.board.join()) caller_.work_with([this](Node* node) { return look(node); });
    crew_.board.wait_until_empty();
  }

  /// While no device has work, a team may help with the CPU's. It sets nodes of devices aside.
  Node* look(Node* node) {
    if (!crew_.board.is_alone()) {
      caller_.pacer().look();
      return node;
    }
    for (Node* const other : crew_.board.take_all()) caller_.ready().push(other);
    Node* const next = look_(node);
    while (Node* const other = caller_.ready().pop()) crew_.push(other);
    return next;
  }

  void finish(std::span<const StreamSet> used) {
    try {
      join_streams(used);
    } catch (...) {
      crew_.board.fail(0);
    }
    crew_.finish();
    caller_.accumulate_kept(caller_);
    for (const auto& worker : workers_) worker->lane.accumulate_kept(caller_);
  }

  Lane<Scratch>& caller_;
  Crew crew_;
  const Look look_;
  std::vector<std::unique_ptr<OtherLane<Scratch>>> workers_;
};

}  // namespace ebb::autograd
