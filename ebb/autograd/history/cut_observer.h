// ebb/autograd/history/cut_observer.h -- who is told that the past of a tensor was cut or replaced.
//
// History itself keeps four bytes (origin.h). Whoever wants to know more listens here: cut_trace.h
// in watch/ does, as soon as it is loaded. Nothing of how a gradient flows depends on it.
#pragma once

#include <atomic>

#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/origin.h"
#include "ebb/core/base/thread_state.h"

namespace ebb::autograd {

/// There is at most one, for the whole process.
class CutObserver {
 public:
  /// A leaf is told to require no gradient at this place, or to require one again.
  virtual void leaf_frozen(const Node& accumulator, LocationId place) = 0;
  virtual void leaf_thawed(const Node& accumulator) = 0;
  /// The tensor of a leaf is gone. Called only while any_leaf_noted.
  virtual void leaf_died(const Node& accumulator) noexcept = 0;
  /// The history of a tensor is about to be cut off: its origin, `otherwise` if nothing is known.
  virtual Origin detaching(const char* op, const Tensor& tensor, Origin otherwise) = 0;
  /// place_of() of origin.h.
  virtual LocationId place_of(Origin origin) = 0;

 protected:
  ~CutObserver() = default;
};

extern EBB_API CutObserver* cut_observer;
/// Whether the observer knows any leaf.
extern EBB_API std::atomic<bool> any_leaf_noted;

/// Whether cuts are traced on this thread.
inline bool is_tracing_cuts() { return (thread_state.modes & gate::kCutTrace) != 0; }

}  // namespace ebb::autograd
