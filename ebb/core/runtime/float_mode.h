// ebb/core/runtime/float_mode.h -- how a thread's processor rounds, and what it makes of subnormal
// numbers.
//
// The mode belongs to a thread, and one that is started has that of the thread that starts it. What
// the pool does for a caller it does in the caller's mode (parallel.cpp): else results would depend
// on which thread computes them.
#pragma once

#include <cstdint>

#include "ebb/core/base/export.h"

namespace ebb {

/// What rules arithmetic, without the notes of what has happened.
class FloatMode {
 public:
  /// The calling thread's.
  EBB_API static FloatMode current() noexcept;
  void install() const noexcept;
  bool operator==(const FloatMode&) const = default;

 private:
  explicit FloatMode(uint64_t bits) : bits_(bits) {}
  uint64_t bits_;
};

/// Whether arithmetic of the calling thread, and of what works for it, takes numbers below the
/// smallest normal one for 0 and writes 0 for them. False if the processor cannot.
EBB_API bool set_flush_denormal(bool flush) noexcept;

}  // namespace ebb
