// ebb/kernels/cpu/index/sort_lines.h -- keys in the order of values, items of key and index, and
// lines.
//
// An element becomes an unsigned key of the same order: NaN is the largest, -0 equals 0, and a
// descending sort flips all bits. Keys and indices are sorted together: few of them by comparison,
// many by radix, one byte or 11 bits after the other from the lowest, which is stable.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "ebb/kernels/cpu/reduce/reduce_plan.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels::cpu {

inline constexpr int64_t kFew = 256;  // are sorted by comparison

template <size_t bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using type = uint8_t;
};
template <>
struct UnsignedOf<2> {
  using type = uint16_t;
};
template <>
struct UnsignedOf<4> {
  using type = uint32_t;
};
template <>
struct UnsignedOf<8> {
  using type = uint64_t;
};
template <typename T>
using KeyOf = typename UnsignedOf<sizeof(T)>::type;

/// The bits of an infinity: everything above, without the sign, is NaN.
template <typename T>
constexpr KeyOf<T> infinity_bits() {
  if constexpr (std::is_same_v<T, Half>) return 0x7c00;
  if constexpr (std::is_same_v<T, BFloat16>) return 0x7f80;
  if constexpr (std::is_same_v<T, float>) return 0x7f800000u;
  if constexpr (std::is_same_v<T, double>) return 0x7ff0000000000000u;
  return 0;
}

template <typename T>
inline constexpr bool is_real = std::is_floating_point_v<T> || is_half_number<T>;

/// A key in the order of the values.
template <typename T>
[[gnu::always_inline]] inline KeyOf<T> key_of(T value) {
  using Key = KeyOf<T>;
  constexpr Key kSign = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
  Key bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if constexpr (is_real<T>) {  // without branches: signs and zeros come in any order
    using Signed = std::make_signed_t<Key>;
    const Key negative = static_cast<Key>(static_cast<Signed>(bits) >> (8 * sizeof(Key) - 1));
    // -0 comes next to 0, and is made equal.
    const Key turned = static_cast<Key>((bits ^ (negative | kSign)) + Key{bits == kSign});
    const bool is_nan = static_cast<Key>(bits & ~kSign) > infinity_bits<T>();
    return static_cast<Key>(turned | static_cast<Key>(-Key{is_nan}));
  } else {
    return std::is_signed_v<T> ? static_cast<Key>(bits ^ kSign) : bits;
  }
}

/// Key and index in one word, for keys of at most 32 bits.
struct NarrowItem {
  uint64_t word;

  NarrowItem() = default;
  NarrowItem(uint64_t key, int64_t index) : word(key << 32 | static_cast<uint64_t>(index)) {}
  uint64_t key() const { return word >> 32; }
  int64_t index() const { return static_cast<int64_t>(word & 0xffffffffu); }
  bool operator<(const NarrowItem& other) const { return word < other.word; }
};
struct WideItem {
  uint64_t bits;
  int64_t place;

  WideItem() = default;
  WideItem(uint64_t key, int64_t index) : bits(key), place(index) {}
  uint64_t key() const { return bits; }
  int64_t index() const { return place; }
  bool operator<(const WideItem& other) const {
    return bits < other.bits || (bits == other.bits && place < other.place);
  }
};

/// Sorts by key, keeping the order of equal ones, and returns where the result is: `items` or
/// `spare`. Keys have `digits` digits of `bits` bits.
template <int bits, int digits, class Item>
Item* sort_by_radix(Item* items, Item* spare, int64_t count) {
  constexpr size_t kDigits = size_t{1} << bits;
  std::array<std::array<int64_t, kDigits>, digits> starts{};
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t key = items[i].key();
    for (int digit = 0; digit < digits; ++digit) {
      ++starts[static_cast<size_t>(digit)][(key >> bits * digit) % kDigits];
    }
  }
  for (int digit = 0; digit < digits; ++digit) {
    auto& start = starts[static_cast<size_t>(digit)];
    const auto digit_of = [&](const Item& item) { return (item.key() >> bits * digit) % kDigits; };
    if (start[digit_of(items[0])] == count) continue;  // the same in all keys
    std::exclusive_scan(start.begin(), start.end(), start.begin(), int64_t{0});
    for (int64_t i = 0; i < count; ++i) spare[start[digit_of(items[i])]++] = items[i];
    std::swap(items, spare);
  }
  return items;
}

/// The first `wanted` items in order.
template <int bytes, class Item>
Item* first_in_order(Item* items, Item* spare, int64_t count, int64_t wanted) {
  if (wanted < count) {
    if (wanted == 0) return items;
    std::nth_element(items, items + wanted - 1, items + count);
    count = wanted;
    // What nth_element leaves is in no order, not even among equal keys.
    std::sort(items, items + count);
    return items;
  }
  // Longer digits pay where their counters are few beside the items, and these fit into caches.
  const bool pays = count > 16384 && count <= int64_t{1} << 19;
  if (bytes == 4 && pays) return sort_by_radix<11, 3>(items, spare, count);
  if (count > kFew) return sort_by_radix<8, bytes>(items, spare, count);
  std::sort(items, items + count);
  return items;
}

/// The keys of a line, made when they are asked for.
template <typename T>
struct Keys {
  const T* from;
  int64_t stride;
  KeyOf<T> flip;

  [[gnu::always_inline]] KeyOf<T> operator[](int64_t i) const {
    return static_cast<KeyOf<T>>(key_of(from[i * stride]) ^ flip);
  }
};

/// The lines of three tensors along one dim.
template <typename T>
struct LineSet {
  const T* in;
  T* out;
  int64_t* indices;
  int64_t count = 1;  // elements of a line of `in`
  int64_t in_stride = 1, out_stride = 1, index_stride = 1;
  LoopDims places;        // of in and out
  LoopDims index_places;  // of indices, as in_strides

  LineSet(const TensorView& input, int dim, const TensorView& result, const TensorView& index)
      : in(input.as<const T>()), out(result.as<T>()), indices(index.as<int64_t>()) {
    for (int i = 0; i < input.ndim; ++i) {
      if (i == dim) {
        count = input.sizes[i];
        in_stride = input.strides[i];
        out_stride = result.strides[i];
        index_stride = index.strides[i];
      } else {
        places.push_back(input.sizes[i], input.strides[i], result.strides[i]);
        index_places.push_back(input.sizes[i], index.strides[i], 0);
      }
    }
  }

  /// The keys of a line of `in`.
  Keys<T> keys(int64_t line, bool descending) const {
    return {in + places.in_offset(line), in_stride,
            static_cast<KeyOf<T>>(descending ? ~KeyOf<T>{0} : KeyOf<T>{0})};
  }
  template <class Item>
  void read(int64_t line, bool descending, Item* items) const {
    const Keys<T> from = keys(line, descending);
    for (int64_t i = 0; i < count; ++i) items[i] = Item(from[i], i);
  }
  int64_t* line_of_indices(int64_t line) const { return indices + index_places.in_offset(line); }
  /// The line of the values of the result, null if they are not wanted.
  T* line_of_values(int64_t line) const {
    return out == nullptr ? nullptr : out + places.out_offset(line);
  }
  /// Writes elements of the result from position `begin` on: index_of(i) tells of which.
  template <class IndexOf>
  void write_all(int64_t line, int64_t begin, int64_t end, IndexOf index_of) const {
    const T* const from = in + places.in_offset(line);
    T* const to = line_of_values(line);
    int64_t* const places_to = line_of_indices(line);
    const int64_t step = in_stride, out_step = out_stride, index_step = index_stride;
    if (to == nullptr) {
      for (int64_t i = begin; i < end; ++i) places_to[i * index_step] = index_of(i - begin);
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t index = index_of(i - begin);
      places_to[i * index_step] = index;
      to[i * out_step] = from[index * step];
    }
  }
  /// Writes element number `position` of the result: that at `index` of the line.
  void write(int64_t line, int64_t position, int64_t index) const {
    const T* const from = in + places.in_offset(line);
    out[places.out_offset(line) + position * out_stride] = from[index * in_stride];
    indices[index_places.in_offset(line) + position * index_stride] = index;
  }
};

}  // namespace ebb::kernels::cpu
