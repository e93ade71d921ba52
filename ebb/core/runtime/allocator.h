// ebb/core/runtime/allocator.h -- memory for tensors and nodes: allocate() and deallocate().
//
// Small blocks (up to 1 KiB, in steps of 16 bytes) come from per-thread free lists, whose full
// magazines are swapped through a central list, so that blocks may be freed on any thread. Larger
// ones come from size classes that keep memory mapped between uses. Sanitizer builds bypass all of
// it. Frees are sized: the caller says how much it asked for, and there are no headers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ebb/core/base/export.h"

namespace ebb {

/// Memory of at least `bytes`; aligned to 64 if bytes is a multiple of 64 or above 1 KiB, else to
/// 16. Throws OutOfMemoryError that tells bytes asked, live and peak.
EBB_API void* allocate(size_t bytes);
/// Gives back what allocate(bytes) returned, on any thread.
EBB_API void deallocate(void* block, size_t bytes) noexcept;

/// Bytes over all threads, in whole blocks: a request counts as the size class that serves it.
struct MemoryStats {
  int64_t live = 0;  // handed out and not given back
  /// The largest live since start or the last reset. Noticed when a thread's free list runs empty,
  /// so it may miss what comes and goes within one list (at most 256 KiB per size class).
  int64_t peak = 0;
  int64_t reserved = 0;  // held from the operating system
};
EBB_API MemoryStats memory_stats();
EBB_API void reset_peak_memory();
/// Gives unused large blocks back to the operating system.
EBB_API void release_cached_memory();

/// For tests: the allocation after `successes` more fails (and all later ones if `persistent`);
/// a negative number switches this off. Per process.
EBB_API void fail_allocation_after(int64_t successes, bool persistent = false);
/// Allocations since the start of the process; exact only while fail_allocation_after is armed.
EBB_API int64_t allocation_count();

/// Uninitialised memory for the length of a scope.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : block_(allocate(bytes)), bytes_(bytes) {}
  ~Scratch() { deallocate(block_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <typename T>
  T* as() const {
    return static_cast<T*>(block_);
  }

 private:
  void* block_;
  size_t bytes_;
};

}  // namespace ebb
