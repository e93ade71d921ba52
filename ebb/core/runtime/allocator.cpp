// ebb/core/runtime/allocator.cpp -- the slow paths: trading blocks with the central lists,
// counting, failing.
//
// Layers: a thread's stacks (block_cache.h) trade half a stack at a time with central lists, which
// get fresh blocks from arena.cpp. Requests above 1 MiB go to the arena directly. Sanitizer builds
// take every block from the C library, so that each one is watched.
//
// Failures to order and blocks to be told of (watch_blocks()) share one word, which the slow paths
// test. A thread that has either gets the empty cache, so that all its blocks come that way.
#include "ebb/core/runtime/allocator.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "ebb/core/base/error.h"
#include "ebb/core/runtime/arena.h"
#include "ebb/core/runtime/block_cache.h"
#include "ebb/core/runtime/block_watcher.h"
#include "ebb/core/runtime/size_class.h"

namespace ebb {
namespace {

// Bytes that threads took from the central lists and mappings, free ones in their stacks included.
std::atomic<int64_t> taken_bytes{0};
std::atomic<int64_t> peak_live{0};

// Failure injection: how many more allocations of the armed thread succeed; negative is off.
std::atomic<int64_t> successes_left{-1};
std::atomic<int64_t> allocations_seen{0};
std::atomic<bool> failure_is_persistent{false};

// Not 0 if some thread is watched, or a failure is ordered.
std::atomic<uint32_t> watches{0};
constexpr uint32_t kFailures = 1;  // a bit; above it the number of watched threads
constexpr uint32_t kOneThread = 2;
thread_local constinit detail::BlockWatcher block_watcher = nullptr;
thread_local constinit bool failures_are_here = false;

constinit detail::BlockCache empty_cache{};

/// A thread's cache and the memory of its stacks. Registered while the thread lives.
struct ThreadHeap {
  detail::BlockCache cache{};
  ThreadHeap* next = nullptr;
  ThreadHeap* previous = nullptr;

  ThreadHeap();
  ~ThreadHeap();
};

std::mutex heaps_mutex;
ThreadHeap* heaps = nullptr;

// A fork while another thread holds the lock would leave it locked for ever in the child.
[[maybe_unused]] const int fork_handlers = pthread_atfork(
    [] { heaps_mutex.lock(); }, [] { heaps_mutex.unlock(); }, [] { heaps_mutex.unlock(); });

// The heap of this thread; null before its first allocation and after its last destructor.
thread_local ThreadHeap* this_heap = nullptr;
thread_local bool thread_is_over = false;

void choose_cache() noexcept;

void note_taken(int64_t bytes) { taken_bytes.fetch_add(bytes, std::memory_order_relaxed); }

int64_t free_bytes_of(const detail::BlockCache& cache) {
  int64_t bytes = 0;
  for (int index = 0; index < detail::kClasses; ++index) {
    const detail::FreeStack& stack = cache.stacks[index];
    bytes += (stack.top_block() - stack.bottom) * static_cast<int64_t>(detail::class_bytes(index));
  }
  return bytes;
}

int64_t live_bytes() {
  int64_t live = taken_bytes.load(std::memory_order_relaxed);
  const std::lock_guard lock(heaps_mutex);
  for (const ThreadHeap* heap = heaps; heap != nullptr; heap = heap->next) {
    live -= free_bytes_of(heap->cache);
  }
  return live;
}

void notice_peak() {
  const int64_t live = live_bytes();
  int64_t peak = peak_live.load(std::memory_order_relaxed);
  while (live > peak && !peak_live.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

/// Central lists, with the count of what left them. Sanitizer builds have no use for them.
[[maybe_unused]] size_t take_counted(int index, void** out, size_t wanted) {
  const size_t taken = detail::take_blocks(index, out, wanted);
  note_taken(static_cast<int64_t>(taken * detail::class_bytes(index)));
  return taken;
}

void give_counted(int index, void** blocks, size_t count) noexcept {
  note_taken(-static_cast<int64_t>(count * detail::class_bytes(index)));
  detail::give_blocks(index, blocks, count);
}

ThreadHeap::ThreadHeap() {
  const std::lock_guard lock(heaps_mutex);
  next = heaps;
  if (next != nullptr) next->previous = this;
  heaps = this;
}

ThreadHeap::~ThreadHeap() {
  detail::watch_blocks(nullptr);
  thread_state.cache = &empty_cache;
  this_heap = nullptr;
  thread_is_over = true;
  {
    const std::lock_guard lock(heaps_mutex);
    (previous != nullptr ? previous->next : heaps) = next;
    if (next != nullptr) next->previous = previous;
  }
  for (int index = 0; index < detail::kClasses; ++index) {
    detail::FreeStack& stack = cache.stacks[index];
    if (stack.bottom == nullptr) continue;
    const auto count = static_cast<size_t>(stack.top_block() - stack.bottom);
    if (count > 0) give_counted(index, stack.bottom, count);
    std::free(stack.bottom);
  }
}

ThreadHeap* heap_of_thread() {
  if (this_heap == nullptr && !thread_is_over) {
    // On the heap: static TLS has no room for it in a library that is loaded late, as by Python.
    thread_local const auto heap = std::make_unique<ThreadHeap>();
    this_heap = heap.get();
    choose_cache();
  }
  return this_heap;
}

[[noreturn]] void throw_out_of_memory(size_t bytes) {
  const MemoryStats stats = memory_stats();
  throw OutOfMemoryError(str("allocate: needs ", bytes,
                             " bytes, which the system did not give (live ", stats.live, ", peak ",
                             stats.peak, " bytes)"));
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
  void** top = stack.top_block();
  if (top == stack.bottom) {
    const size_t capacity = detail::stack_capacity(index);
    if (stack.bottom == nullptr) {
      top = static_cast<void**>(std::malloc(capacity * sizeof(void*)));
      if (top == nullptr) return nullptr;
      stack.bottom = top;
      stack.limit = top + capacity;
    }
    top += take_counted(index, top, capacity / 2);
    stack.set_top(top);
    if (top == stack.bottom) return nullptr;
    notice_peak();
  }
  stack.set_top(top - 1);
  return top[-1];
}

void* allocate_cached(size_t bytes, ThreadHeap* heap) {
  const int index = detail::class_of(bytes);
  if (heap == nullptr) {  // a destructor that runs after the thread's own
    void* block = nullptr;
    return take_counted(index, &block, 1) == 1 ? block : nullptr;
  }
  return pop_or_refill(heap->cache.stacks[index], index);
}

void* allocate_large(size_t bytes) {
  void* const block = detail::map_large(bytes);
  if (block != nullptr) {
    note_taken(static_cast<int64_t>(bytes));
    notice_peak();
  }
  return block;
}

void deallocate_cached(void* block, size_t bytes, ThreadHeap* heap) noexcept {
  const int index = detail::class_of(bytes);
  // A stack is made by the first allocation: a thread that only frees gives all back at once.
  const bool has_stack = heap != nullptr && heap->cache.stacks[index].bottom != nullptr;
  if (!has_stack) return give_counted(index, &block, 1);
  detail::FreeStack& stack = heap->cache.stacks[index];
  void** top = stack.top_block();
  if (top == stack.limit) {
    const size_t half = detail::stack_capacity(index) / 2;
    top -= half;
    stack.set_top(top);
    give_counted(index, top, half);
  }
  *top = block;
  stack.set_top(top + 1);
}

#endif

[[gnu::always_inline]] inline void* take_block(size_t bytes) {
#ifdef EBB_SANITIZER_BUILD
  // Sanitizers end the program when asked for more than this, instead of refusing.
  constexpr size_t kMost = (size_t{1} << 40) - 64;
  const size_t rounded = (std::max<size_t>(bytes, 1) + 63) & ~size_t{63};
  void* const block = bytes > kMost ? nullptr : std::aligned_alloc(64, rounded);
  if (block != nullptr) note_taken(static_cast<int64_t>(bytes));
  notice_peak();
#else
  ThreadHeap* const heap = heap_of_thread();
  const bool is_cached = bytes <= detail::kCachedLimit;
  void* const block = is_cached ? allocate_cached(bytes, heap) : allocate_large(bytes);
#endif
  if (block == nullptr) throw_out_of_memory(bytes);
  return block;
}

[[gnu::noinline]] void* allocate_watched(size_t bytes) {
  check_injected_failure(bytes);
  void* const block = take_block(bytes);
  if (block_watcher != nullptr) block_watcher(block, static_cast<int64_t>(bytes));
  return block;
}

/// With the empty cache every block of this thread takes the slow paths, which look at `watches`.
void choose_cache() noexcept {
  const bool is_watched = failures_are_here || block_watcher != nullptr;
  if (this_heap != nullptr) thread_state.cache = is_watched ? &empty_cache : &this_heap->cache;
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
    .scope = 0,
    .streams = 0,
};

void* detail::allocate_slow(size_t bytes) {
  if (watches.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return allocate_watched(bytes);
  return take_block(bytes);
}

void detail::deallocate_slow(void* block, size_t bytes) noexcept {
  const bool is_watched = watches.load(std::memory_order_relaxed) != 0;
  if (is_watched && block_watcher != nullptr) [[unlikely]]
    block_watcher(block, -static_cast<int64_t>(bytes));
#ifdef EBB_SANITIZER_BUILD
  note_taken(-static_cast<int64_t>(bytes));
  std::free(block);
#else
  if (bytes <= detail::kCachedLimit) return deallocate_cached(block, bytes, heap_of_thread());
  note_taken(-static_cast<int64_t>(bytes));
  detail::unmap_large(block, bytes);
#endif
}

void detail::watch_blocks(BlockWatcher watcher) noexcept {
  if ((block_watcher == nullptr) == (watcher == nullptr)) return;
  block_watcher = watcher;
  if (watcher != nullptr) {
    watches.fetch_add(kOneThread, std::memory_order_relaxed);
  } else {
    watches.fetch_sub(kOneThread, std::memory_order_relaxed);
  }
  choose_cache();
}

// The inline forms serve objects, which are never empty; this one may be asked for nothing.
void* allocate(size_t bytes) { return allocate_inline(std::max<size_t>(bytes, 1)); }
void deallocate(void* block, size_t bytes) noexcept {
  deallocate_inline(block, std::max<size_t>(bytes, 1));
}

MemoryStats memory_stats() {
  const int64_t live = live_bytes();
  return {
      .live = live, .peak = std::max(peak_live.load(), live), .reserved = detail::reserved_bytes()};
}

void reset_peak_memory() { peak_live.store(memory_stats().live); }

void release_cached_memory() { detail::unmap_cached(); }

void fail_allocation_after(int64_t successes, bool persistent) {
  heap_of_thread();
  const bool arms = successes >= 0;
  successes_left.store(successes, std::memory_order_relaxed);
  failure_is_persistent.store(persistent);
  if (arms) {
    watches.fetch_or(kFailures, std::memory_order_relaxed);
  } else {
    watches.fetch_and(~kFailures, std::memory_order_relaxed);
  }
  failures_are_here = arms;  // each block of this thread is counted
  choose_cache();
}

int64_t allocation_count() { return allocations_seen.load(); }

}  // namespace ebb
