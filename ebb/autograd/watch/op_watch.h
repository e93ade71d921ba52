// ebb/autograd/watch/op_watch.h -- what goes on around one op while some mode watches
// (gate::kWatched).
//
// The slow path of every op makes an OpWatch and calls itself without the bits that watch. In
// anomaly mode what is recorded inside carries the whole stack of the call; with NaN checks the
// results are looked at; in a profile it is a range of time; it may be a line of the log; results
// may be made to keep their gradients; observers are shown the call, and may supply its results
// (op_observer.h); cuts are traced (cut_trace.h).
#pragma once

#include <cmath>
#include <initializer_list>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ebb/autograd/history/op_observer.h"
#include "ebb/autograd/watch/cut_trace.h"
#include "ebb/autograd/watch/finite_check.h"
#include "ebb/core/base/location.h"
#include "ebb/core/base/scalar.h"
#include "ebb/core/runtime/profile.h"

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
  OpWatch(const char* op, uint32_t bits, void* return_address,
          std::span<const OpArgument> arguments = {});
  ~OpWatch();

  /// The gate bits for the call itself.
  uint32_t inner_bits() const {
    // Observers see what the call saved before hooks pack it.
    return bits_ &
           ~(observation_ && makes_results_ ? gate::kWatched | gate::kSavedHooks : gate::kWatched);
  }
  /// Whether an observer answers for the call, which is then not made.
  bool is_supplied() const { return observation_ && observation_->supplied; }
  /// What it supplied, as the call returns it.
  template <typename Results>
  Results take_supplied() {
    std::vector<Tensor> all = std::move(*observation_->supplied);
    observation_->finish(all);
    if constexpr (std::is_same_v<Results, Tensor>) {
      return std::move(all[0]);
    } else if constexpr (std::is_same_v<Results, std::vector<Tensor>>) {
      return all;
    } else {
      return as_tuple<Results>(all, std::make_index_sequence<std::tuple_size_v<Results>>());
    }
  }

  /// Call with what a call is about to write.
  void before_write(const Tensor& self);

  /// Call with all results. Throws NonFiniteError if one has a fault. `scalars_are_finite`: numbers
  /// that the op was given.
  void see(std::span<const Tensor> results, std::span<const NamedTensor> operands,
           bool scalars_are_finite = true);
  void see(const Tensor& result, std::span<const NamedTensor> operands,
           bool scalars_are_finite = true) {
    see(std::span(&result, 1), operands, scalars_are_finite);
  }
  void see(const Tensor& result, std::initializer_list<NamedTensor> operands,
           bool scalars_are_finite = true) {
    see(result, std::span(operands.begin(), operands.size()), scalars_are_finite);
  }
  template <typename... Results>
  void see(const std::tuple<Results...>& results, std::span<const NamedTensor> operands,
           bool scalars_are_finite = true) {
    std::apply(
        [&](const auto&... result) {
          const Tensor all[] = {result...};
          see(std::span<const Tensor>(all), operands, scalars_are_finite);
        },
        results);
  }

 private:
  template <typename Results, size_t... index>
  static Results as_tuple(std::vector<Tensor>& all, std::index_sequence<index...>) {
    return {std::move(all[index])...};
  }
  void check(const Tensor& result, std::span<const NamedTensor> operands, bool scalars_are_finite);
  /// All that the call was given, of those that are known.
  std::vector<const Tensor*> all_operands(std::span<const NamedTensor> operands) const;
  /// In a profile: what the call was given, and its phases.
  void note_call(const Tensor& result, std::span<const Tensor* const> operands);
  /// The node that the call recorded, and the memory that it made.
  void note(const Tensor& result);
  void trace(const Tensor& result, std::span<const NamedTensor> operands) const;

  const char* op_;
  const uint32_t bits_;
  const bool makes_results_;
  const LocationId location_;
  const LocationScope scope_;
  const std::span<const OpArgument> arguments_;
  Origin before_ = 0;  // of what the call writes
  std::optional<OpRange> range_;
  std::optional<Observation> observation_;
};

}  // namespace ebb::autograd
