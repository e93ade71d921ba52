// benchmarks/python/location_switch.cpp -- lets a Python benchmark tell ops their location.
//
// An op that is told where it was called does not look, so the difference is what looking costs.
// benchmarks/python/ops.py loads this with ctypes, after ebb.
#include <cstdint>

#include "ebb/core/base/export.h"
#include "ebb/core/base/location.h"

extern "C" EBB_API void ebb_tell_location(int is_told) {
  ebb::thread_state.location = is_told != 0 ? ebb::intern_location(1, 0, false) : 0;
}
