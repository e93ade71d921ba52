// ebb/core/profile.h -- noting what a thread does, and when: ranges of time with a name.
//
// A profile belongs to the thread that starts it, whose modes get gate::kProfiler, and to the
// threads that work for it meanwhile. Each writes to memory of its own, so noting a range takes two
// readings of the clock and one store. Off, nothing of this runs: who would note ranges tests
// gate::kProfiler together with other modes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ebb/core/location.h"
#include "ebb/core/thread_state.h"

namespace ebb {

enum class RangeKind : uint8_t {
  user,   // named by the program
  op,     // an op that the program called, or a node of a backward run
  inner,  // an op or node inside another one
};

struct ProfileRange {
  const char* name;     // lives as long as the process
  uint64_t start;       // in ticks, see ProfileReport
  uint64_t end;         // the same
  uint64_t sequence;    // of the node that was recorded or run; 0 if none
  int64_t bytes;        // of the memory that was made for results
  LocationId location;  // 0 if unknown
  RangeKind kind;
  bool is_backward;  // a node was run
};

/// What one thread did, in the order in which the ranges ended.
struct ThreadProfile {
  uint64_t thread;  // the system's number of it
  std::vector<ProfileRange> ranges;
};

struct ProfileReport {
  std::vector<ThreadProfile> threads;
  uint64_t start;      // ticks at start_profile()
  uint64_t end;        // ticks at stop_profile()
  double ns_per_tick;  // measured against the system's clock
  uint64_t lost;       // ranges for which there was no memory
};

/// Starts noting. Throws ValueError if a profile is running, in this thread or another one.
EBB_API void start_profile();
/// Stops, and returns what was noted. Throws ValueError unless this thread has started it.
EBB_API ProfileReport stop_profile();
inline bool is_profiling() { return (thread_state.modes & gate::kProfiler) != 0; }

/// A copy of `name` that lives as long as the process.
EBB_API const char* intern_range_name(std::string_view name);
/// The same in fewer steps for a name that this thread met before, while a profile runs.
EBB_API const char* keep_range_name(const char* name);

/// Opens a range of the program's own on this thread, and closes the innermost. Both do nothing
/// while no profile is running here.
EBB_API void open_user_range(const char* name);
EBB_API void close_user_range() noexcept;

/// A user range for the length of a scope. `name` must live as long as the process.
class UserRange {
 public:
  explicit UserRange(const char* name) { open_user_range(name); }
  ~UserRange() { close_user_range(); }
  UserRange(const UserRange&) = delete;
  UserRange& operator=(const UserRange&) = delete;
};

/// The range of one op or node. Make one only while is_profiling().
class EBB_API OpRange {
 public:
  OpRange(const char* name, LocationId location, uint64_t sequence = 0,
          bool is_backward = false) noexcept;
  ~OpRange();
  OpRange(const OpRange&) = delete;
  OpRange& operator=(const OpRange&) = delete;

  void set_sequence(uint64_t sequence) { range_.sequence = sequence; }
  void add_bytes(int64_t bytes) { range_.bytes += bytes; }

 private:
  ProfileRange range_;
  void* slot_;  // what the thread writes to
};

}  // namespace ebb
