// ebb/autograd/grad_mode.h -- whether this thread records: on by default, off in a NoGradGuard.
#pragma once

#include "ebb/core/thread_state.h"

namespace ebb {

inline bool is_grad_enabled() { return (thread_state.modes & gate::kNoGrad) == 0; }
inline void set_grad_enabled(bool enabled) {
  thread_state.modes =
      enabled ? thread_state.modes & ~gate::kNoGrad : thread_state.modes | gate::kNoGrad;
}

/// Nothing is recorded on this thread for the length of a scope.
class NoGradGuard : private ModeScope {
 public:
  NoGradGuard() : ModeScope(gate::kNoGrad, 0) {}
};

/// Recording is on for the length of a scope, also inside a NoGradGuard.
class EnableGradGuard : private ModeScope {
 public:
  EnableGradGuard() : ModeScope(0, gate::kNoGrad) {}
};

}  // namespace ebb
