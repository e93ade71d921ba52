// ebb/autograd/engine/lane_board.h -- the ready nodes of a run with devices: a lane for each
// thread.
//
// Lane 0 is that of the thread that called backward(); each other one belongs to a device. A lane
// runs its nodes latest recorded first. A device's lane is idle until a node comes, is then handed
// to the device's worker, and is idle again when it has run dry. The run is done when all are.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "ebb/autograd/engine/lane_error.h"
#include "ebb/autograd/engine/pacer.h"
#include "ebb/autograd/history/node.h"

namespace ebb::autograd {

class LaneBoard {
 public:
  explicit LaneBoard(size_t lanes);

  /// True if the lane was idle: the caller must hand it to its worker.
  bool push(size_t lane, Node* node);
  /// For a device's lane: the next node. Null: the lane is idle, leave at once; the board, and the
  /// run with it, may be gone.
  Node* take(size_t lane);
  /// For lane 0: waits for a node. Null: nothing is left anywhere, or all lanes are to stop. Throws
  /// what a signal means, and RunStopped if a run around this one failed.
  Node* take_or_wait();
  /// Waits until no worker has a lane.
  void wait_until_idle();
  bool is_idle();
  /// The nodes that wait in lane 0, or in all lanes; those of leaves last.
  std::vector<Node*> take_all_of_caller();
  std::vector<Node*> take_all();

  /// Notes the current exception, thrown at a node of that number, and stops all lanes.
  void fail(uint64_t sequence) noexcept;
  /// Stops all lanes after their node. Call under the mutex.
  void stop_locked() noexcept;
  /// Whether lanes were stopped; they may go on from now on.
  bool clear_stop();
  bool has_failed();
  void rethrow();
  /// Runs inside this one heed it.
  const StopSignal* signal() const { return &signal_; }

  /// Held while a gradient is put where others may put one, too.
  std::mutex& mutex() { return mutex_; }
  /// No node with a larger number is still to be run, nor will send any more gradients. Call under
  /// the mutex.
  uint64_t horizon() const;

 private:
  struct Lane {
    std::vector<Node*> heap;
    std::vector<Node*> leaves;  // with hooks: they come first
    uint64_t running = 0;       // the number of the node that it runs
    bool is_busy = false;       // handed to a worker
  };
  Node* pop(Lane& lane);
  static void move_all(Lane& from, std::vector<Node*>& to);

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<Lane> lanes_;
  size_t busy_ = 0;  // lanes
  bool stops_ = false;
  LaneError error_;
  StopSignal signal_;
};

}  // namespace ebb::autograd
