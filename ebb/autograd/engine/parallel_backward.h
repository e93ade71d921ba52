// ebb/autograd/engine/parallel_backward.h -- whether backward() may use several threads, and what
// it did.
#pragma once

#include <cstdint>

#include "ebb/core/base/export.h"

namespace ebb {

/// Whether runs that this thread starts may let other threads run branches of the graph, and the
/// worker threads of devices their nodes. The
/// gradients are the same, bit by bit. At start: what EBB_PARALLEL_BACKWARD says (0 or 1), else
/// yes.
EBB_API void set_parallel_backward(bool is_enabled);
EBB_API bool is_parallel_backward();

/// For tests: lets a team form at the first chance, whether it is worth it or not, and wait until
/// another thread has come.
EBB_API void set_eager_teams(bool is_eager);

/// Of all runs of the process so far, for looking and testing.
struct BackwardThreads {
  uint64_t teams = 0;            // how often several threads came together
  uint64_t nodes_by_others = 0;  // nodes that ran on another thread than the caller's
  uint64_t device_nodes = 0;     // nodes that ran on the worker thread of a device
};
EBB_API BackwardThreads backward_threads();

}  // namespace ebb
