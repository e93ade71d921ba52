// ebb/autograd/engine/team_queue.h -- how the threads of a team pass nodes to each other.
//
// Each thread (lane) keeps the nodes that it made ready. A lane without any is hungry, and the
// others give it one when they next have a spare one. When all are hungry the team is done. The
// thread that called backward() is one of the lanes; the others may come late or not at all, and
// leave when they find nothing to do for a while.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "ebb/autograd/engine/lane_error.h"
#include "ebb/autograd/engine/pacer.h"
#include "ebb/autograd/history/node.h"

namespace ebb::autograd {

enum class LaneRole : uint8_t { caller, helper };

class TeamQueue {
 public:
  TeamQueue();

  /// False if the team is done already.
  bool join(LaneRole role);
  void leave(LaneRole role);
  /// For tests: waits until another lane is there and hungry.
  void wait_for_company() const;

  /// Whether a lane has nothing to do.
  bool is_wanted() const { return hungry_.load(std::memory_order_relaxed) > 0; }
  /// Gives a node to whoever has nothing to do.
  void offer(Node* node);
  /// The node must run on the caller's thread.
  void keep_for_caller(Node* node);
  /// The node is for after the team, when its kernel may have all threads.
  void set_aside(Node* node);
  /// Another lane's node, when there is one. Null: leave.
  Node* take(LaneRole role);

  /// Notes the current exception, thrown at a node of that number, and stops all lanes.
  void fail(uint64_t sequence) noexcept;
  /// Stops all lanes after their node; the caller goes on alone.
  void stop() noexcept;
  bool stops() const { return stops_.load(std::memory_order_relaxed); }
  /// Runs inside this one heed it.
  const StopSignal* signal() const { return &signal_; }

  /// For the caller: whether nobody came, or everybody left.
  bool is_deserted() const;
  /// After all lanes have left: rethrows what was noted, else hands out the nodes left over.
  std::vector<Node*> collect();

 private:
  enum class Verdict : uint8_t { got, wait, leave };
  Verdict try_take(LaneRole role, Node*& node);
  void wait_for_change(LaneRole role, std::unique_lock<std::mutex>& lock, uint64_t seen);
  void announce() noexcept;
  void let_others_take();
  uint64_t patience_with_others();

  std::mutex mutex_;  // guards what has no comment
  std::condition_variable changed_;
  std::atomic<uint64_t> changes_{0};  // grows under the mutex; looked at without it
  std::vector<Node*> offered_;
  std::vector<Node*> for_caller_;
  std::vector<Node*> set_aside_;
  int idle_ = 0;
  std::atomic<int> lanes_{0};   // changes under the mutex
  std::atomic<int> hungry_{0};  // idle lanes without an offer; changes under the mutex
  bool is_over_ = false;
  std::atomic<bool> stops_{false};
  StopSignal signal_;
  LaneError error_;
  uint64_t started_;
};

}  // namespace ebb::autograd
