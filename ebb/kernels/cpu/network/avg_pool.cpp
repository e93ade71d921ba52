// ebb/kernels/cpu/network/avg_pool.cpp -- means of windows, and their gradient.
//
// A window's rows are added up first, for a whole row of the plane at once, and then its columns,
// for a row of windows at once; the gradient goes the same way back. The compiler vectorises these
// loops (-O3). Half types add up in float32. One plane is worked on by one thread.
#include "ebb/kernels/tables/avg_pool.h"

#include <algorithm>
#include <cstring>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/tables/avg_pool_backward.h"

namespace ebb::kernels::cpu {
namespace {

template <typename T>
using SumOf = std::conditional_t<is_half_number<T>, float, T>;

// Windows of at most so many elements are added up tap by tap, a row of windows at a time.
constexpr int64_t kMostTaps = 64;

template <typename T>
void add_row(SumOf<T>* sums, const T* row, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sums[i] += convert<SumOf<T>>(row[i]);
}

/// The sum of `count` elements, in eight lanes that are added up last.
template <typename T>
SumOf<T> sum_run(const T* data, int64_t count) {
  constexpr int64_t kLanes = 8;
  SumOf<T> lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) add_row(lanes, data + i, kLanes);
  add_row(lanes, data + i, count - i);
  SumOf<T> sum{0};
  for (const SumOf<T> lane : lanes) sum += lane;
  return sum;
}

/// Goes between a row of the plane and the row of windows over it.
template <typename Sum>
class AcrossColumns {
 public:
  AcrossColumns(const PoolAxis& axis, int64_t width) : axis_(axis), width_(width) {}

  int64_t count() const { return static_cast<int64_t>(axis_.windows.size()); }
  void fill_counts(Sum* counts) const {
    for (int64_t i = 0; i < count(); ++i) counts[i] = static_cast<Sum>(window(i).count);
  }
  /// The sum of each window of `row`.
  void gather(const Sum* row, Sum* sums) const {
    std::fill_n(sums, count(), Sum{0});
    if (is_even()) {
      for_each_tap([&](int64_t first, int64_t last, int64_t at, int64_t stride) {
        for (int64_t i = first; i < last; ++i) sums[i] += row[at + i * stride];
      });
      return;
    }
    for (int64_t i = 0; i < count(); ++i) {
      for (int64_t j = 0; j < window(i).size; ++j) sums[i] += row[window(i).begin + j];
    }
  }
  /// Adds the share of each window to all of its elements.
  void scatter(const Sum* shares, Sum* row) const {
    std::fill_n(row, width_, Sum{0});
    if (is_even()) {
      for_each_tap([&](int64_t first, int64_t last, int64_t at, int64_t stride) {
        for (int64_t i = first; i < last; ++i) row[at + i * stride] += shares[i];
      });
      return;
    }
    for (int64_t i = 0; i < count(); ++i) {
      for (int64_t j = 0; j < window(i).size; ++j) row[window(i).begin + j] += shares[i];
    }
  }

 private:
  const PoolWindow& window(int64_t i) const { return axis_.windows[static_cast<size_t>(i)]; }
  bool is_even() const { return axis_.stride > 0 && axis_.kernel <= kMostTaps; }

  /// Calls body for each tap with the windows [first, last) that have it in the row: window i at
  /// `at` + i * stride. Stride 1 is passed as a constant, for the compiler.
  template <typename Body>
  void for_each_tap(Body body) const {
    const int64_t stride = axis_.stride;
    for (int64_t tap = 0; tap < axis_.kernel; ++tap) {
      const int64_t at = tap - axis_.padding, room = width_ - 1 - at;
      const int64_t first = at >= 0 ? 0 : (-at + stride - 1) / stride;
      const int64_t last = room < 0 ? 0 : std::min(count(), room / stride + 1);
      stride == 1 ? body(first, last, at, 1) : body(first, last, at, stride);
    }
  }

  const PoolAxis& axis_;
  int64_t width_;
};

/// Calls body(plane, scratch) for each plane, with room for `count` numbers.
template <typename Sum, typename Body>
void for_each_plane(int64_t planes, int64_t work, int64_t count, Body body) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work));
  parallel_for(planes, grain, [&](int64_t begin, int64_t end) {
    const Scratch scratch(static_cast<size_t>(count) * sizeof(Sum));
    for (int64_t plane = begin; plane < end; ++plane) body(plane, scratch.as<Sum>());
  });
}

template <typename T>
void avg_pool_kernel(const Context&, const PoolAxis& rows, const PoolAxis& columns,
                     const TensorView& input, const TensorView& out) {
  using Sum = SumOf<T>;
  const int64_t width = input.sizes[2], size = input.sizes[1] * width;
  const int64_t count = out.sizes[2], places = out.sizes[1] * count;
  const AcrossColumns<Sum> across(columns, width);
  const bool takes_whole_rows = count == 1 && columns.windows[0].size == width;
  for_each_plane<Sum>(input.sizes[0], std::max(places, size), width + 2 * count,
                      [&](int64_t plane, Sum* row) {
                        Sum* const counts = row + width;
                        Sum* const sums = counts + count;
                        across.fill_counts(counts);
                        const T* const from = input.as<const T>() + plane * size;
                        T* to = out.as<T>() + plane * places;
                        for (const PoolWindow& down : rows.windows) {
                          if (takes_whole_rows) {
                            sums[0] = sum_run(from + down.begin * width, down.size * width);
                          } else {
                            std::fill_n(row, width, Sum{0});
                            for (int64_t i = 0; i < down.size; ++i)
                              add_row(row, from + (down.begin + i) * width, width);
                            across.gather(row, sums);
                          }
                          const auto factor = static_cast<Sum>(down.count);
                          for (int64_t i = 0; i < count; ++i)
                            *to++ = convert<T>(sums[i] / (factor * counts[i]));
                        }
                      });
}

template <typename T>
void avg_pool_backward_kernel(const Context&, const PoolAxis& rows, const PoolAxis& columns,
                              const TensorView& grad, const TensorView& grad_input) {
  using Sum = SumOf<T>;
  const int64_t width = grad_input.sizes[2], size = grad_input.sizes[1] * width;
  const int64_t count = grad.sizes[2], places = grad.sizes[1] * count;
  const AcrossColumns<Sum> across(columns, width);
  // Behind the rows: the sums of a plane, for half types.
  const int64_t room = width + 2 * count + (is_half_number<T> ? size : 0);
  for_each_plane<Sum>(grad.sizes[0], std::max(places, size), room, [&](int64_t plane, Sum* row) {
    Sum* const counts = row + width;
    Sum* const shares = counts + count;
    across.fill_counts(counts);
    T* const target = grad_input.as<T>() + plane * size;
    Sum* to = shares + count;
    if constexpr (!is_half_number<T>) to = target;
    std::fill_n(to, size, Sum{0});
    const T* from = grad.as<const T>() + plane * places;
    for (const PoolWindow& down : rows.windows) {
      const auto factor = static_cast<Sum>(down.count);
      for (int64_t i = 0; i < count; ++i) {
        shares[i] = convert<Sum>(*from++) / (factor * counts[i]);
      }
      across.scatter(shares, row);
      for (int64_t i = 0; i < down.size; ++i) add_row(to + (down.begin + i) * width, row, width);
    }
    if constexpr (is_half_number<T>) {
      for (int64_t i = 0; i < size; ++i) target[i] = convert<T>(to[i]);
    }
  });
}

template <typename... T>
void set() {
  (avg_pool_kernels.set_cpu(dtype_of<T>, &avg_pool_kernel<T>), ...);
  (avg_pool_backward_kernels.set_cpu(dtype_of<T>, &avg_pool_backward_kernel<T>), ...);
}

}  // namespace

void fill_avg_pool() { set<Half, BFloat16, float, double>(); }

}  // namespace ebb::kernels::cpu
