// ebb/autograd/engine/scratch.h -- where a run keeps its state per node: gradients to come, sums so
// far.
//
// The nodes have room for one run's state (NodeScratch: nothing to look up). A run takes possession
// of a node by writing its number into it; the numbers of the runs in progress are public. Runs on
// disjoint graphs thus all use the room in their nodes, and one that meets a node of another run in
// progress, nested inside it or beside it, keeps its state in a map (MapScratch).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ebb/autograd/engine/run_state.h"
#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/record.h"

namespace ebb::autograd {

/// What a run notes of a node: a count of gradients to come and five marks, in one word.
struct NodeState {
  static constexpr uint32_t kNeeded = 1u << 31;    // on a path to a capture
  static constexpr uint32_t kCaptured = 1u << 30;  // a capture asks for one of its gradients
  static constexpr uint32_t kExecutes = 1u << 29;  // something behind it is needed
  static constexpr uint32_t kAdded = 1u << 28;     // a leaf whose grad was added to already
  static constexpr uint32_t kWaits = 1u << 27;     // gradients wait in its slots (slot.h)
  static constexpr uint32_t kCountMask = kWaits - 1;
};

/// Held while nodes are taken, by one thread of the process at a time. It is one byte: a run of a
/// single node would feel a mutex.
class TakingLock {
 public:
  void lock() {
    if (is_held_.exchange(true, std::memory_order_acquire)) wait_for_lock();
  }
  void unlock() { is_held_.store(false, std::memory_order_release); }

 private:
  void wait_for_lock();
  std::atomic<bool> is_held_{false};
};

/// The runs in progress. Lives as long as the process: a daemon thread's run may end after main().
struct RunTable {
  /// More runs than this at a time is no error: those beyond use maps.
  static constexpr int kMostRuns = 256;

  TakingLock taking;
  uint32_t last_number = 0;                        // guarded by the lock
  int used_places = 0;                             // guarded: none beyond was ever taken
  std::atomic<uint32_t> in_progress[kMostRuns]{};  // 0: free; taken under the lock only
};
extern constinit RunTable run_table;

/// The number of a run, public from discovery to the end of the run. A run discovers its graph
/// while it holds the lock: nobody else takes nodes meanwhile.
class RunNumber {
 public:
  /// Takes the lock and a number. The number is 0 if too many runs are in progress.
  RunNumber() {
    run_table.taking.lock();
    // Acquire: what an ended run wrote into its nodes happened before this one takes them.
    std::atomic<uint32_t>& first = run_table.in_progress[0];
    const bool is_alone = run_table.used_places == 1 && first.load(std::memory_order_acquire) == 0;
    place_ = is_alone ? &first : find_place();
    if (place_ == nullptr) return;
    if (++run_table.last_number == 0) ++run_table.last_number;  // 0 marks fresh nodes
    number_ = run_table.last_number;
    place_->store(number_, std::memory_order_relaxed);
  }
  ~RunNumber() {
    if (place_ != nullptr) place_->store(0, std::memory_order_release);
    if (holds_lock_) run_table.taking.unlock();
  }
  RunNumber(const RunNumber&) = delete;
  RunNumber& operator=(const RunNumber&) = delete;

  uint32_t get() const { return number_; }
  /// Whether other runs were in progress when this one took its number.
  bool has_others() const { return has_others_; }
  /// Whether `number` is that of another run in progress. Call under the lock.
  bool is_of_other(uint32_t number) const;
  /// Call once the nodes are taken.
  void unlock() {
    holds_lock_ = false;
    run_table.taking.unlock();
  }

 private:
  std::atomic<uint32_t>* find_place();

  // A number is never reused while a node could still carry it: 2^32 runs lie between.
  uint32_t number_ = 0;
  bool has_others_ = false;
  bool holds_lock_ = true;
  std::atomic<uint32_t>* place_;
};

/// State inside the nodes.
class NodeScratch {
 public:
  explicit NodeScratch(const RunNumber* number) : number_(number), id_(number->get()) {}
  /// True at the first visit of this run; the state is then blank.
  bool visit(Node& node) {
    if (is_visited(node)) return false;
    set_task(node, id_);
    NodeAccess::pending(node) = 0;
    return true;
  }
  bool is_visited(Node& node) const { return task_of(node) == id_; }
  /// Whether another run in progress has the node.
  bool is_taken(Node& node) const {
    const uint32_t task = task_of(node);
    return task != id_ && number_->is_of_other(task);
  }
  uint32_t& state(Node& node) { return NodeAccess::pending(node); }
  TensorImpl** slots(Node& node) { return NodeAccess::slots(node); }
  /// After a failed run: frees the gradients left in slots of all visited nodes, and calls
  /// `see(node, state)` with each.
  template <typename See>
  void forget_all(std::span<const Root> roots, See&& see) noexcept;

 private:
  // Atomic: hooks of other runs may ask whose a node is.
  static uint32_t task_of(Node& node) {
    return __atomic_load_n(&NodeAccess::task(node), __ATOMIC_RELAXED);
  }
  static void set_task(Node& node, uint32_t number) {
    __atomic_store_n(&NodeAccess::task(node), number, __ATOMIC_RELAXED);
  }

  const RunNumber* number_;
  uint32_t id_;
};

/// State beside the nodes.
class MapScratch {
 public:
  explicit MapScratch(const RunNumber* /*number*/) {}
  bool visit(Node& node) {
    const auto [entry, is_new] = entries_.try_emplace(&node);
    if (is_new) entry->second.slots.resize(node.output_count());
    return is_new;
  }
  bool is_visited(Node& node) const { return entries_.contains(&node); }
  bool is_taken(Node& /*node*/) const { return false; }
  uint32_t& state(Node& node) { return entries_.find(&node)->second.state; }
  TensorImpl** slots(Node& node) { return entries_.find(&node)->second.slots.data(); }
  template <typename See>
  void forget_all(std::span<const Root> roots, See&& see) noexcept;

 private:
  struct Entry {
    uint32_t state = 0;
    std::vector<TensorImpl*> slots;
  };
  std::unordered_map<Node*, Entry> entries_;
};

void release_slots(TensorImpl** slots, uint32_t count) noexcept;

// Nodes that wait to be looked at are chained through their slot, which is empty by then: this must
// work when there is no memory left. The lock: a node that was forgotten is anybody's to take.
template <typename See>
void NodeScratch::forget_all(std::span<const Root> roots, See&& see) noexcept {
  const std::lock_guard lock(run_table.taking);
  Node* waiting = nullptr;
  const auto forget = [&](Node& node) {
    if (!is_visited(node)) return;
    see(node, state(node));
    set_task(node, 0);
    release_slots(slots(node), node.output_count());
    NodeAccess::set_link(node, std::exchange(waiting, &node));
  };
  for (const Root& root : roots) forget(*root.node);
  while (waiting != nullptr) {
    Node& node = *waiting;
    waiting = NodeAccess::take_link(node);
    for (const Edge& edge : node.edges()) {
      if (edge.node != nullptr) forget(*edge.node);
    }
  }
}

template <typename See>
void MapScratch::forget_all(std::span<const Root> /*roots*/, See&& see) noexcept {
  for (auto& [node, entry] : entries_) {
    see(*node, entry.state);
    release_slots(entry.slots.data(), node->output_count());
  }
}

}  // namespace ebb::autograd
