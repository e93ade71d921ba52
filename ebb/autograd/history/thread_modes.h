// ebb/autograd/history/thread_modes.h -- all autograd modes of a thread as one value, to carry to
// another.
//
// A worker that runs part of a backward pass, or recomputes a checkpoint, must see what the calling
// thread sees: whether ops are recorded, inference mode, and whatever else hangs off the thread. A
// mode that is more than a bit of thread_state.modes adds a member here, and a line each to
// current() and install(). Capturing costs a few copies; nothing is paid by threads that never do.
#pragma once

#include <memory>

#include "ebb/autograd/history/casts/autocast.h"
#include "ebb/autograd/history/op_observer.h"
#include "ebb/autograd/history/saved_hooks.h"
#include "ebb/autograd/history/tangents.h"
#include "ebb/core/base/location.h"
#include "ebb/core/base/thread_state.h"
#include "ebb/core/device/stream.h"

namespace ebb::autograd {

/// What one thread had at one moment. May be copied, kept, and installed on any thread.
class EBB_API ThreadModes {
 public:
  /// The modes of a thread that was just started.
  ThreadModes() = default;
  /// The modes of the calling thread now.
  static ThreadModes current();

  /// The same, but without saved-tensor hooks and observers of ops, and at the place now running:
  /// for a function that is called again later.
  ThreadModes for_another_call() const;
  /// Makes the calling thread have these modes; prefer ThreadModesScope, which puts its own back.
  void install() const noexcept;

 private:
  uint32_t bits_ = 0;  // gate::k... bits: grad mode, inference, autocast, checks ...
  ForwardLevelPtr forward_level_;
  DeviceModes devices_;      // default device, current streams
  LocationId location_ = 0;  // what current_location() answers; 0: the place now running
  std::shared_ptr<const HookFrame> saved_hooks_;    // the innermost saved-tensor hooks
  std::shared_ptr<const ObserverFrame> observers_;  // the innermost observer of ops
  AutocastFramePtr autocast_;                       // the innermost block of mixed precision
};

/// The calling thread has `modes` for the length of a scope, and then its own again, also if the
/// scope is left by an exception.
class ThreadModesScope {
 public:
  explicit ThreadModesScope(const ThreadModes& modes) : saved_(ThreadModes::current()) {
    modes.install();
  }
  ~ThreadModesScope() { saved_.install(); }
  ThreadModesScope(const ThreadModesScope&) = delete;
  ThreadModesScope& operator=(const ThreadModesScope&) = delete;

 private:
  ThreadModes saved_;
};

}  // namespace ebb::autograd
