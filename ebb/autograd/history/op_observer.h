// ebb/autograd/history/op_observer.h -- objects that are shown each op of a thread, and may answer
// for it.
//
// Each thread has a stack of observers. While its gate::kObserved bit is set, every differentiable
// op takes its slow path and is shown to them, innermost first: before it runs, when one may supply
// the results instead, and afterwards, with its results and before saved-tensor hooks pack what it
// saved. Who is asked before and supplies nothing is shown the results. An observer's own ops, and
// runs of the engine, are not observed. OpWatch is the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ebb/core/base/location.h"
#include "ebb/core/base/scalar.h"
#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/signatures.h"

namespace ebb::autograd {

/// An argument of an op in its place; monostate for one that was not given.
using OpArgument =
    std::variant<std::monostate, const Tensor*, std::span<const Tensor>, const Scalar*, bool,
                 int64_t, double, IntSpan, std::string_view, DType, Device, kernels::Reduction>;

inline OpArgument argument_of(const Tensor& value) { return &value; }
inline OpArgument argument_of(const Scalar& value) { return &value; }
template <typename T>
OpArgument argument_of(const T& value) {
  return value;
}
template <typename T>
OpArgument argument_of(const std::optional<T>& value) {
  return value.has_value() ? argument_of(*value) : OpArgument();
}

/// One call of an op. Nothing in it outlives the call.
struct OpCall {
  const char* name;  // of the C++ function
  LocationId location;
  std::span<const OpArgument> arguments;  // none of a call that writes
  bool writes;                            // in place, or into out=
  bool has_tangents;                      // an operand carries one
};

class EBB_API OpObserver {
 public:
  virtual ~OpObserver() = default;
  /// Before the call. May answer for it: with results, which are then not computed. Not asked if
  /// the call writes.
  virtual std::optional<std::vector<Tensor>> supply(const OpCall& /*call*/) { return {}; }
  /// After the call.
  virtual void see(const OpCall& /*call*/, std::span<const Tensor> /*results*/) {}
};

/// One observer of a thread's stack.
struct ObserverFrame {
  std::shared_ptr<OpObserver> observer;
  std::shared_ptr<const ObserverFrame> outer;  // null also where those below see nothing
  std::shared_ptr<const ObserverFrame> below;
};

/// Lets this thread's ops be shown to `observer`, before those already there.
EBB_API void push_op_observer(std::shared_ptr<OpObserver> observer);
/// Takes the innermost observer away.
EBB_API void pop_op_observer() noexcept;
/// The innermost observer; null if there is none.
EBB_API std::shared_ptr<const ObserverFrame> current_op_observers();
EBB_API void install_op_observers(std::shared_ptr<const ObserverFrame> frame) noexcept;

/// An observer for the length of a scope; null for none.
class OpObserverGuard {
 public:
  explicit OpObserverGuard(std::shared_ptr<OpObserver> observer) : is_set_(observer != nullptr) {
    if (is_set_) push_op_observer(std::move(observer));
  }
  ~OpObserverGuard() {
    if (is_set_) pop_op_observer();
  }
  OpObserverGuard(const OpObserverGuard&) = delete;
  OpObserverGuard& operator=(const OpObserverGuard&) = delete;

 private:
  const bool is_set_;
};

/// Shows one call to the observers of the thread.
class EBB_API Observation {
 public:
  /// Asks them, innermost first, until one supplies the results.
  explicit Observation(const OpCall& call);
  /// What one of them supplied. May be taken.
  std::optional<std::vector<Tensor>> supplied;
  /// Shows the results to those asked, and lets hooks pack what their nodes saved.
  void finish(std::span<const Tensor> results);

 private:
  OpCall call_;
  std::shared_ptr<const ObserverFrame> first_;
  const ObserverFrame* end_ = nullptr;  // the one that supplied
};

}  // namespace ebb::autograd
