// ebb/autograd/engine/team.h -- several threads run part of a graph, with the result of one.
//
// A run forms a team when it has had nodes for two threads for a while. Each lane keeps the nodes
// that it makes ready. One without any is hungry, and the others give it one when they next have a
// spare one. Gradients of leaves wait for the end of the team: no two threads add to one. Nodes
// with large outputs are set aside: their kernels use all threads once the team is done. Nodes with
// hooks or Python code run on the caller's thread, those that touch a device after the team.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "ebb/autograd/engine/lane.h"
#include "ebb/autograd/engine/lane_in_crew.h"
#include "ebb/core/runtime/parallel.h"

namespace ebb::autograd {

template <typename Scratch>
class Team {
 public:
  /// For a run with `width` ready nodes for a team.
  Team(Lane<Scratch>& caller, size_t width) : caller_(caller) {
    const auto threads = static_cast<size_t>(num_threads());
    const size_t lanes = std::min({width, threads, kMostLanes});
    for (size_t lane = 1; lane < lanes; ++lane) {
      helpers_.push_back(
          std::make_unique<OtherLane<Scratch>>(caller.run(), crew_, LaneRole::helper));
    }
  }

  /// Runs until nothing is left that a team may run, or the help has gone. The rest is ready in the
  /// caller's lane. False if the run should form no further team. Throws what a node threw.
  bool run() {
    const uint64_t start = now_ns();
    Crew* const outer = caller_.join(&crew_);
    work();
    caller_.join(outer);
    crew_.finish();
    for (Node* const node : crew_.board.take_all()) caller_.ready().push(node);
    caller_.accumulate_kept(caller_);
    for (const auto& helper : helpers_) {
      while (Node* const node = helper->lane.ready().pop()) caller_.ready().push(node);
      helper->lane.accumulate_kept(caller_);
    }
    note_team(crew_.nodes_by_helpers);
    caller_.pacer().judge.note_result(crew_.helped_ns, now_ns() - start);
    return !crew_.waiting_bytes.is_too_much();
  }

 private:
  void work() {
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<size_t> next_helper{0};
    bool caller_has_worked = false;
    parallel_for(static_cast<int64_t>(1 + helpers_.size()), 1, [&](int64_t, int64_t) {
      if (std::this_thread::get_id() == caller) {
        if (!std::exchange(caller_has_worked, true)) work_as_caller();
        return;
      }
      const size_t helper = next_helper++;
      if (helper < helpers_.size()) helpers_[helper]->work();
    });
  }

  void work_as_caller() {
    const StopScope stop(crew_.board.signal());
    if (!crew_.board.join()) return;
    if (has_eager_teams()) crew_.board.wait_for_company();
    caller_.work_with([this](Node* node) { return look(node); });
  }

  /// Nobody came, or everybody left: the caller goes on alone.
  Node* look(Node* node) {
    caller_.pacer().look();
    if (!crew_.board.is_deserted()) return node;
    caller_.ready().push(node);
    crew_.board.stop();
    return nullptr;
  }

  Lane<Scratch>& caller_;
  Crew crew_;
  std::vector<std::unique_ptr<OtherLane<Scratch>>> helpers_;
};

}  // namespace ebb::autograd
