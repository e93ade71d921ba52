// ebb/autograd/engine/run.cpp -- the run itself: discover, execute, deliver, commit.
//
// Order: among ready nodes the one recorded last runs first; gradients of one slot are added in the
// order they come, which for a graph recorded by one thread is falling sequence number. A leaf's
// gradient is staged once it is complete, and added after the last node, so that a failed run
// leaves all as they were; what hooks were to see before that is taken back (undo.h).
//
// The run looks up every 20 us (pacer.h), and if it finds work for several threads, a team runs
// part of the graph (team.h), with the same result.
#include "ebb/autograd/engine/run.h"

#include <utility>

#include "ebb/autograd/engine/lane.h"
#include "ebb/autograd/engine/lane_hooks.h"
#include "ebb/autograd/engine/nesting.h"
#include "ebb/autograd/engine/pacer.h"
#include "ebb/autograd/engine/placed_run.h"
#include "ebb/autograd/engine/ready_nodes.h"
#include "ebb/autograd/engine/scratch.h"
#include "ebb/autograd/engine/team.h"
#include "ebb/autograd/history/gradients/gradient_math.h"
#include "ebb/autograd/history/names/tensor_name.h"
#include "ebb/autograd/hooks/foreign_error.h"
#include "ebb/autograd/hooks/gradient_gate.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {
namespace {

/// The leaves that a failed run had added to, for the error's text. A retry would count them twice.
class AddedLeaves {
 public:
  void see(const Node& node, uint32_t state) noexcept {
    if ((state & NodeState::kAdded) == 0) return;
    try {
      if (count_++ >= kNamed) return;
      const Edge leaf = {const_cast<Node*>(&node), 0, 0};
      names_ += str(count_ == 1 ? "" : ", ", describe_place(leaf));
    } catch (const std::bad_alloc&) {  // then it goes unnamed
    }
  }
  /// Rethrows the exception being handled, with what was seen.
  [[noreturn]] void rethrow() const {
    if (count_ == 0) throw;
    rethrow_with(str("\n  gradients were already added to ", count_,
                     count_ == 1 ? " leaf (" : " leaves (", names_, count_ > kNamed ? ", ..." : "",
                     "): a retry would add them again"));
  }

 private:
  static constexpr size_t kNamed = 8;
  size_t count_ = 0;
  std::string names_;
};

template <typename Scratch>
class GraphRun {
 public:
  GraphRun(const RunRequest& request, RunBuffers& buffers, const RunNumber* number)
      : request_(request),
        buffers_(buffers),
        core_(request, buffers, number),
        lane_(core_, buffers),
        may_share_(!request.care.records() && !request.care.checks_gradients()) {
    buffers.staged.clear();
    buffers.stack.clear();
    buffers.pacer.start_run();
  }

  /// See RunCore.
  bool discover(bool is_alone) { return core_.discover(is_alone); }

  void run() {
    const ActiveRunScope scope(&core_);
    try {
      start();
      run_all_ready();
      if (core_.has_notes()) [[unlikely]]
        open_stalled_gates();
      commit();
    } catch (...) {
      buffers_.undo.take_back([&](Node& node) { forget_added(node); });
      AddedLeaves added;
      core_.scratch().forget_all(buffers_.roots,
                                 [&](const Node& node, uint32_t state) { added.see(node, state); });
      added.rethrow();
    }
    core_.note_current(nullptr);
    core_.call_callbacks();
  }

 private:
  void forget_added(Node& node) { core_.scratch().state(node) &= ~NodeState::kAdded; }

  [[gnu::noinline]] void open_stalled_gates() {
    while (Node* const node = core_.open_stalled_gate()) {
      lane_.deliver_sent(*node);
      run_all_ready();
    }
  }

  void run_all_ready() {
    if (core_.has_device_nodes()) [[unlikely]] {
      run_placed_nodes();
    } else {
      run_ready_nodes();
    }
  }

  [[gnu::noinline]] void run_ready_nodes() {
    Pacer& pacer = buffers_.pacer;
    while (Node* node = lane_.ready().pop()) {
      if (pacer.is_due()) [[unlikely]] {
        node = look_around(node);
        if (node == nullptr) break;
      }
      lane_.run_alone(*node);
    }
  }

  [[gnu::noinline]] void run_placed_nodes() {
    const RunPlaces places = buffers_.places;
    const bool has_workers = !request_.care.records() && may_use_threads() && !has_gates();
    const auto look = [this](Node* node) { return look_around(node); };
    PlacedRun<Scratch> placed(lane_, has_workers ? places.devices : std::vector<Device>(), look);
    placed.run(places.streams);
  }

  /// Puts the seeds into their slots, then lets those roots run that wait for nobody.
  void start() {
    for (Root& root : buffers_.roots) {
      if (!core_.starts(root)) continue;
      lane_.add_to_slot(*root.node, root.index, std::move(root.seed), {UINT64_MAX, 0});
    }
    for (const Root& root : buffers_.roots) {
      if (!core_.starts(root)) continue;
      uint32_t& state = core_.scratch().state(*root.node);
      if ((state & NodeState::kCountMask) != 0) continue;  // it waits for somebody
      state |= NodeState::kCountMask;  // several roots may be outputs of one node: queue it once
      lane_.make_ready(*root.node);
    }
  }

  /// Returns the node to run next: `node`, unless a team has run it.
  [[gnu::noinline]] Node* look_around(Node* node) {
    buffers_.pacer.look();
    if (!may_share_ || !may_share_run() || has_gates()) return node;
    ReadyNodes& ready = lane_.ready();
    ready.push(node);
    const size_t width =
        ready.count_up_to(kMostLanes, [](const Node& node) { return is_for_team(node); });
    if (buffers_.pacer.judge.wants_team(width >= 2 && buffers_.pacer.has_long_nodes())) {
      Team<Scratch> team(lane_, width);
      may_share_ = team.run();
    }
    return ready.pop();
  }

  /// Whether a gate may hold gradients of this run back; hooks may add one while the run goes on.
  bool has_gates() {
    const uint64_t made = GateGroup::count_made();
    if (made == gates_seen_) return false;
    if (GateGroup::any_in(core_)) return true;
    gates_seen_ = made;
    return false;
  }

  /// Copies what must be copied first: that may run out of memory, and then nothing has happened.
  void commit() {
    if (request_.care.is_for_leaves() || request_.is_restricted()) [[unlikely]]
      return commit_carefully();
    commit_staged();
  }

  /// In a profile leaves without a gradient get theirs in one range: there are many, and most only
  /// have it handed over.
  [[gnu::noinline]] void commit_carefully() {
    const bool has_sink = request_.is_restricted() && request_.restriction->sink != nullptr;
    if (buffers_.staged.empty() && !has_sink) return;  // as in grad(): there is nothing to add to
    const CallRange range("AccumulateGrad", request_.location);
    commit_all();
  }

  void commit_staged() {
    prepare_staged();
    add_staged();
  }

  void prepare_staged() {
    for (StagedGradient& staged : buffers_.staged) {
      staged.prepared = staged.leaf->prepare(std::move(staged.prepared.grad));
    }
  }

  /// The last one first, which may still be in a cache.
  void add_staged() {
    for (auto staged = buffers_.staged.rbegin(); staged != buffers_.staged.rend(); ++staged) {
      staged->leaf->accumulate(std::move(staged->prepared));
      core_.scratch().state(*staged->leaf) |= NodeState::kAdded;
    }
  }

  /// The same where others than leaves want a gradient.
  void commit_all() {
    CaptureSink* const sink = request_.is_restricted() ? request_.restriction->sink : nullptr;
    prepare_staged();
    if (sink != nullptr) sink->prepare(request_.restriction->captured);
    add_staged();
    if (sink != nullptr) sink->commit();
  }

  const RunRequest& request_;
  RunBuffers& buffers_;
  RunCore<Scratch> core_;
  Lane<Scratch> lane_;       // of this thread
  bool may_share_;           // whether a team may run part of it
  uint64_t gates_seen_ = 0;  // of so many made, none is in this graph
};

[[gnu::noinline]] void run_in_map(const RunRequest& request, RunBuffers& buffers) {
  GraphRun<MapScratch> run(request, buffers, nullptr);
  run.discover(true);
  run.run();
}

/// While a run goes on a helper's stack, its buffers count no levels of this thread.
class LevelScope {
 public:
  explicit LevelScope(RunBuffers& buffers)
      : buffers_(buffers), level_(std::exchange(buffers.level, 0u)) {}
  ~LevelScope() { buffers_.level = level_; }
  LevelScope(const LevelScope&) = delete;
  LevelScope& operator=(const LevelScope&) = delete;

 private:
  RunBuffers& buffers_;
  const uint32_t level_;
};

[[gnu::noinline]] void run_deep(const RunRequest& request, RunBuffers& buffers) {
  const LevelScope scope(buffers);
  run_on_helper_thread([&] { run_graph(request, buffers); });
}

}  // namespace

bool NodeRun::is_needed(const Edge& edge) const { return restricted_to_->is_needed(edge); }

void run_graph(const RunRequest& request, RunBuffers& buffers) {
  if (buffers.level > kLevelsPerThread) [[unlikely]]
    return run_deep(request, buffers);
  const uint32_t grad_off = request.care.records() ? 0 : gate::kNoGrad;
  // Gradients are ordinary tensors, also if backward() is called in inference mode.
  // Rules may compute what is not finite on their way, and their nodes have a place already. They
  // compute in the dtypes of forward, wherever backward() is called.
  constexpr uint32_t kNotInside = gate::kInference | gate::kNanCheck | gate::kAnomaly |
                                  gate::kObserved | gate::kCutTrace | gate::kAutocast;
  const RunModes modes(grad_off, (gate::kNoGrad & ~grad_off) | kNotInside);
  {
    RunNumber number;
    if (number.get() != 0) [[likely]] {
      GraphRun<NodeScratch> run(request, buffers, &number);
      if (run.discover(!number.has_others())) [[likely]] {
        number.unlock();
        return run.run();
      }
    }
  }
  run_in_map(request, buffers);  // another run in progress has one of the nodes
}

}  // namespace ebb::autograd
