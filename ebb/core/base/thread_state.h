// ebb/core/base/thread_state.h -- the one thread-local structure that the hot path reads.
//
// It is a single cache line with static (initial-exec) storage, initialised at compile time:
// reading it is one instruction, with no guard and no call. Anything large hangs off a pointer in
// it.
#pragma once

#include <cstdint>

#include "ebb/core/base/export.h"

namespace ebb {

/// Flag bits of a tensor that an op must look at, and of a thread's modes. They share one word, so
/// that one OR over all operands and the thread, and one test against zero, decide the straight
/// path.
namespace gate {
inline constexpr uint32_t kRequiresGrad = 1u << 0;  // tensor
inline constexpr uint32_t kTangent = 1u << 1;       // tensor: carries a forward-mode tangent
inline constexpr uint32_t kNotStrided = 1u << 2;    // tensor: no plain strided memory (sparse.h)
inline constexpr uint32_t kUndefined = 1u << 3;     // no tensor at all: an error for most ops
inline constexpr uint32_t kUnsettled = kUndefined;  // tensor: a view that may get history late
inline constexpr uint32_t kTensorBits = 0x0fu;
inline constexpr uint32_t kNoGrad = 1u << 8;        // thread: inside no_grad
inline constexpr uint32_t kInference = 1u << 9;     // thread: inside inference_mode
inline constexpr uint32_t kAmp = 1u << 10;          // thread: autocast casts for ops of its lists
inline constexpr uint32_t kNanCheck = 1u << 11;     // thread: check_nan_inf
inline constexpr uint32_t kProfiler = 1u << 12;     // thread: operator ranges are recorded
inline constexpr uint32_t kSavedHooks = 1u << 13;   // thread: saved-tensor hooks are installed
inline constexpr uint32_t kAnomaly = 1u << 14;      // thread: detect_anomaly
inline constexpr uint32_t kGradCheck = 1u << 16;    // thread: what nodes compute must be finite
inline constexpr uint32_t kAllowInf = 1u << 17;     // thread: checks look for NaN only
inline constexpr uint32_t kRetainGrads = 1u << 18;  // thread: results keep their gradients
inline constexpr uint32_t kObserved = 1u << 19;     // thread: calls are shown to observers
inline constexpr uint32_t kCutTrace = 1u << 20;     // thread: what has no history is noted
inline constexpr uint32_t kAmpAll = 1u << 21;       // thread: autocast casts for any op
inline constexpr uint32_t kLog = 1u << 22;          // thread: calls, nodes or casts are logged
inline constexpr uint32_t kAutocast = kAmp | kAmpAll;
// Modes in which something goes on around each op (autograd/op_watch.h).
inline constexpr uint32_t kWatched =
    kNanCheck | kProfiler | kAnomaly | kRetainGrads | kObserved | kCutTrace | kLog;
inline constexpr uint32_t kMask = kTensorBits | 0xffffff00u;
}  // namespace gate

namespace detail {
struct BlockCache;
}

/// What belongs to one thread and is read on every op.
struct alignas(64) ThreadState {
  detail::BlockCache* cache;  // the allocator's free lists; never null
  uint32_t modes;             // gate::k... bits of the thread; 0 by default
  uint32_t location;          // if not 0, what current_location() answers
  uint64_t next_sequence;     // the number of the next recorded node ...
  uint64_t end_of_sequences;  // ... unless it has reached this one
  void* dead_nodes;           // nodes waiting to be destroyed, and whether someone is at it
  void* location_cache;       // the recent return addresses and their ids
  void* engine;               // vectors that the engine keeps between runs
  uint32_t scope;             // which module is being called (scope.h); 0 outside of all
  uint32_t streams;           // the current ones of all devices (stream_set.h)
};

extern EBB_API thread_local constinit ThreadState thread_state
    __attribute__((tls_model("initial-exec")));

/// Sets bits of the thread's modes for the length of a scope.
class ModeScope {
 public:
  ModeScope(uint32_t set, uint32_t clear) : saved_(thread_state.modes) {
    thread_state.modes = (saved_ & ~clear) | set;
  }
  ~ModeScope() { thread_state.modes = saved_; }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  uint32_t saved_;
};

}  // namespace ebb
