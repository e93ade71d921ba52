// ebb/core/block_cache.h -- the allocator's per-thread free lists, and their inline fast path.
//
// A class is a size of block. Each thread has, per class, a stack of free blocks; allocate() pops and
// deallocate() pushes, without touching the block itself. An empty or full stack goes to the slow
// path in allocator.cpp. A thread without a cache points at one whose stacks are empty and full at
// once, so the fast path needs no null test.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ebb/core/export.h"
#include "ebb/core/thread_state.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define EBB_SANITIZER_BUILD 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EBB_SANITIZER_BUILD 1
#endif
#endif

namespace ebb::detail {

inline constexpr size_t kSmallStep = 16;
inline constexpr size_t kSmallLimit = 1024;  // classes of every multiple of 16 up to here
inline constexpr int kSmallClasses = static_cast<int>(kSmallLimit / kSmallStep);
inline constexpr size_t kCachedLimit = size_t{1} << 20;  // four classes per doubling up to here
inline constexpr int kClasses = kSmallClasses + 40;

/// The free blocks of one class on one thread: [bottom, top) are free, limit is the capacity.
struct FreeStack {
  void** bottom;
  void** top;
  void** limit;
};

struct BlockCache {
  /// Bytes handed out less bytes taken back since this thread last reported. Written by its thread
  /// alone; atomic because others read it to add up the total.
  std::atomic<int64_t> live_delta;
  FreeStack stacks[kClasses];

  void count(int64_t bytes) {
    live_delta.store(live_delta.load(std::memory_order_relaxed) + bytes,
                     std::memory_order_relaxed);
  }
};

EBB_API void* allocate_slow(size_t bytes);
EBB_API void deallocate_slow(void* block, size_t bytes) noexcept;

constexpr size_t small_class(size_t bytes) {
  return bytes == 0 ? 0 : (bytes - 1) / kSmallStep;
}

}  // namespace ebb::detail

namespace ebb {

/// allocate(), inlined for small blocks.
inline void* allocate_inline(size_t bytes) {
#ifndef EBB_SANITIZER_BUILD
  if (bytes <= detail::kSmallLimit) [[likely]] {
    detail::BlockCache& cache = *thread_state.cache;
    detail::FreeStack& stack = cache.stacks[detail::small_class(bytes)];
    if (stack.top != stack.bottom) [[likely]] {
      cache.count(static_cast<int64_t>(bytes));
      return *--stack.top;
    }
  }
#endif
  return detail::allocate_slow(bytes);
}

/// deallocate(), inlined for small blocks.
inline void deallocate_inline(void* block, size_t bytes) noexcept {
#ifndef EBB_SANITIZER_BUILD
  if (bytes <= detail::kSmallLimit) [[likely]] {
    detail::BlockCache& cache = *thread_state.cache;
    detail::FreeStack& stack = cache.stacks[detail::small_class(bytes)];
    if (stack.top != stack.limit) [[likely]] {
      cache.count(-static_cast<int64_t>(bytes));
      *stack.top++ = block;
      return;
    }
  }
#endif
  detail::deallocate_slow(block, bytes);
}

}  // namespace ebb
