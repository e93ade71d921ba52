// ebb/autograd/watch/cut_trace.h -- where values came from although no gradient goes there.
//
// While a thread traces cuts, each op notes an unrecorded result whose operands wanted a gradient,
// or were noted themselves: op, line, and the notes and leaves that it came from. The origin of the
// result (origin.h) then holds the number of the note, which also knows the place. Nothing noted
// keeps a tensor or a node: leaves are known by a number that dies with them, recorded ops are
// copied when a value of theirs is first cut off. The notes themselves are in cut_notes.h. Start
// reading at note_result(); ebb/graph/explain.h asks.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "ebb/autograd/history/cut_observer.h"
#include "ebb/autograd/history/origin.h"
#include "ebb/core/base/location.h"
#include "ebb/core/base/thread_state.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// In this scope cuts are traced on this thread. Backward runs inside are not.
class TraceCutsGuard : private ModeScope {
 public:
  explicit TraceCutsGuard(bool is_enabled = true)
      : ModeScope(is_enabled ? gate::kCutTrace : 0, gate::kCutTrace) {}
};

/// Forgets all notes and gives their memory back. Lines of cuts that were noted are forgotten too.
EBB_API void forget_cuts();

namespace autograd {

/// An op without derivative has something to note (note_no_gradient()).
inline constexpr uint32_t kNotesNoGradient =
    gate::kRequiresGrad | gate::kCutTrace | gate::kProfiler | gate::kLog;

/// A call as note_result() sees it.
struct TracedCall {
  const char* op;
  uint32_t bits;
  LocationId place;
  Origin before = 0;  // that of a tensor which the call wrote
  bool writes = false;
  bool is_custom = false;  // the name may not outlive the call
};
/// Notes where a result came from that has no history, or what went into one that has.
EBB_API void note_result(const TracedCall& call, const Tensor& result,
                         std::span<const Tensor* const> operands);
/// The same for a custom function.
EBB_API void note_results(TracedCall call, std::span<const Tensor> results,
                          std::span<const Tensor> operands);
/// A result of an op that has no derivative.
EBB_API void note_no_gradient(const char* op, const Tensor& result, uint32_t bits,
                              void* return_address, std::initializer_list<const Tensor*> operands);
/// Gives `out`, the same memory as `input` without history, its origin.
EBB_API void note_detached(const char* op, const Tensor& out, const Tensor& input,
                           LocationId place);
/// A value becomes a number, a list or an array. Call if is_tracing_cuts().
EBB_API void note_leaving(const char* how, const Tensor& tensor);
/// A tensor was made from numbers. Call if is_tracing_cuts().
EBB_API void note_entering(const char* how, const Tensor& tensor);

}  // namespace autograd
}  // namespace ebb
