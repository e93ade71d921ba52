// ebb/autograd/engine/pacer.h -- makes a run look up from its nodes now and then, for two
// instructions a node.
//
// About every 20 us a run asks whether it should stop (the run around it failed, the user pressed
// Ctrl-C) and whether other threads could help. It counts nodes, and from the clock it learns how
// many of them make 20 us: a run of slow nodes looks up after each.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "ebb/core/base/error.h"
#include "ebb/core/base/export.h"
#include "ebb/core/base/thread_state.h"

namespace ebb::autograd {

/// A thread that waits for others looks up after so long.
inline constexpr std::chrono::milliseconds kInterruptPeriod(50);

/// Tells the runs inside a run that it has failed.
struct StopSignal {
  std::atomic<bool> is_set{false};
  const StopSignal* outer = nullptr;

  /// Whether this one or one around it is set.
  bool any_set() const;
};

/// Runs that start on this thread during the scope heed `signal`.
class StopScope {
 public:
  explicit StopScope(const StopSignal* signal);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const StopSignal* saved_;
};
/// What runs that start on this thread heed, or null.
const StopSignal* current_stop_signal();

/// Called every 50 ms or so of a run, on its thread; throws if the run is to end. Python's looks
/// for signals. Null: there is none.
using InterruptCheck = void (*)();
EBB_API void set_interrupt_check(InterruptCheck check);
/// The modes of this thread while it runs nodes. The caller's are put back in the end, and hold
/// while check_for_interrupt() calls something in between: a signal handler is the caller's code.
class RunModes {
 public:
  RunModes(uint32_t set, uint32_t clear);
  ~RunModes();
  RunModes(const RunModes&) = delete;
  RunModes& operator=(const RunModes&) = delete;

 private:
  friend class CallersModes;
  uint32_t callers_;
  RunModes* const outer_;
};

/// Calls the check, if there is one, in the modes of whoever called the innermost run. What it sets
/// in them lasts. For threads that are about to run a node of that run.
void check_for_interrupt();
/// The same in the modes of this thread as they are, where no run has begun yet.
void check_for_interrupt_here();

/// What a run throws because one around it failed. The caller gets to see that one's error.
class RunStopped final : public AutogradError {
 public:
  RunStopped();
};
/// Throws RunStopped if `signal`, which may be null, or one around it is set.
void check_stop_signal(const StopSignal* signal);

/// See set_eager_teams() in parallel_backward.h.
bool has_eager_teams();

/// Decides, from look to look, whether other threads are worth waking. It learns from those it woke
/// in vain.
class TeamJudge {
 public:
  /// `is_wide`: whether there is work for two now.
  bool wants_team(bool is_wide);
  /// How long others worked, and how long it all took.
  void note_result(uint64_t helped_ns, uint64_t total_ns);

 private:
  uint32_t wide_looks_ = 0;  // in a row
  uint32_t patience_ = 2;    // so many make a team
};

/// Counts nodes up to the next look. Its thread keeps it from run to run.
class Pacer {
 public:
  void start_run() { last_look_ = 0; }
  /// Call once per node.
  bool is_due() { return --left_ == 0; }
  /// Sets when the next look is due, and throws if the run is to stop.
  void look();

  /// Whether the nodes between the last two looks took long enough to be worth sharing.
  bool has_long_nodes() const;

  TeamJudge judge;

 private:
  void adapt(uint64_t elapsed);

  uint32_t left_ = kFirstInterval;
  uint32_t interval_ = kFirstInterval;  // in nodes
  uint64_t last_look_ = 0;              // in ticks; 0: none yet in this run
  uint64_t next_check_ = 0;
  uint64_t node_ticks_ = 0;  // that a node took, of late
  static constexpr uint32_t kFirstInterval = 64;
};

/// Of a clock that never goes back.
uint64_t now_ns();

}  // namespace ebb::autograd
