// ebb/core/runtime/signal_shield.h -- keeps signals away from a thread, for a while or for good.
//
// A handler runs on the stack of the thread that it interrupts, wherever the stack pointer stands,
// unless it asked for a stack of its own. Some code of libraries moves the stack pointer into a
// block of the heap and uses it as one more register: a handler would write over what lies below.
// Signals that a thread's own instructions raise (an invalid address, a division by zero) are let
// through: blocked, they would end the process without a word.
#pragma once

#include <cstdint>

#include "ebb/core/base/export.h"

namespace ebb {

/// Holds back all other signals of the calling thread while it lives; one that came meanwhile is
/// delivered at its end. Costs two system calls, some 0.3 us.
class EBB_API SignalShield {
 public:
  enum class Kind : uint8_t { all, none };

  explicit SignalShield(Kind kind = Kind::all);
  ~SignalShield();
  SignalShield(const SignalShield&) = delete;
  SignalShield& operator=(const SignalShield&) = delete;

 private:
  uint64_t before_ = 0;  // the signals that were blocked, a bit each
  bool is_up_ = false;
};

/// For threads of our own, as the first thing that they do: signals are for the program's threads.
EBB_API void refuse_signals();

}  // namespace ebb
