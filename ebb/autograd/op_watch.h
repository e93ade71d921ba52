// ebb/autograd/op_watch.h -- what goes on around one op while some mode watches (gate::kWatched).
//
// The slow path of every op makes an OpWatch and calls itself without the bits that watch. In
// anomaly mode what is recorded inside carries the whole stack of the call; with NaN checks the
// results are looked at.
#pragma once

#include <cmath>
#include <initializer_list>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "ebb/autograd/finite_check.h"
#include "ebb/core/location.h"
#include "ebb/core/scalar.h"

namespace ebb::autograd {

/// The place of a call that records more than one node: in anomaly mode with its callers.
inline LocationId place_of_call(void* return_address) {
  if ((thread_state.modes & gate::kAnomaly) != 0) [[unlikely]]
    return current_stack(return_address);
  return current_location(return_address);
}

inline bool is_finite_number(double value) { return std::isfinite(value); }
inline bool is_finite_number(const Scalar& value) {
  return value.kind() == Kind::complex ? std::isfinite(std::abs(value.to_complex()))
                                       : std::isfinite(value.to_double());
}
template <typename T>
bool is_finite_number(const std::optional<T>& value) {
  return !value.has_value() || is_finite_number(*value);
}

class OpWatch {
 public:
  OpWatch(const char* op, uint32_t bits, void* return_address)
      : op_(op),
        bits_(bits),
        location_((bits & gate::kAnomaly) != 0 ? current_stack(return_address)
                                               : current_location(return_address)),
        scope_(location_) {}

  /// Throws NonFiniteError if a result has a fault. `scalars_are_finite`: numbers that the op was
  /// given.
  void see(const Tensor& result, std::initializer_list<NamedTensor> operands,
           bool scalars_are_finite = true) const {
    if ((bits_ & gate::kNanCheck) == 0) return;
    check_result(op_, result, {operands.begin(), operands.size()}, scalars_are_finite, bits_,
                 location_);
  }
  void see(const std::vector<Tensor>& results, std::initializer_list<NamedTensor> operands,
           bool scalars_are_finite = true) const {
    for (const Tensor& result : results) see(result, operands, scalars_are_finite);
  }
  template <typename... Results>
  void see(const std::tuple<Results...>& results, std::initializer_list<NamedTensor> operands,
           bool scalars_are_finite = true) const {
    std::apply([&](const auto&... result) { (see(result, operands, scalars_are_finite), ...); },
               results);
  }

 private:
  const char* op_;
  const uint32_t bits_;
  const LocationId location_;
  const LocationScope scope_;
};

}  // namespace ebb::autograd
