// ebb/autograd/engine/board.h -- the ready nodes that the threads of a run pass to each other; how
// those wait, stop and end.
//
// Each thread is a lane (lane.h). The caller of backward() and each device's worker have a list of
// nodes here that nobody else may run, latest recorded first. What a lane offers is for the caller
// and the helpers. A worker's lane is there while it has nodes: it is handed to the worker when one
// comes, and leaves when it has run dry. Helpers may come late or not at all, and leave when they
// find nothing to do for a while. The run is done when all lanes that are there have nothing to do.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "ebb/autograd/engine/pacer.h"
#include "ebb/autograd/engine/ready_nodes.h"
#include "ebb/autograd/history/node.h"

namespace ebb::autograd {

enum class LaneRole : uint8_t { caller, helper, worker };

class Board {
 public:
  /// With lists for the caller (number 0) and so many workers.
  explicit Board(size_t workers = 0);

  /// For caller and helpers. False if the run is done or stopped already.
  bool join();
  void leave(LaneRole role);
  /// For tests: waits until another lane is there and has nothing to do.
  void wait_for_company() const;
  /// Whether no other lane is there. For the caller.
  bool is_alone() const { return lanes_.load(std::memory_order_relaxed) == 1; }
  /// The same once it has lasted: helpers would have come by now.
  bool is_deserted() const;
  /// For the caller, which has left: until all others have.
  void wait_until_empty();

  /// Puts a node into a list. True if that is of a worker who is not there: the caller of push()
  /// must hand the lane to it.
  bool push(size_t list, Node* node);
  /// Whether a lane has nothing to do.
  bool is_wanted() const { return hungry_.load(std::memory_order_relaxed) > 0; }
  /// Gives a node to whoever has nothing to do.
  void offer(Node* node);
  /// The node is for when all lanes have left.
  void set_aside(Node* node);
  /// The next node of a lane, which may wait for it. Null: leave. A worker has left by then; the
  /// board, and the run with it, may be gone.
  Node* take(LaneRole role, size_t list);
  /// All that is left here.
  std::vector<Node*> take_all();

  /// Notes the current exception, thrown at a node of that number, and stops all lanes. Of several
  /// the run throws that of the node which one thread would have run first; one that only says that
  /// others failed (RunStopped) counts least.
  void fail(uint64_t sequence) noexcept;
  /// Stops all lanes after their node.
  void stop() noexcept;
  bool stops() const { return stops_.load(std::memory_order_relaxed); }
  /// Whether lanes were stopped without an error: they may go on from now on.
  bool reopen();
  /// Throws what was noted, if anything was.
  void rethrow();
  /// Runs inside this one heed it.
  const StopSignal* signal() const { return &signal_; }

  /// Held while a gradient is put where others may put one, too.
  std::mutex& mutex() { return mutex_; }
  /// No node of a list with a larger number is still to be run, nor will send any more gradients.
  /// Call under the mutex.
  uint64_t horizon() const;
  /// stop() under the mutex.
  void stop_locked() noexcept;

 private:
  struct List {
    std::vector<Node*> heap;
    ReadyNodes nodes{heap};
    uint64_t running = 0;  // the number of the node that was taken last, while it runs
    bool is_busy = false;  // its worker is there
    Node* pop();
  };
  struct Failure {
    std::exception_ptr error;
    uint64_t sequence = 0;
    bool is_own = false;  // no RunStopped
  };
  Node* take_or_leave(List& list);
  Node* pop_for(LaneRole role);
  bool ends();
  void wait_for_change(LaneRole role, std::unique_lock<std::mutex>& lock, uint64_t seen);
  bool sleep(LaneRole role, std::unique_lock<std::mutex>& lock, uint64_t seen);
  void announce() noexcept;
  void let_others_take();
  uint64_t patience_with_others();

  std::mutex mutex_;  // guards what has no comment
  std::condition_variable changed_;
  std::atomic<uint64_t> changes_{0};  // grows under the mutex; looked at without it
  std::vector<List> lists_;
  std::vector<Node*> leaves_;  // with hooks: the caller runs them, before its list
  std::vector<Node*> offered_;
  std::vector<Node*> set_aside_;
  int idle_ = 0;                // lanes
  std::atomic<int> lanes_{0};   // that are there; changes under the mutex
  std::atomic<int> hungry_{0};  // idle lanes without an offer; changes under the mutex
  bool is_over_ = false;
  std::atomic<bool> stops_{false};
  StopSignal signal_;
  Failure failure_;
  const uint64_t started_;
};

}  // namespace ebb::autograd
