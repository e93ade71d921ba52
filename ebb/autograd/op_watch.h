// ebb/autograd/op_watch.h -- what goes on around one op while some mode watches (gate::kWatched).
//
// The slow path of every op makes an OpWatch and calls itself without the bits that watch. In
// anomaly mode what is recorded inside carries the whole stack of the call; with NaN checks the
// results are looked at; in a profile it is a range of time.
#pragma once

#include <cmath>
#include <initializer_list>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

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
  /// `return_address`: null for a call that writes results which were there before.
  OpWatch(const char* op, uint32_t bits, void* return_address)
      : op_(op),
        bits_(bits),
        makes_results_(return_address != nullptr),
        location_((bits & gate::kAnomaly) != 0 ? current_stack(return_address)
                                               : current_location(return_address)),
        scope_(location_) {
    if ((bits & gate::kProfiler) != 0) range_.emplace(op, location_);
  }

  /// Throws NonFiniteError if a result has a fault. `scalars_are_finite`: numbers that the op was
  /// given.
  void see(const Tensor& result, std::initializer_list<NamedTensor> operands,
           bool scalars_are_finite = true) {
    if (range_) note(result);
    if ((bits_ & gate::kNanCheck) == 0) return;
    check_result(op_, result, {operands.begin(), operands.size()}, scalars_are_finite, bits_,
                 location_);
  }
  void see(const std::vector<Tensor>& results, std::initializer_list<NamedTensor> operands,
           bool scalars_are_finite = true) {
    for (const Tensor& result : results) see(result, operands, scalars_are_finite);
  }
  template <typename... Results>
  void see(const std::tuple<Results...>& results, std::initializer_list<NamedTensor> operands,
           bool scalars_are_finite = true) {
    std::apply([&](const auto&... result) { (see(result, operands, scalars_are_finite), ...); },
               results);
  }

 private:
  /// The node that the call recorded, and the memory that it made.
  void note(const Tensor& result) {
    if (!result.defined()) return;
    const TensorImpl& impl = *result.impl();
    if (impl.producer != nullptr)
      range_->set_sequence(static_cast<Node*>(impl.producer)->sequence());
    const bool is_new = makes_results_ && (impl.flags & TensorImpl::kView) == 0;
    if (is_new) range_->add_bytes(static_cast<int64_t>(impl.storage->bytes()));
  }

  const char* op_;
  const uint32_t bits_;
  const bool makes_results_;
  const LocationId location_;
  const LocationScope scope_;
  std::optional<OpRange> range_;
};

}  // namespace ebb::autograd
