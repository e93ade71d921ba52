// ebb/kernels/cpu/index/sort.cpp -- stable sorts along a dim, the first elements of a sort, the
// n-th one.
//
// Lines are independent. Items (sort_lines.h) of a short one are sorted at once, a long one is cut
// into buckets (sort_buckets.h); one-byte keys need neither. Where a few elements of many are
// wanted, a pass keeps the first so far; where more are, and the line is long, the last of them is
// looked for first (both in sort_select.h).
#include "ebb/kernels/tables/sort.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/index/sort_buckets.h"
#include "ebb/kernels/cpu/index/sort_lines.h"
#include "ebb/kernels/cpu/index/sort_select.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/tables/nth.h"
#include "ebb/kernels/tables/search.h"

namespace ebb::kernels::cpu {
namespace {

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

/// A line of keys of one byte: where the elements of each key go is counted beforehand.
template <typename T>
void sort_bytes(const LineSet<T>& set, int64_t line, bool descending) {
  const Keys<T> keys = set.keys(line, descending);
  std::array<int64_t, 256> sizes{}, places{};
  for (int64_t i = 0; i < set.count; ++i) ++sizes[keys[i]];
  std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), int64_t{0});
  T* const out = set.line_of_values(line);
  int64_t* const indices = set.line_of_indices(line);
  const int64_t count = set.count, out_stride = set.out_stride, index_stride = set.index_stride;
  for (int64_t i = 0; i < count; ++i) {
    const T value = keys.from[i * keys.stride];
    const int64_t place = places[static_cast<KeyOf<T>>(key_of(value) ^ keys.flip)]++;
    if (place >= count) return;  // another thread has written the keys
    if (out != nullptr) out[place * out_stride] = value;
    indices[place * index_stride] = i;
  }
}

/// Elements whose items are sorted at once, without buckets: as fast, and at most 32 MB.
template <class Item>
constexpr int64_t kAtOnce = sizeof(Item) == 8 ? int64_t{1} << 21 : int64_t{1} << 18;

/// The first elements of a line, or all.
template <class Item, typename T>
void sort_line(const LineSet<T>& set, int64_t line, bool descending, int64_t wanted) {
  const bool is_whole = wanted == set.count;
  const Keys<T> keys = set.keys(line, descending);
  const WideItem last =
      is_whole ? WideItem(~uint64_t{0}, set.count) : nth_item(keys, set.count, wanted - 1, false);
  if (wanted > kAtOnce<Item> && set.count <= int64_t{1} << 32) {
    return BucketSort<T>(set, line, descending, last, wanted).run();
  }
  // Items that fit into the indices of the result are sorted there.
  const bool fits = sizeof(Item) == sizeof(int64_t) && set.index_stride == 1;
  const Scratch scratch((fits ? 1 : 2) * static_cast<size_t>(wanted) * sizeof(Item));
  auto* const spare = scratch.as<Item>();
  auto* const items = fits ? reinterpret_cast<Item*>(set.line_of_indices(line)) : spare + wanted;
  if (is_whole) {
    set.read(line, descending, items);
  } else {
    int64_t found = 0;
    for (int64_t i = 0; i < set.count && found < wanted; ++i) {
      const WideItem item(keys[i], i);
      if (!(last < item)) items[found++] = Item(item.bits, i);
    }
    while (found < wanted) items[found++] = Item(0, 0);  // another thread has written the keys
  }
  const Item* const sorted = first_in_order<sizeof(T)>(items, spare, wanted, wanted);
  set.write_all(line, 0, wanted, [&](int64_t i) { return sorted[i].index(); });
}

constexpr int64_t kMostOfMany = 4096;

/// The first elements of lines of many more.
template <class Item, typename T>
void first_of_many(const LineSet<T>& set, bool descending, int64_t wanted) {
  const int64_t grain = std::max<int64_t>(1, kGrain / 16 / set.count);
  parallel_for(set.places.count, grain, [&](int64_t begin, int64_t end) {
    const Scratch scratch(static_cast<size_t>(room_for_first(wanted)) * sizeof(Item));
    auto* const items = scratch.as<Item>();
    for (int64_t line = begin; line < end; ++line) {
      find_first(set.keys(line, descending), set.count, wanted, items);
      std::sort(items, items + wanted);
      set.write_all(line, 0, wanted, [&](int64_t i) { return items[i].index(); });
    }
  });
}

template <class Item, typename T>
void sort_lines(const LineSet<T>& set, bool descending, int64_t wanted) {
  const bool is_whole = wanted == set.count;
  if (wanted <= kMostOfMany && room_for_first(wanted) <= set.count) {
    return first_of_many<Item>(set, descending, wanted);
  }
  if (set.count > kFew && (is_whole || set.count > kLong)) {
    const int64_t grain = std::max<int64_t>(1, kGrain / 16 / set.count);
    return parallel_for(set.places.count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        if constexpr (sizeof(T) == 1) {
          if (is_whole) {
            sort_bytes(set, line, descending);
            continue;
          }
        }
        sort_line<Item>(set, line, descending, wanted);
      }
    });
  }
  for_each_line<Item>(set.places.count, set.count, [&](int64_t line, Item* items, Item* spare) {
    set.read(line, descending, items);
    const Item* const sorted = first_in_order<sizeof(T)>(items, spare, set.count, wanted);
    set.write_all(line, 0, wanted, [&](int64_t i) { return sorted[i].index(); });
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

template <typename T>
void nth_of_long_lines(const LineSet<T>& set, int64_t position, bool nan_wins) {
  const int64_t grain = std::max<int64_t>(1, kGrain / set.count);
  parallel_for(set.places.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const WideItem found = nth_item(set.keys(line, false), set.count, position, nan_wins);
      set.write(line, 0, found.index());
    }
  });
}

template <class Item, typename T>
void nth_of_lines(const LineSet<T>& set, int64_t position, bool nan_wins) {
  if (set.count > kCompared) return nth_of_long_lines(set, position, nan_wins);
  for_each_line<Item>(set.places.count, set.count, [&](int64_t line, Item* items, Item*) {
    if (is_real<T> && nan_wins) {
      const int64_t found = first_nan(set.keys(line, false), set.count);
      if (found < set.count) return set.write(line, 0, found);
    }
    set.read(line, false, items);
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

/// How many elements of a sorted line, NaN last, stay before a place: the first of them do. Without
/// branches, half of which would be guessed wrong.
template <typename T, class StaysBefore>
int64_t count_before(const T* line, int64_t count, StaysBefore stays_before) {
  int64_t first = 0;
  while (count > 1) {
    const int64_t half = count / 2;
    first += half & -int64_t{stays_before(line[first + half - 1])};
    count -= half;
  }
  return first + (count == 1 && stays_before(line[first]) ? 1 : 0);
}

/// How many elements come before `value`, or are no greater if `right`.
template <bool right, typename T>
int64_t count_below(const T* line, int64_t count, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    // As numbers, which takes less than by their keys, and NaN does not stay before a number.
    if (!std::isnan(value)) {
      return count_before(line, count,
                          [value](T one) { return right ? one <= value : one < value; });
    }
  }
  const auto key = key_of(value);
  return count_before(line, count,
                      [key](T one) { return right ? key_of(one) <= key : key_of(one) < key; });
}

/// Lines of `sorted` are used again for each line of values, or one for all.
template <typename T>
void search_kernel(const Context&, const TensorView& sorted, const TensorView& values, bool right,
                   const TensorView& out) {
  const int64_t count = sorted.sizes[1], width = values.sizes[1];
  const T* const lines = sorted.as<const T>();
  const T* const wanted = values.as<const T>();
  auto* const places = out.as<int64_t>();
  parallel_for(out.numel, kGrain / 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const T* const line = lines + i / width * count;
      const int64_t last = std::min(end, (i / width + 1) * width);
      for (; i < last; ++i) {
        places[i] = right ? count_below<true>(line, count, wanted[i])
                          : count_below<false>(line, count, wanted[i]);
      }
    }
  });
}

template <typename... T>
void set() {
  (sort_kernels.set_cpu(dtype_of<T>, &sort_kernel<T>), ...);
  (nth_kernels.set_cpu(dtype_of<T>, &nth_kernel<T>), ...);
  (search_kernels.set_cpu(dtype_of<T>, &search_kernel<T>), ...);
}

}  // namespace

void fill_sort() {
  set<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float, double>();
}

}  // namespace ebb::kernels::cpu
