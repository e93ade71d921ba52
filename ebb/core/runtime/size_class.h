// ebb/core/runtime/size_class.h -- which class of block serves a request, and how large its blocks
// are.
#pragma once

#include <bit>
#include <cstddef>

#include "ebb/core/runtime/block_cache.h"

namespace ebb::detail {

/// Four classes per doubling: the bytes of class `index` above the small ones.
constexpr size_t medium_bytes(int index) {
  const size_t base = kSmallLimit << (index / 4);
  return base + base / 4 * static_cast<size_t>(index % 4 + 1);
}

/// The class of a request of at most kCachedLimit bytes.
constexpr int class_of(size_t bytes) {
  if (bytes <= kSmallLimit) return bytes == 0 ? 0 : static_cast<int>(small_class(bytes));
  const int doubling = std::bit_width((bytes - 1) / kSmallLimit) - 1;
  const size_t base = kSmallLimit << doubling;
  const auto quarter = static_cast<int>((bytes - 1 - base) / (base / 4));
  return kSmallClasses + doubling * 4 + quarter;
}

constexpr size_t class_bytes(int index) {
  if (index < kSmallClasses) return (static_cast<size_t>(index) + 1) * kSmallStep;
  return medium_bytes(index - kSmallClasses);
}

/// Free blocks that one thread keeps of a class, and half of which it trades with the central list.
constexpr size_t stack_capacity(int index) {
  const size_t by_memory = (size_t{256} << 10) / class_bytes(index);
  return by_memory > 256 ? 256 : (by_memory < 4 ? 4 : by_memory & ~size_t{1});
}

/// Requests above kCachedLimit: rounded up so that at most an eighth is wasted, whole pages.
constexpr size_t large_bytes(size_t bytes) {
  const size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

static_assert(class_of(1024) == 63 && class_of(1025) == 64 && class_of(1280) == 64);
static_assert(class_of(kCachedLimit) == kClasses - 1 && class_bytes(kClasses - 1) == kCachedLimit);

}  // namespace ebb::detail
