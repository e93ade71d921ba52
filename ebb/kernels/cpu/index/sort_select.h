// ebb/kernels/cpu/index/sort_select.h -- finds the n-th element of a line too long to copy, and the
// first few of one of many.
//
// The n-th digit by digit, from the highest: each pass counts the digits of the keys that agree
// with what is known, until few are left. Keys are read more than once: should another thread write
// them meanwhile, the result is any, but no place outside of the line is read.
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

/// Items that find_first() needs room for; a line has at least as many elements.
inline int64_t room_for_first(int64_t wanted) { return wanted + std::max<int64_t>(wanted, 64); }

/// Puts the first `wanted` items of a sort of `count` keys into `items`, in no order. One pass
/// keeps those that come before the last of the first so far, and drops all others once there is no
/// room.
template <class Item, typename T>
void find_first(const Keys<T>& keys, int64_t count, int64_t wanted, Item* items) {
  const int64_t room = room_for_first(wanted);
  KeyOf<T> largest = static_cast<KeyOf<T>>(~KeyOf<T>{0});  // of a key that may be among the first
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    const KeyOf<T> key = keys[i];
    if (key > largest) continue;
    items[found++] = Item(key, i);
    if (found < room) continue;
    std::nth_element(items, items + wanted - 1, items + found);
    found = wanted;
    const auto last = static_cast<KeyOf<T>>(items[wanted - 1].key());
    if (last == 0) return;  // an equal key that comes later is not among the first
    largest = static_cast<KeyOf<T>>(last - 1);
  }
  if (found > wanted) std::nth_element(items, items + wanted - 1, items + found);
}

}  // namespace ebb::kernels::cpu
