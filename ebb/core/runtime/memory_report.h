// ebb/core/runtime/memory_report.h -- what a profile tells of memory: a curve, and sums by line.
#pragma once

#include <cstdint>
#include <vector>

#include "ebb/core/base/location.h"
#include "ebb/core/base/scope.h"

namespace ebb {

/// All allocations made in ranges of one name, line and module.
struct AllocationSite {
  const char* name;  // of the innermost range; null outside of all
  LocationId location;
  ScopeId scope;
  int64_t allocations;
  int64_t allocated;
  int64_t at_peak;  // of it, alive when most was alive
  int64_t at_end;   // of it, alive at the end
};

/// How much memory was alive from some moment on.
struct MemorySample {
  uint64_t tick;
  int64_t live;
};

struct MemoryReport {
  bool is_noted = false;
  int64_t start = 0;          // alive when the profile started, whoever made it
  int64_t peak = 0;           // the most that was alive at once
  int64_t older_at_peak = 0;  // of it, from before the profile
  std::vector<MemorySample> samples;
  std::vector<AllocationSite> sites;
};

}  // namespace ebb
