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

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "ebb/autograd/engine/device_worker.h"
#include "ebb/autograd/engine/lane_board.h"
#include "ebb/autograd/engine/shared_delivery.h"
#include "ebb/autograd/engine/team.h"
#include "ebb/core/base/log.h"
#include "ebb/core/tensor/device_memory.h"

namespace ebb::autograd {

/// The device whose worker may run the node; the CPU for what the caller's thread runs.
Device home_of(const Node& node);
/// Makes the thread's current streams wait for those of the sets, or the other way round.
void join_streams(std::span<const StreamSet> sets);
void fork_streams(std::span<const StreamSet> sets);
/// Counts for backward_threads().
void note_device_node();

/// What the lanes of a run share.
struct PlacedShared {
  explicit PlacedShared(size_t lanes) : board(lanes) {}

  LaneBoard board;
  WaitingBytes waiting_bytes;
  DeferredWarnings warnings;                    // of the workers
  const StreamSet callers = current_streams();  // on which leaves are added to
  const ThreadModes modes = ThreadModes::current();
};

template <typename Run>
class PlacedRun;

/// One thread of a run with devices.
template <typename Run>
class PlacedLane final : public SharedDelivery<PlacedLane<Run>>, public DeviceJob {
  using Delivery = SharedDelivery<PlacedLane<Run>>;

 public:
  PlacedLane(Run& run, PlacedRun<Run>& placed, PlacedShared& shared, size_t index)
      : run_(run), placed_(placed), shared_(shared), index_(index) {}

  /// For a device's lane, on its worker. The last access to the run is that of take().
  void work() noexcept override {
    const ThreadModesScope modes(shared_.modes);
    const ActiveRunScope part(&run_);
    const StopScope stop(shared_.board.signal());
    const DeferWarnings defer(shared_.warnings);
    while (Node* const node = shared_.board.take(index_)) {
      note_device_node();
      run_node(*node);
    }
  }

  void run_node(Node& node) {
    const StreamSetScope streams(streams_for(node));
    try {
      this->step(node);
    } catch (...) {
      shared_.board.fail(node.sequence());
    }
  }

  std::vector<StagedGradient>& staged() { return staged_; }

 private:
  friend Delivery;
  friend NodeStepper<PlacedLane>;
  auto& core() { return run_.core(); }
  bool is_caller() const { return index_ == 0; }
  void note_current(Node& node) {
    if (is_caller()) run_.note_current(&node);
  }

  StreamSet streams_for(const Node& node) const {
    return node.edge_count() == 0 ? shared_.callers : streams_of(node.output_meta(0).context);
  }

  void make_ready(Node& node) {
    const bool is_plain_leaf =
        node.edge_count() == 0 && node.extra() == nullptr && !node.needs_caller_thread();
    if (!is_plain_leaf) return placed_.push(&node);
    const StreamSetScope streams(shared_.callers);
    this->step(node);
  }

  /// The gradient comes from the current streams; the node goes on when it is there.
  void arrive(const Tensor& grad, const Node& node) {
    const Device device = grad.device();
    if (is_on_host(device)) return;
    const Stream from = current_stream(device);
    const Stream to = stream_in(streams_for(node), device);
    if (from == to) return;
    order_streams(from, to);
    record_stream(grad, to);
  }

  void add_last(Node& node, uint32_t index, Tensor&& grad, SlotOrder order) {
    const StreamSetScope streams(streams_for(node));
    Delivery::add_last(node, index, std::move(grad), order);
  }

  void add_early(Node& node, uint32_t index, Tensor&& grad, SlotOrder order) {
    const StreamSetScope streams(streams_for(node));
    const std::lock_guard lock(shared_.board.mutex());
    TensorImpl*& slot = core().scratch().slots(node)[index];
    const int64_t bytes = grad.numel() * item_size(grad.dtype());
    wait_in_slot(slot, std::move(grad), order);
    waiting_of(slot).sum_down_to(shared_.board.horizon());
    std::atomic_ref<uint32_t>(core().scratch().state(node))
        .fetch_or(NodeState::kWaits, std::memory_order_relaxed);
    const bool is_too_much = waiting_of(slot).count() > 1 && shared_.waiting_bytes.add(bytes);
    if (is_too_much) shared_.board.stop_locked();
  }

  void sum_waiting(Node& node) {
    const StreamSetScope streams(streams_for(node));
    run_.sum_all_waiting(node);
  }

  void accumulate(AccumulateGrad& leaf, Tensor grad) {
    if (!core().request().stages_all && accumulate_noted(leaf, grad)) {
      std::atomic_ref<uint32_t>(core().scratch().state(leaf))
          .fetch_or(NodeState::kAdded, std::memory_order_relaxed);
    } else {
      staged_.push_back({&leaf, std::move(grad)});
    }
  }

  Run& run_;
  PlacedRun<Run>& placed_;
  PlacedShared& shared_;
  const size_t index_;
  std::vector<StagedGradient> staged_;
};

template <typename Run>
class PlacedRun {
 public:
  /// `homes`: the devices that have nodes, if their workers may run them; else none.
  PlacedRun(Run& run, std::vector<Device> homes)
      : run_(run), homes_(std::move(homes)), shared_(1 + homes_.size()) {
    for (size_t lane = 0; lane <= homes_.size(); ++lane) {
      lanes_.push_back(std::make_unique<PlacedLane<Run>>(run, *this, shared_, lane));
    }
  }

  /// Runs all that is ready in the run, and what becomes so. Throws what a node threw.
  void run(std::span<const StreamSet> used) {
    fork_streams(used);
    while (Node* const node = run_.ready_.pop()) push(node);
    run_lanes();
    while (!shared_.board.has_failed() && shared_.board.clear_stop()) {  // too much was waiting
      homes_.clear();
      for (Node* const node : shared_.board.take_all()) push(node);
      run_lanes();
    }
    finish(used);
  }

  /// Gives a ready node to the lane that runs it.
  void push(Node* node) {
    const size_t lane = lane_of(*node);
    if (!shared_.board.push(lane, node)) return;
    if (!post_to_worker(homes_[lane - 1], *lanes_[lane])) lanes_[lane]->work();
  }

 private:
  size_t lane_of(const Node& node) const {
    if (homes_.empty()) return 0;
    const auto home = std::find(homes_.begin(), homes_.end(), home_of(node));
    return home == homes_.end() ? 0 : static_cast<size_t>(home - homes_.begin()) + 1;
  }

  /// Until nothing is left, a node fails, or the lanes are stopped.
  void run_lanes() {
    const StopScope stop(shared_.board.signal());
    try {
      while (Node* node = shared_.board.take_or_wait()) {
        if (run_.pacer().is_due()) node = look_around(node);
        if (node != nullptr) lanes_[0]->run_node(*node);
      }
    } catch (...) {
      shared_.board.fail(UINT64_MAX);
    }
    shared_.board.wait_until_idle();
  }

  /// While no device has work, a team may help with the CPU's. It sets nodes of devices aside.
  Node* look_around(Node* node) {
    if (!shared_.board.is_idle()) {
      run_.pacer().look();
      return node;
    }
    for (Node* const other : shared_.board.take_all_of_caller()) run_.ready_.push(other);
    Node* const next = run_.look_around(node);
    while (Node* const other = run_.ready_.pop()) push(other);
    return next;
  }

  void finish(std::span<const StreamSet> used) {
    try {
      join_streams(used);
      shared_.warnings.replay();
    } catch (...) {
      shared_.board.fail(0);
    }
    shared_.board.rethrow();
    for (const auto& lane : lanes_) {
      for (StagedGradient& staged : lane->staged()) run_.stage(std::move(staged));
    }
  }

  Run& run_;
  std::vector<Device> homes_;  // of the lanes from 1 on
  PlacedShared shared_;
  std::vector<std::unique_ptr<PlacedLane<Run>>> lanes_;
};

}  // namespace ebb::autograd
