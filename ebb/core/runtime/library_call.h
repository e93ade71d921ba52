// ebb/core/runtime/library_call.h -- calls of a library that takes itself apart when the process
// ends.
//
// exit() runs the destructors of a library's static objects while other threads, such as daemons of
// Python, go on. Here the end of the main thread, which comes before them, waits for the calls that
// are under way, and lets no further one begin: such a thread sleeps until the process is gone.
#pragma once

#include "ebb/core/base/export.h"

namespace ebb {

/// Lives as long as a call; may be nested. Costs an atomic write to memory of the thread's own.
class EBB_API LibraryCall {
 public:
  LibraryCall();
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;
};

}  // namespace ebb
