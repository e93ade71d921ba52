// ebb/nn/pair.h -- Pair: sizes of a window over height and width.
#pragma once

#include <array>
#include <cstdint>

#include "ebb/core/tensor/tensor.h"

namespace ebb::nn {

/// Two numbers, of height and width; one stands for both.
struct Pair {
  std::array<int64_t, 2> values;

  Pair(int64_t both) : values{both, both} {}  // NOLINT: a number is a pair of itself
  Pair(int64_t height, int64_t width) : values{height, width} {}
  operator IntSpan() const { return values; }  // NOLINT: a pair is its values
};

}  // namespace ebb::nn
