// ebb/kernels/cpu/index/variates.h -- uniform and normal numbers for one element, without end.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "ebb/core/base/random.h"

namespace ebb::kernels::cpu {

/// The sequence of one element: counter words 0 and 1 say which element of which op, word 2 counts
/// the pairs of numbers that it has drawn.
class Variates {
 public:
  Variates(const RandomState& state, int64_t index)
      : position_(state.offset + static_cast<uint64_t>(index)),
        key_{static_cast<uint32_t>(state.seed), static_cast<uint32_t>(state.seed >> 32)} {}

  /// Two numbers within (0, 1): neither end.
  std::array<double, 2> uniform_pair() {
    const auto words = philox(
        {static_cast<uint32_t>(position_), static_cast<uint32_t>(position_ >> 32), drawn_++, 0},
        key_);
    return {within(words[0], words[1]), within(words[2], words[3])};
  }

  double normal() {
    const auto [first, second] = uniform_pair();
    return std::sqrt(-2 * std::log(first)) * std::cos(6.283185307179586476925 * second);
  }

 private:
  static double within(uint32_t high, uint32_t low) {
    const uint64_t word = uint64_t{high} << 32 | low;
    return (static_cast<double>(word >> 12) + 0.5) * 0x1p-52;
  }

  uint64_t position_;
  std::array<uint32_t, 2> key_;
  uint32_t drawn_ = 0;
};

}  // namespace ebb::kernels::cpu
