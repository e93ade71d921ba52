// ebb/autograd/engine/team.h -- several threads run part of a graph, with the result of one.
//
// A run forms a team when it has had nodes for two threads for a while. Each lane steps through
// nodes as the run itself does, and differs in three points. A gradient that could be early waits
// in its slot (slot.h), so sums are formed in the order of one thread. Gradients of leaves wait for
// the end of the team: no two threads add to one. Nodes with large outputs are set aside: their
// kernels use all threads once the team is done. Nodes with hooks or Python code run on the
// caller's thread, those that touch a device after the team (placed_run.h).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "ebb/autograd/engine/ready_nodes.h"
#include "ebb/autograd/engine/shared_delivery.h"
#include "ebb/autograd/engine/team_queue.h"
#include "ebb/autograd/history/slot.h"
#include "ebb/autograd/history/thread_modes.h"
#include "ebb/core/base/log.h"
#include "ebb/core/runtime/parallel.h"

namespace ebb::autograd {

/// More threads than this never work on one graph.
inline constexpr size_t kMostLanes = 64;

/// Whether the settings and modes of this thread allow other threads to run nodes, and teams.
bool may_use_threads();
bool may_share_run();
/// Whether the node may run on any thread: it has neither hooks nor Python code.
bool runs_anywhere(const Node& node);
/// Whether the node takes gradients of a device, or makes some.
bool touches_device(const Node& node);
/// Whether the kernels of the node are worth several threads.
bool is_large(const Node& node);
inline bool is_for_team(const Node& node) { return runs_anywhere(node) && !is_large(node); }

/// Counts for backward_threads().
void note_team(uint64_t nodes_by_others);

/// Bytes that wait in slots and at leaves; past a limit the run goes on alone.
class WaitingBytes {
 public:
  /// True if that was too much.
  bool add(const Tensor& grad) { return add(grad.numel() * item_size(grad.dtype())); }
  bool add(int64_t bytes) {
    return count_.fetch_add(bytes, std::memory_order_relaxed) + bytes > kMost;
  }
  bool is_too_much() const { return count_.load(std::memory_order_relaxed) > kMost; }

 private:
  static constexpr int64_t kMost = int64_t{64} << 20;
  std::atomic<int64_t> count_{0};
};

/// What the lanes of a team share.
struct TeamShared {
  TeamQueue queue;
  std::mutex slots;  // held while a gradient is put where others may put one, too
  WaitingBytes waiting_bytes;
  std::atomic<uint64_t> helped_ns{0};
  std::atomic<uint64_t> nodes_by_others{0};
  DeferredWarnings warnings;  // of the helpers
};

/// One thread of a team.
template <typename Run>
class TeamLane : public SharedDelivery<TeamLane<Run>> {
 public:
  TeamLane(Run& run, TeamShared& shared, LaneRole role) : run_(run), shared_(shared), role_(role) {}

  void push(Node* node) { ready_.push(node); }
  Node* pop() { return ready_.pop(); }

  void work() {
    if (!shared_.queue.join(role_)) return;
    if (is_caller() && has_eager_teams()) shared_.queue.wait_for_company();
    try {
      run_nodes();
    } catch (...) {
      shared_.queue.fail(UINT64_MAX);
    }
    shared_.queue.leave(role_);
  }

  /// After the team, on the caller's thread.
  void accumulate_staged() {
    for (StagedGradient& staged : staged_) run_.accumulate(*staged.leaf, std::move(staged.grad));
  }

 private:
  friend NodeStepper<TeamLane>;
  friend SharedDelivery<TeamLane>;
  auto& core() { return run_.core(); }
  void note_current(Node& node) {
    if (is_caller()) run_.note_current(&node);
  }
  bool is_caller() const { return role_ == LaneRole::caller; }

  void run_nodes() {
    uint64_t since = now_ns();
    uint64_t count = 0;
    while (!shared_.queue.stops()) {
      Node* node = ready_.pop();
      if (node == nullptr) {
        note_help(since, std::exchange(count, 0));
        node = shared_.queue.take(role_);
        if (node == nullptr) return;
        since = now_ns();
      }
      if (is_caller() && run_.pacer().is_due() && looks_deserted()) {
        ready_.push(node);
        return;
      }
      run_node(*node);
      ++count;
      if (shared_.queue.is_wanted() && ready_.has_surplus()) {
        shared_.queue.offer(ready_.take_surplus());
      }
    }
  }

  void note_help(uint64_t since, uint64_t count) {
    if (is_caller()) return;
    shared_.helped_ns.fetch_add(now_ns() - since, std::memory_order_relaxed);
    shared_.nodes_by_others.fetch_add(count, std::memory_order_relaxed);
  }

  bool looks_deserted() {
    run_.pacer().look();
    return shared_.queue.is_deserted();
  }

  void run_node(Node& node) {
    if (is_large(node) || touches_device(node)) return shared_.queue.set_aside(&node);
    if (!is_caller() && !runs_anywhere(node)) return shared_.queue.keep_for_caller(&node);
    try {
      this->step(node);
    } catch (...) {
      shared_.queue.fail(node.sequence());
    }
  }

  void make_ready(Node& node) {
    if (node.edge_count() > 0) return ready_.push(&node);
    if (!is_caller() && !runs_anywhere(node)) return shared_.queue.keep_for_caller(&node);
    this->step(node);
  }

  /// No gradient of a device comes here: its nodes are set aside.
  void arrive(const Tensor& /*grad*/, const Node& /*node*/) {}
  void sum_waiting(Node& node) { run_.sum_all_waiting(node); }

  void add_early(Node& node, uint32_t index, Tensor&& grad, SlotOrder order) {
    if (shared_.waiting_bytes.add(grad)) shared_.queue.stop();
    const std::lock_guard lock(shared_.slots);
    wait_in_slot(core().scratch().slots(node)[index], std::move(grad), order);
    std::atomic_ref<uint32_t>(core().scratch().state(node))
        .fetch_or(NodeState::kWaits, std::memory_order_relaxed);
  }

  void accumulate(AccumulateGrad& leaf, Tensor grad) {
    if (is_caller() && !runs_anywhere(leaf)) return run_.accumulate(leaf, std::move(grad));
    if (shared_.waiting_bytes.add(grad)) shared_.queue.stop();
    staged_.push_back({&leaf, std::move(grad)});
  }

  Run& run_;
  TeamShared& shared_;
  LaneRole role_;
  std::vector<Node*> heap_;
  ReadyNodes ready_{heap_};
  std::vector<StagedGradient> staged_;
};

template <typename Run>
class Team {
 public:
  /// For a run with `width` ready nodes for a team.
  Team(Run& run, size_t width) : run_(run) {
    const auto threads = static_cast<size_t>(num_threads());
    const size_t lanes = std::min({width, threads, kMostLanes});
    for (size_t lane = 0; lane < lanes; ++lane) {
      lanes_.push_back(std::make_unique<TeamLane<Run>>(
          run, shared_, lane == 0 ? LaneRole::caller : LaneRole::helper));
    }
  }

  /// Runs until nothing is left that a team may run, or the help has gone. The rest is ready in the
  /// run again. False if the run should form no further team. Throws what a node threw.
  bool run() {
    const uint64_t start = now_ns();
    while (Node* const node = run_.ready_.pop()) lanes_[0]->push(node);
    work();
    const std::vector<Node*> left = shared_.queue.collect();
    shared_.warnings.replay();
    for (Node* const node : left) run_.ready_.push(node);
    for (const auto& lane : lanes_) {
      while (Node* const node = lane->pop()) run_.ready_.push(node);
      lane->accumulate_staged();
    }
    note_team(shared_.nodes_by_others);
    run_.pacer().judge.note_result(shared_.helped_ns, now_ns() - start);
    return !shared_.waiting_bytes.is_too_much();
  }

 private:
  void work() {
    const ThreadModes modes = ThreadModes::current();
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<size_t> next_helper{1};
    bool caller_has_worked = false;
    parallel_for(static_cast<int64_t>(lanes_.size()), 1, [&](int64_t, int64_t) {
      const StopScope stop(shared_.queue.signal());
      if (std::this_thread::get_id() == caller) {
        if (!std::exchange(caller_has_worked, true)) lanes_[0]->work();
        return;
      }
      const size_t lane = next_helper++;
      if (lane >= lanes_.size()) return;
      const ThreadModesScope scope(modes);
      const ActiveRunScope part(&run_);
      const DeferWarnings defer(shared_.warnings);
      lanes_[lane]->work();
    });
  }

  Run& run_;
  TeamShared shared_;
  std::vector<std::unique_ptr<TeamLane<Run>>> lanes_;
};

}  // namespace ebb::autograd
