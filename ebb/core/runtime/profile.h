// ebb/core/runtime/profile.h -- noting what a thread does, and when: ranges of time with a name.
//
// A profile belongs to the thread that starts it, whose modes get gate::kProfiler, and to the
// threads that work for it meanwhile. Each writes to memory of its own (profile_log.h), so noting a
// range takes two readings of the clock and one store. Off, nothing of this runs: who would note
// ranges tests gate::kProfiler together with other modes. If asked to, a profile also notes each
// block of memory that these threads take or give back (profile_memory.h), the operands of ops and
// nodes, and the phases of each call: where one ends and the next begins is told by the blocks that
// the call takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ebb/core/base/location.h"
#include "ebb/core/base/scope.h"
#include "ebb/core/base/thread_state.h"
#include "ebb/core/runtime/memory_report.h"

namespace ebb {

enum class RangeKind : uint8_t {
  user,   // named by the program
  op,     // an op that the program called, a node of a backward run, or an optimizer's step
  inner,  // an op or node inside another one
  phase,  // part of a call
};

/// What a call of an op goes through, each a range if a profile notes phases.
enum class CallPhase : uint8_t {
  binding,          // all of the call of a function of Python's
  shape_inference,  // until it takes memory: checks, dtypes and shapes
  kernel,           // from then on: memory for results, and computing
  node_creation,    // of a recorded call
};

struct ProfileRange {
  const char* name;     // lives as long as the process
  uint64_t start;       // in ticks, see ProfileReport
  uint64_t end;         // the same
  uint64_t sequence;    // of the node that was recorded or run; 0 if none
  int64_t bytes;        // of the memory that was made for results
  LocationId location;  // 0 if unknown
  ScopeId scope : 24;   // the module that was being called; of a node, that recorded it
  RangeKind kind : 4;
  bool is_backward : 1;  // a node was run
};
static_assert(sizeof(ProfileRange) == 48 && kMaxScope < (1u << 24));

/// What a range did with memory, with all that ran inside it on its thread. In bytes as asked for.
struct RangeMemory {
  int64_t allocations;
  int64_t allocated;
  int64_t peak;  // the most that was alive at once, above what was alive at the start
  int64_t kept;  // what was alive at the end, above what was alive at the start
};

/// What one thread did, in the order in which the ranges ended.
struct ThreadProfile {
  uint64_t thread;  // the system's number of it
  std::vector<ProfileRange> ranges;
  std::vector<RangeMemory> memory;  // of each range; empty unless noted
  /// Shapes and dtypes of each range's operands, null of what has none; empty unless noted.
  std::vector<const char*> operands;
};

struct ProfileReport {
  std::vector<ThreadProfile> threads;
  MemoryReport memory;
  uint64_t start;      // ticks at start_profile()
  uint64_t end;        // ticks at stop_profile()
  double ns_per_tick;  // measured against the system's clock
  uint64_t lost;       // ranges and allocations for which there was no memory
};

struct ProfileOptions {
  bool notes_memory = false;
  bool notes_operands = false;
  bool notes_phases = false;
};

/// Starts noting. Throws ValueError if a profile is running, in this thread or another one.
EBB_API void start_profile(const ProfileOptions& options = {});
/// Stops, and returns what was noted. Throws ValueError unless this thread has started it.
EBB_API ProfileReport stop_profile();
inline bool is_profiling() { return (thread_state.modes & gate::kProfiler) != 0; }

/// The path of a range's module, such as "blocks.3.attn": "" for the outermost, null outside of
/// all.
EBB_API std::optional<std::string> module_path(ScopeId scope);

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
  OpRange(const char* name, LocationId location) noexcept
      : OpRange(name, location, thread_state.scope, 0, false) {}
  /// Of a node that is run: what recorded it, and its number.
  OpRange(const char* name, LocationId location, ScopeId scope, uint64_t sequence) noexcept
      : OpRange(name, location, scope, sequence, true) {}
  ~OpRange();
  OpRange(const OpRange&) = delete;
  OpRange& operator=(const OpRange&) = delete;

  void set_sequence(uint64_t sequence) { range_.sequence = sequence; }
  void add_bytes(int64_t bytes) { range_.bytes += bytes; }
  /// Whether the profile notes operands.
  bool wants_operands() const noexcept;
  void set_operands(const std::string& text) { operands_ = intern_range_name(text); }
  /// Notes the phases of a call that has ended, if the profile does: `node` is what it recorded,
  /// or null.
  void add_phases(const void* node) noexcept;

 private:
  OpRange(const char* name, LocationId location, ScopeId scope, uint64_t sequence,
          bool is_backward) noexcept;

  ProfileRange range_;
  RangeMemory memory_;  // at the start, if noted
  const char* operands_ = nullptr;
  uint64_t first_block_ = 0;         // when the first block was taken, if phases are noted
  uint64_t* outer_block_ = nullptr;  // the same of the range around this one
  void* slot_;                       // what the thread writes to
  const ProfileRange* outer_;        // the range around this one
};

/// The call of a function from Python, as a range of a profile that notes phases.
class BindingRange {
 public:
  /// `name` must live as long as the process.
  explicit BindingRange(const char* name) {
    if (is_profiling()) [[unlikely]]
      open(name);
  }
  ~BindingRange() {
    if (is_profiling()) [[unlikely]]
      close();
  }
  BindingRange(const BindingRange&) = delete;
  BindingRange& operator=(const BindingRange&) = delete;

 private:
  EBB_API static void open(const char* name) noexcept;
  EBB_API static void close() noexcept;
};

/// The range of something that is no op, such as an optimizer's step, if a profile runs.
class CallRange {
 public:
  /// `name` must live as long as the process.
  CallRange(const char* name, LocationId location) {
    if (is_profiling()) [[unlikely]]
      range_.emplace(name, location);
  }
  /// Its name is `owner`.`what`.
  CallRange(const char* owner, const char* what, LocationId location) {
    if (is_profiling()) [[unlikely]]
      open(owner, what, location);
  }

 private:
  EBB_API void open(const char* owner, const char* what, LocationId location);
  std::optional<OpRange> range_;
};

}  // namespace ebb
