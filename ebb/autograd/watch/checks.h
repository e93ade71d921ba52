// ebb/autograd/watch/checks.h -- modes of a thread for looking into it: anomaly mode, NaN checks,
// and gradients of everything.
//
// Off, they cost nothing. They are carried to the threads that work for this one.
#pragma once

#include "ebb/core/base/thread_state.h"

namespace ebb {

/// What a check takes for a fault.
enum class NonFinite : uint8_t { nan_and_inf, nan };

/// In this scope every op looks at its results, backward() and grad() at the loss and the seeds,
/// and every node at the gradients that it computes: the first NaN, or infinity that does not come
/// from another one, throws NonFiniteError, which names op or node, line, counts and index. What is
/// computed inside a backward rule is not looked at, its results are. With CheckNanInfGuard(false)
/// none of this is done, inside such a scope too.
class CheckNanInfGuard : private ModeScope {
 public:
  explicit CheckNanInfGuard(bool is_enabled = true, NonFinite fault = NonFinite::nan_and_inf)
      : ModeScope(is_enabled ? kChecks | (fault == NonFinite::nan ? gate::kAllowInf : 0) : 0,
                  kChecks | gate::kAllowInf) {}

 private:
  static constexpr uint32_t kChecks = gate::kNanCheck | gate::kGradCheck;
};

/// In this scope recorded nodes know the whole stack of the call that recorded them, which errors
/// of a backward run then show, and backward runs check for NaN and infinities as above unless
/// `checks_gradients` is false. Results of ops are not looked at.
class DetectAnomalyGuard : private ModeScope {
 public:
  explicit DetectAnomalyGuard(bool is_enabled = true, bool checks_gradients = true)
      : ModeScope(is_enabled ? gate::kAnomaly | (checks_gradients ? gate::kGradCheck : 0) : 0,
                  gate::kAnomaly | gate::kGradCheck) {}
};

/// In this scope recorded nodes know the whole stack of the call that recorded them, as in anomaly
/// mode, of which this is a part: is_anomaly_enabled(). Nothing is checked.
class RecordStacksGuard : private ModeScope {
 public:
  explicit RecordStacksGuard(bool is_enabled = true)
      : ModeScope(is_enabled ? gate::kAnomaly : 0, gate::kAnomaly) {}
};

/// In this scope every recorded result keeps its gradient, as after retain_grad().
class RetainAllGradsGuard : private ModeScope {
 public:
  explicit RetainAllGradsGuard(bool is_enabled = true)
      : ModeScope(is_enabled ? gate::kRetainGrads : 0, gate::kRetainGrads) {}
};

inline bool is_anomaly_enabled() { return (thread_state.modes & gate::kAnomaly) != 0; }

}  // namespace ebb
