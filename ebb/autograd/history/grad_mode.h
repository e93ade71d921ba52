// ebb/autograd/history/grad_mode.h -- whether this thread records: on by default, off in a
// NoGradGuard.
//
// In inference mode nothing is recorded either, and what is allocated stays out of every graph for
// good: its storage carries the mark (Storage::is_inference()), so that all views share it.
#pragma once

#include "ebb/core/base/thread_state.h"
#include "ebb/core/tensor/tensor.h"

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

/// Whether this thread is in inference mode.
inline bool is_inference_mode_enabled() { return (thread_state.modes & gate::kInference) != 0; }
/// Whether the tensor's memory was made in inference mode.
inline bool is_inference(const Tensor& tensor) { return tensor.impl()->storage->is_inference(); }

/// Inference mode for the length of a scope: nothing is recorded, also under EnableGradGuard, and
/// tensors made inside never take part in a graph. InferenceModeGuard(false) is ordinary mode with
/// recording on, inside another one too.
class InferenceModeGuard : private ModeScope {
 public:
  explicit InferenceModeGuard(bool enabled = true)
      : ModeScope(enabled ? kModes : 0, enabled ? 0 : kModes) {}

 private:
  static constexpr uint32_t kModes = gate::kInference | gate::kNoGrad;
};

}  // namespace ebb
