// ebb/autograd/op_watch.h -- what goes on around one op while some mode watches (gate::kWatched).
//
// The slow path of every op makes an OpWatch and calls itself without the bits that watch. In
// anomaly mode what is recorded inside carries the whole stack of the call; with NaN checks the
// results are looked at; in a profile it is a range of time; results may be made to keep their
// gradients.
#pragma once

#include <cmath>
#include <initializer_list>
#include <optional>
#include <span>
#include <tuple>

#include "ebb/autograd/finite_check.h"
#include "ebb/core/location.h"
#include "ebb/core/profile.h"
#include "ebb/core/scalar.h"

namespace ebb::autograd {

/// The place of a call that records more than one node: in anomaly mode with its callers.
inline LocationId place_of_call(void* return_address) {
  if ((thread_state.modes & gate::kAnomaly) != 0) [[unlikely]]
    return current_stack(return_address);
  return current_location(return_address);
}

inline bool is_finite_number(double value) { return std::isfinite(value); }
EBB_API bool is_finite_number(const Scalar& value);
template <typename T>
bool is_finite_number(const std::optional<T>& value) {
  return !value.has_value() || is_finite_number(*value);
}

/// All of it is out of line: there is one in each op's slow path.
class EBB_API OpWatch {
 public:
  /// `return_address`: null for a call that writes results which were there before.
  OpWatch(const char* op, uint32_t bits, void* return_address);
  ~OpWatch();

  /// Call with each result. Throws NonFiniteError if one has a fault. `scalars_are_finite`: numbers
  /// that the op was given.
  void see(const Tensor& result, std::initializer_list<NamedTensor> operands,
           bool scalars_are_finite = true);
  void see(std::span<const Tensor> results, std::initializer_list<NamedTensor> operands,
           bool scalars_are_finite = true);
  template <typename... Results>
  void see(const std::tuple<Results...>& results, std::initializer_list<NamedTensor> operands,
           bool scalars_are_finite = true) {
    std::apply([&](const auto&... result) { (see(result, operands, scalars_are_finite), ...); },
               results);
  }

 private:
  /// The node that the call recorded, and the memory that it made.
  void note(const Tensor& result);

  const char* op_;
  const uint32_t bits_;
  const bool makes_results_;
  const LocationId location_;
  const LocationScope scope_;
  std::optional<OpRange> range_;
};

}  // namespace ebb::autograd
