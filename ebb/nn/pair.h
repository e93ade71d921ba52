// ebb/nn/pair.h -- Pair and Triple: sizes of a window over height and width, and over depth.
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

/// Three numbers, of depth, height and width; one stands for all.
struct Triple {
  std::array<int64_t, 3> values;

  Triple(int64_t all) : values{all, all, all} {}  // NOLINT: a number is a triple of itself
  Triple(int64_t depth, int64_t height, int64_t width) : values{depth, height, width} {}
  operator IntSpan() const { return values; }  // NOLINT: a triple is its values
};

}  // namespace ebb::nn
