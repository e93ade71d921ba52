// ebb/kernels/cpu/index/sort_select.h -- finds the n-th element of a line that is not short, and
// the first few of one of many.
//
// The n-th digit by digit, from the highest: each pass counts the digits of the keys that agree
// with what is known, until few are left. That guesses no branch wrong, as comparisons do with
// every second key. Keys are read more than once: should another thread write them meanwhile, the
// result is any, but no place outside of the line is read.
#pragma once

#include "ebb/core/runtime/allocator.h"
#include "ebb/kernels/cpu/index/sort_lines.h"

namespace ebb::kernels::cpu {

inline constexpr int64_t kLong = 32768;     // items of fewer are copied
inline constexpr int64_t kCompared = 1024;  // among so few, comparisons find the n-th sooner
inline constexpr int kDigitBits = 11;
using DigitCounts = std::array<int64_t, size_t{1} << kDigitBits>;

/// Which keys of a line are still in question: those whose bits above `below` are `known`.
struct KeyPrefix {
  uint64_t known = 0;
  int below = 0;

  bool agrees(uint64_t key) const { return below >= 64 || key >> below == known; }
};

/// How many of the keys that agree have which of the next `width` bits. Two tables by turns: one
/// would have to wait for itself where keys are equal.
template <typename T>
DigitCounts count_digits(const Keys<T>& keys, int64_t count, const KeyPrefix& prefix, int width) {
  const uint64_t mask = (uint64_t{1} << width) - 1;
  const int shift = prefix.below - width;
  DigitCounts counts{}, others{};
  int64_t i = 0;
  for (; i + 1 < count; i += 2) {
    const uint64_t key = keys[i], other = keys[i + 1];
    counts[key >> shift & mask] += prefix.agrees(key);
    others[other >> shift & mask] += prefix.agrees(other);
  }
  if (i < count) counts[keys[i] >> shift & mask] += prefix.agrees(keys[i]);
  for (size_t digit = 0; digit <= mask; ++digit) counts[digit] += others[digit];
  return counts;
}

template <typename T>
int64_t first_nan(const Keys<T>& keys, int64_t count) {
  constexpr auto kNaN = static_cast<KeyOf<T>>(~KeyOf<T>{0});
  int64_t i = 0;
  while (i < count && keys[i] != kNaN) ++i;
  return i;
}

/// The item at `position` of a sort of `count` keys; the first NaN, if there is one and `nan_wins`.
template <typename T>
WideItem nth_item(const Keys<T>& keys, int64_t count, int64_t position, bool nan_wins) {
  const int64_t few = std::clamp<int64_t>(count / 2, kFew, kLong);
  KeyPrefix prefix{.below = 8 * static_cast<int>(sizeof(T))};
  int64_t left = count;  // keys that agree
  while (left > few && prefix.below > 0) {
    const int width = std::min(kDigitBits, prefix.below);
    const DigitCounts counts = count_digits(keys, count, prefix, width);
    const uint64_t last = (uint64_t{1} << width) - 1;
    if (is_real<T> && nan_wins && left == count && counts[last] > 0) {  // that of NaN
      const int64_t found = first_nan(keys, count);
      if (found < count) return {keys[found], found};
    }
    uint64_t digit = 0;
    for (; digit < last && position >= counts[digit]; ++digit) position -= counts[digit];
    left = counts[digit];
    prefix = {prefix.known << width | digit, prefix.below - width};
  }
  if (left > few) {  // equal ones, in order of their indices
    for (int64_t i = 0; i < count; ++i) {
      if (keys[i] == prefix.known && position-- == 0) return {prefix.known, i};
    }
    return {prefix.known, count - 1};
  }
  const Scratch scratch(static_cast<size_t>(left + 1) * sizeof(WideItem));
  auto* const items = scratch.as<WideItem>();
  int64_t found = 0;
  for (int64_t i = 0; i < count && found < left; ++i) {
    const uint64_t key = keys[i];
    items[found] = WideItem(key, i);
    found += prefix.agrees(key);
  }
  if (position >= found) return {prefix.known, 0};
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
