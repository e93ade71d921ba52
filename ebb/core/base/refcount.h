// ebb/core/base/refcount.h -- the reference count inside tensors, storages and nodes.
//
// Counts are atomic once the process has a second thread, and plain before: libc keeps a flag that
// changes while only one thread can be looking. The last owner does not write: it sees a count of
// one, which nobody else can change, and destroys. Only a leaf is ever reached through a weak
// pointer, which would make that unsound: its last owner asks first (AccumulateGrad::share_leaf()).
#pragma once

#include <sys/single_threaded.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace ebb {

/// Counts owners; a new object has one.
class RefCount {
 public:
  void increment() {
    if (__libc_single_threaded) {
      count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      count_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  /// Adds an owner unless the last one has let go. That one may also be about to, with a count of
  /// one that it did not write: it must look again, under a lock that the caller holds.
  [[nodiscard]] bool try_increment() {
    uint32_t count = count_.load(std::memory_order_relaxed);
    while (count != 0) {
      if (count_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  /// True if this was the last owner; the object is then the caller's to destroy.
  [[nodiscard]] bool decrement() {
    const uint32_t count = count_.load(std::memory_order_acquire);
    if (count == 1) return true;
    if (__libc_single_threaded) {
      count_.store(count - 1, std::memory_order_relaxed);
      return false;
    }
    return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  bool is_unique() const { return count_.load(std::memory_order_acquire) == 1; }
  uint32_t value() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> count_{1};
};

}  // namespace ebb
