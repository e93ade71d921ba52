// ebb/core/allocator.cpp -- the slow paths: trading blocks with the central lists, counting, failing.
//
// Layers: a thread's stacks (block_cache.h) trade half a stack at a time with central lists, which
// get fresh blocks from arena.cpp. Requests above 1 MiB go to the arena directly. Sanitizer builds
// take every block from the C library, so that each one is watched.
#include "ebb/core/allocator.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>

#include "ebb/core/arena.h"
#include "ebb/core/block_cache.h"
#include "ebb/core/error.h"
#include "ebb/core/size_class.h"

namespace ebb {
namespace {

std::atomic<int64_t> reported_live{0};
std::atomic<int64_t> peak_live{0};

// Failure injection: how many more allocations of the armed thread succeed; negative is off.
std::atomic<int64_t> successes_left{-1};
std::atomic<int64_t> allocations_seen{0};
std::atomic<bool> failure_is_persistent{false};

constinit detail::BlockCache empty_cache{};

/// A thread's cache and the memory of its stacks. Registered while the thread lives.
struct ThreadHeap {
  detail::BlockCache cache{};
  ThreadHeap* next = nullptr;
  ThreadHeap* previous = nullptr;
  bool armed = false;  // failure injection sends this thread through the slow path always

  ThreadHeap();
  ~ThreadHeap();
};

std::mutex heaps_mutex;
ThreadHeap* heaps = nullptr;

// The heap of this thread; null before its first allocation and after its last destructor.
thread_local ThreadHeap* this_heap = nullptr;
thread_local bool thread_is_over = false;

void report(detail::BlockCache& cache) {
  const int64_t delta = cache.live_delta.exchange(0, std::memory_order_relaxed);
  const int64_t live = reported_live.fetch_add(delta, std::memory_order_relaxed) + delta;
  int64_t peak = peak_live.load(std::memory_order_relaxed);
  while (live > peak && !peak_live.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

ThreadHeap::ThreadHeap() {
  const std::lock_guard lock(heaps_mutex);
  next = heaps;
  if (next != nullptr) next->previous = this;
  heaps = this;
}

ThreadHeap::~ThreadHeap() {
  thread_state.cache = &empty_cache;
  this_heap = nullptr;
  thread_is_over = true;
  for (int index = 0; index < detail::kClasses; ++index) {
    detail::FreeStack& stack = cache.stacks[index];
    if (stack.bottom == nullptr) continue;
    const auto count = static_cast<size_t>(stack.top - stack.bottom);
    if (count > 0) detail::give_blocks(index, stack.bottom, count);
    std::free(stack.bottom);
  }
  report(cache);
  const std::lock_guard lock(heaps_mutex);
  (previous != nullptr ? previous->next : heaps) = next;
  if (next != nullptr) next->previous = previous;
}

ThreadHeap* heap_of_thread() {
  if (this_heap == nullptr && !thread_is_over) {
    thread_local ThreadHeap heap;
    this_heap = &heap;
    thread_state.cache = &heap.cache;
  }
  return this_heap;
}

[[noreturn]] void throw_out_of_memory(size_t bytes) {
  const MemoryStats stats = memory_stats();
  throw OutOfMemoryError(str("allocate: needs ", bytes, " bytes, which the system did not give (live ",
                             stats.live, ", peak ", stats.peak, " bytes)"));
}

void check_injected_failure(size_t bytes) {
  if (successes_left.load(std::memory_order_relaxed) < 0) return;
  allocations_seen.fetch_add(1, std::memory_order_relaxed);
  if (successes_left.fetch_sub(1, std::memory_order_relaxed) > 0) return;
  successes_left.store(failure_is_persistent.load() ? 0 : -1, std::memory_order_relaxed);
  throw_out_of_memory(bytes);
}

#ifndef EBB_SANITIZER_BUILD

void* pop_or_refill(detail::FreeStack& stack, int index) {
  if (stack.top == stack.bottom) {
    const size_t capacity = detail::stack_capacity(index);
    if (stack.bottom == nullptr) {
      stack.bottom = static_cast<void**>(std::malloc(capacity * sizeof(void*)));
      if (stack.bottom == nullptr) return nullptr;
      stack.top = stack.bottom;
      stack.limit = stack.bottom + capacity;
    }
    stack.top += detail::take_blocks(index, stack.bottom, capacity / 2);
    if (stack.top == stack.bottom) return nullptr;
  }
  return *--stack.top;
}

void* allocate_cached(size_t bytes, ThreadHeap* heap) {
  const int index = detail::class_of(bytes);
  if (heap == nullptr) {  // a destructor that runs after the thread's own
    void* block = nullptr;
    return detail::take_blocks(index, &block, 1) == 1 ? block : nullptr;
  }
  return pop_or_refill(heap->cache.stacks[index], index);
}

void deallocate_cached(void* block, size_t bytes, ThreadHeap* heap) noexcept {
  const int index = detail::class_of(bytes);
  if (heap == nullptr) {
    detail::give_blocks(index, &block, 1);
    return;
  }
  detail::FreeStack& stack = heap->cache.stacks[index];
  if (stack.bottom == nullptr) {  // this thread only ever frees this class
    detail::give_blocks(index, &block, 1);
    return;
  }
  if (stack.top == stack.limit) {
    const size_t half = detail::stack_capacity(index) / 2;
    stack.top -= half;
    detail::give_blocks(index, stack.top, half);
  }
  *stack.top++ = block;
}

#endif

void count_block(ThreadHeap* heap, int64_t bytes) {
  if (heap != nullptr) {
    heap->cache.count(bytes);
  } else {
    reported_live.fetch_add(bytes, std::memory_order_relaxed);
  }
}

}  // namespace

thread_local constinit ThreadState thread_state __attribute__((tls_model("initial-exec"))) = {
    .cache = &empty_cache,
    .modes = 0,
    .location = 0,
    .next_sequence = 0,
    .end_of_sequences = 0,
    .dead_nodes = nullptr,
    .location_cache = nullptr,
    .engine = nullptr,
};

void* detail::allocate_slow(size_t bytes) {
  ThreadHeap* const heap = heap_of_thread();
  check_injected_failure(bytes);
#ifdef EBB_SANITIZER_BUILD
  const size_t rounded = (std::max<size_t>(bytes, 1) + 63) & ~size_t{63};
  void* const block = rounded < bytes ? nullptr : std::aligned_alloc(64, rounded);
#else
  const bool is_cached = bytes <= detail::kCachedLimit;
  void* const block = is_cached ? allocate_cached(bytes, heap) : detail::map_large(bytes);
#endif
  if (block == nullptr) throw_out_of_memory(bytes);
  count_block(heap, static_cast<int64_t>(bytes));
  if (heap != nullptr) report(heap->cache);
  return block;
}

void detail::deallocate_slow(void* block, size_t bytes) noexcept {
  ThreadHeap* const heap = heap_of_thread();
  count_block(heap, -static_cast<int64_t>(bytes));
#ifdef EBB_SANITIZER_BUILD
  std::free(block);
#else
  if (bytes <= detail::kCachedLimit) {
    deallocate_cached(block, bytes, heap);
  } else {
    detail::unmap_large(block, bytes);
  }
#endif
}

void* allocate(size_t bytes) { return allocate_inline(bytes); }
void deallocate(void* block, size_t bytes) noexcept { deallocate_inline(block, bytes); }

MemoryStats memory_stats() {
  MemoryStats stats;
  stats.live = reported_live.load();
  {
    const std::lock_guard lock(heaps_mutex);
    for (const ThreadHeap* heap = heaps; heap != nullptr; heap = heap->next) {
      stats.live += heap->cache.live_delta.load(std::memory_order_relaxed);
    }
  }
  stats.peak = std::max(peak_live.load(), stats.live);
  stats.reserved = detail::reserved_bytes();
  return stats;
}

void reset_peak_memory() { peak_live.store(memory_stats().live); }

void release_cached_memory() { detail::unmap_cached(); }

void fail_allocation_after(int64_t successes, bool persistent) {
  ThreadHeap* const heap = heap_of_thread();
  const bool arms = successes >= 0;
  successes_left.store(successes, std::memory_order_relaxed);
  failure_is_persistent.store(persistent);
  // With the empty cache every allocation of this thread takes the slow path, which counts.
  if (heap != nullptr) thread_state.cache = arms ? &empty_cache : &heap->cache;
}

int64_t allocation_count() { return allocations_seen.load(); }

}  // namespace ebb
