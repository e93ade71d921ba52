// ebb/core/runtime/block_cache.h -- the allocator's per-thread free lists, and their inline fast
// path.
//
// A class is a size of block. Each thread has, per class, a stack of free blocks; allocate() pops
// and deallocate() pushes, without touching the block itself. An empty or full stack goes to the
// slow path in allocator.cpp. A thread without a cache points at one whose stacks are empty and
// full at once, so the fast path needs no null test.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ebb/core/base/export.h"
#include "ebb/core/base/thread_state.h"

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

/// The free blocks of one class on one thread: [bottom, top) are free, limit is the capacity. Only
/// its thread moves `top`; others read it when they count what is free, so it is atomic, at no
/// cost.
struct alignas(32) FreeStack {
  void** bottom;
  std::atomic<void**> top;
  void** limit;

  void** top_block() const { return top.load(std::memory_order_relaxed); }
  void set_top(void** block) { top.store(block, std::memory_order_relaxed); }
};

struct BlockCache {
  FreeStack stacks[kClasses];
};

EBB_API void* allocate_slow(size_t bytes);
EBB_API void deallocate_slow(void* block, size_t bytes) noexcept;

constexpr size_t small_class(size_t bytes) {
  // Nobody asks for nothing: storages and objects have headers.
  return (bytes - 1) / kSmallStep;
}

}  // namespace ebb::detail

namespace ebb {

/// allocate(), inlined for small blocks.
inline void* allocate_inline(size_t bytes) {
#ifndef EBB_SANITIZER_BUILD
  if (bytes <= detail::kSmallLimit) [[likely]] {
    detail::FreeStack& stack = thread_state.cache->stacks[detail::small_class(bytes)];
    void** const top = stack.top_block();
    if (top != stack.bottom) [[likely]] {
      stack.set_top(top - 1);
      return top[-1];
    }
  }
#endif
  return detail::allocate_slow(bytes);
}

/// deallocate(), inlined for small blocks.
inline void deallocate_inline(void* block, size_t bytes) noexcept {
#ifndef EBB_SANITIZER_BUILD
  if (bytes <= detail::kSmallLimit) [[likely]] {
    detail::FreeStack& stack = thread_state.cache->stacks[detail::small_class(bytes)];
    void** const top = stack.top_block();
    if (top != stack.limit) [[likely]] {
      *top = block;
      stack.set_top(top + 1);
      return;
    }
  }
#endif
  detail::deallocate_slow(block, bytes);
}

}  // namespace ebb
