// ebb/core/base/small_mutex.h -- a mutex of four bytes, for objects of which there are many.
//
// Taking it while nobody else has it costs a few instructions, and no atomic one while the process
// has a single thread (as counting references does, see refcount.h). Who has to wait sleeps.
#pragma once

#include <sys/single_threaded.h>

#include <atomic>
#include <cstdint>

namespace ebb {

/// Lockable by std::lock_guard. Not recursive.
class SmallMutex {
 public:
  void lock() {
    uint32_t seen = state_.load(std::memory_order_relaxed);
    if (__libc_single_threaded && seen == kFree) {
      state_.store(kHeld, std::memory_order_relaxed);
      return;
    }
    seen = kFree;
    if (!state_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire)) [[unlikely]]
      wait();
  }
  void unlock() {
    // A thread that was started meanwhile may be waiting: then the process has several.
    if (__libc_single_threaded) {
      state_.store(kFree, std::memory_order_relaxed);
      return;
    }
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) [[unlikely]]
      state_.notify_one();
  }

 private:
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kHeld = 1;
  static constexpr uint32_t kAwaited = 2;  // held, and somebody may be asleep until it is free

  [[gnu::noinline]] void wait() {
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree) {
      state_.wait(kAwaited, std::memory_order_relaxed);
    }
  }

  std::atomic<uint32_t> state_{kFree};
};

}  // namespace ebb
