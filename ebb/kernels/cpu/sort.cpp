// ebb/kernels/cpu/sort.cpp -- stable sorts along a dim, the first elements of a sort, the n-th one.
//
// An element becomes an unsigned key of the same order: NaN is the largest, -0 equals 0, and a
// descending sort flips all bits. Keys and indices are sorted together: few of them by comparison,
// many by radix, one byte after the other from the lowest, which is stable. Lines are independent.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "ebb/core/allocator.h"
#include "ebb/core/parallel.h"
#include "ebb/kernels/cpu/convert.h"
#include "ebb/kernels/cpu/loops.h"
#include "ebb/kernels/cpu/reduce_plan.h"
#include "ebb/kernels/cpu/register.h"
#include "ebb/kernels/tables.h"

namespace ebb::kernels::cpu {
namespace {

constexpr int64_t kFew = 256;  // are sorted by comparison

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
KeyOf<T> key_of(T value) {
  using Key = KeyOf<T>;
  constexpr Key kSign = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
  Key bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if constexpr (is_real<T>) {
    const Key size = static_cast<Key>(bits & ~kSign);
    if (size > infinity_bits<T>()) return static_cast<Key>(~Key{0});
    if (size == 0) return kSign;
    return static_cast<Key>((bits & kSign) != 0 ? ~bits : bits | kSign);
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
/// `spare`. Keys have `bytes` bytes.
template <class Item>
Item* sort_by_radix(Item* items, Item* spare, int64_t count, int bytes) {
  std::array<std::array<int64_t, 256>, 8> starts{};
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t key = items[i].key();
    for (int byte = 0; byte < bytes; ++byte)
      ++starts[static_cast<size_t>(byte)][key >> 8 * byte & 255];
  }
  for (int byte = 0; byte < bytes; ++byte) {
    auto& start = starts[static_cast<size_t>(byte)];
    if (start[items[0].key() >> 8 * byte & 255] == count) continue;  // the same in all keys
    int64_t before = 0;
    for (int64_t& each : start) {
      const int64_t size = each;
      each = before;
      before += size;
    }
    for (int64_t i = 0; i < count; ++i) spare[start[items[i].key() >> 8 * byte & 255]++] = items[i];
    std::swap(items, spare);
  }
  return items;
}

/// The first `wanted` items in order.
template <class Item>
const Item* first_in_order(Item* items, Item* spare, int64_t count, int64_t wanted, int bytes) {
  if (wanted < count) {
    if (wanted == 0) return items;
    std::nth_element(items, items + wanted - 1, items + count);
    count = wanted;
    // What nth_element leaves is in no order, not even among equal keys.
    std::sort(items, items + count);
    return items;
  }
  if (count > kFew) return sort_by_radix(items, spare, count, bytes);
  std::sort(items, items + count);
  return items;
}

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

  template <class Item>
  void read(int64_t line, bool descending, Item* items) const {
    const T* const from = in + places.in_offset(line);
    const auto flip = static_cast<KeyOf<T>>(descending ? ~KeyOf<T>{0} : KeyOf<T>{0});
    for (int64_t i = 0; i < count; ++i) {
      items[i] = Item(static_cast<KeyOf<T>>(key_of(from[i * in_stride]) ^ flip), i);
    }
  }
  /// Writes element number `position` of the result: that at `index` of the line.
  void write(int64_t line, int64_t position, int64_t index) const {
    const T* const from = in + places.in_offset(line);
    out[places.out_offset(line) + position * out_stride] = from[index * in_stride];
    indices[index_places.in_offset(line) + position * index_stride] = index;
  }
};

/// Calls body(line, items, spare) for all lines; each buffer has room for one.
template <class Item, class Body>
void for_each_line(int64_t lines, int64_t count, Body body) {
  const int64_t grain = std::max<int64_t>(1, kGrain / 16 / std::max<int64_t>(1, count));
  parallel_for(lines, grain, [&](int64_t begin, int64_t end) {
    const Scratch scratch(2 * static_cast<size_t>(count) * sizeof(Item));
    auto* const items = scratch.as<Item>();
    for (int64_t line = begin; line < end; ++line) body(line, items, items + count);
  });
}

template <class Item, typename T>
void sort_lines(const LineSet<T>& set, bool descending, int64_t wanted) {
  for_each_line<Item>(set.places.count, set.count, [&](int64_t line, Item* items, Item* spare) {
    set.read(line, descending, items);
    const Item* const sorted =
        first_in_order(items, spare, set.count, wanted, static_cast<int>(sizeof(T)));
    for (int64_t i = 0; i < wanted; ++i) set.write(line, i, sorted[i].index());
  });
}

/// Whether key and index of all elements of a line fit into one word.
template <typename T>
bool is_narrow(int64_t count) {
  return sizeof(T) <= 4 && count <= int64_t{1} << 32;
}

template <typename T>
void sort_kernel(const Context&, const TensorView& input, int dim, bool descending,
                 const TensorView& out, const TensorView& indices) {
  if (out.numel == 0) return;
  const LineSet<T> set(input, dim, out, indices);
  const int64_t wanted = out.ndim == 0 ? 1 : out.sizes[dim];
  if (is_narrow<T>(set.count)) return sort_lines<NarrowItem>(set, descending, wanted);
  sort_lines<WideItem>(set, descending, wanted);
}

template <class Item, typename T>
void nth_of_lines(const LineSet<T>& set, int64_t position, bool nan_wins) {
  for_each_line<Item>(set.places.count, set.count, [&](int64_t line, Item* items, Item*) {
    set.read(line, false, items);
    if (is_real<T> && nan_wins) {
      constexpr uint64_t kNaN = static_cast<KeyOf<T>>(~KeyOf<T>{0});
      const auto is_nan = [](const Item& item) { return item.key() == kNaN; };
      const Item* const found = std::find_if(items, items + set.count, is_nan);
      if (found != items + set.count) return set.write(line, 0, found->index());
    }
    std::nth_element(items, items + position, items + set.count);
    set.write(line, 0, items[position].index());
  });
}

template <typename T>
void nth_kernel(const Context&, const TensorView& input, int dim, int64_t position, bool nan_wins,
                const TensorView& out, const TensorView& indices) {
  if (out.numel == 0) return;
  const LineSet<T> set(input, dim, out, indices);
  if (is_narrow<T>(set.count)) return nth_of_lines<NarrowItem>(set, position, nan_wins);
  nth_of_lines<WideItem>(set, position, nan_wins);
}

/// Lines of `sorted` are used again for each line of values, or one for all.
template <typename T>
void search_kernel(const Context&, const TensorView& sorted, const TensorView& values, bool right,
                   const TensorView& out) {
  const int64_t count = sorted.sizes[1], width = values.sizes[1];
  const T* const lines = sorted.as<const T>();
  const T* const wanted = values.as<const T>();
  parallel_for(out.numel, kGrain / 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* const line = lines + i / width * count;
      const auto key = key_of(wanted[i]);
      const auto stays_before = [&](T element) {
        return right ? key_of(element) <= key : key_of(element) < key;
      };
      out.as<int64_t>()[i] = std::partition_point(line, line + count, stays_before) - line;
    }
  });
}

template <typename T>
void set() {
  sort_kernels.set_cpu(dtype_of<T>, &sort_kernel<T>);
  nth_kernels.set_cpu(dtype_of<T>, &nth_kernel<T>);
  search_kernels.set_cpu(dtype_of<T>, &search_kernel<T>);
}

}  // namespace

void fill_sort() {
  set<bool>();
  set<uint8_t>();
  set<int8_t>();
  set<int16_t>();
  set<int32_t>();
  set<int64_t>();
  set<Half>();
  set<BFloat16>();
  set<float>();
  set<double>();
}

}  // namespace ebb::kernels::cpu
