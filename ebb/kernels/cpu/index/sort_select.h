// ebb/kernels/cpu/index/sort_select.h -- finds the n-th element of a line too long to copy.
//
// Digit by digit, from the highest: each pass counts the digits of the keys that agree with what is
// known, until few are left. Keys are read more than once: should another thread write them
// meanwhile, the result is any, but no place outside of the line is read.
#pragma once

#include "ebb/core/runtime/allocator.h"
#include "ebb/kernels/cpu/index/sort_lines.h"

namespace ebb::kernels::cpu {

inline constexpr int64_t kLong = 32768;  // items of fewer are copied
inline constexpr int kDigitBits = 11;
using DigitCounts = std::array<int64_t, size_t{1} << kDigitBits>;

/// The item at `position` of a sort of `count` keys.
template <typename T>
WideItem nth_item(const Keys<T>& keys, int64_t count, int64_t position) {
  int below = 8 * static_cast<int>(sizeof(T));  // bits that are not known yet
  uint64_t known = 0;                           // those above
  int64_t left = count;                         // keys that begin with these
  const auto agrees = [&](uint64_t key) { return below >= 64 || key >> below == known; };
  while (left > kLong && below > 0) {
    const int width = std::min(kDigitBits, below);
    const uint64_t mask = (uint64_t{1} << width) - 1;
    DigitCounts counts{};
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t key = keys[i];
      if (agrees(key)) ++counts[key >> (below - width) & mask];
    }
    uint64_t digit = 0;
    for (; digit < mask && position >= counts[digit]; ++digit) position -= counts[digit];
    left = counts[digit];
    known = known << width | digit;
    below -= width;
  }
  if (left > kLong) {  // equal ones, in order of their indices
    for (int64_t i = 0; i < count; ++i) {
      if (keys[i] == known && position-- == 0) return {known, i};
    }
    return {known, count - 1};
  }
  const Scratch scratch(static_cast<size_t>(left + 1) * sizeof(WideItem));
  auto* const items = scratch.as<WideItem>();
  int64_t found = 0;
  for (int64_t i = 0; i < count && found < left; ++i) {
    if (agrees(keys[i])) items[found++] = WideItem(keys[i], i);
  }
  if (position >= found) return {known, 0};
  std::nth_element(items, items + position, items + found);
  return items[position];
}

}  // namespace ebb::kernels::cpu
