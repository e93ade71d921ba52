// ebb/core/runtime/profile_memory.h -- private to this folder: the blocks of memory that a profile
// notes.
//
// While a thread is watched, the allocator tells of each block that it takes or gives back, and an
// event is appended to the thread's log. How much is alive is one number for all threads. At the
// end report_memory() plays all events through, in the order of the clock.
#pragma once

#include <cstdint>
#include <vector>

#include "ebb/core/runtime/memory_report.h"

namespace ebb::detail {

struct MemoryEvent {
  uint64_t tick;
  const void* block;
  int64_t bytes;     // negative: given back
  const char* name;  // of the innermost range; null outside of all
  LocationId location;
  ScopeId scope;
};

/// How far a thread has come: what has grown since a range began was done in the range.
struct MemoryTally {
  int64_t allocations = 0;
  int64_t allocated = 0;
  int64_t peak = 0;  // the most that was alive since the innermost range began
};

/// `start`: bytes that were alive before. Throws std::bad_alloc.
MemoryReport report_memory(std::vector<MemoryEvent> events, int64_t start);

}  // namespace ebb::detail
