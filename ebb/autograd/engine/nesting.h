// ebb/autograd/engine/nesting.h -- runs inside runs: after every 100 levels another thread, for its
// stack.
#pragma once

#include <cstdint>

#include "ebb/core/runtime/parallel.h"

namespace ebb::autograd {

/// How many runs on a thread may lie inside each other.
inline constexpr uint32_t kLevelsPerThread = 100;

/// Notes that a run inside another begins, or ends, on this thread. Returns its level; the
/// outermost run is at level 0 and notes nothing.
uint32_t enter_nested_run();
void leave_nested_run();

/// Calls `body` on a new thread, with the modes of this one, and waits for it. What it throws is
/// thrown here; a signal that comes meanwhile stops it. Throws AutogradError if there is no thread
/// to be had.
void run_on_helper_thread(FunctionRef<void()> body);

}  // namespace ebb::autograd
