// ebb/kernels/cpu/network/max_pool.cpp -- the largest element of each window and where it is.
//
// First the largest of a window's rows is found for every column of the plane, as a row of values
// and one of places; then, window by window, the largest of that row. Rows have room on both sides,
// filled with elements that never win, so that windows with stride 1 or 2 need no clipping and are
// searched a vector at a time. Small windows without padding are searched in place, element by
// element. Equal elements: the one at the smaller place wins.
#include "ebb/kernels/tables/max_pool.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/checked_index.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "ebb/kernels/tables/max_pool_backward.h"
#include "ebb/kernels/tables/max_pool_places.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

template <typename T>
using ValueOf = std::conditional_t<is_half_type<T>, float, T>;
template <typename T>
using PlaceOf = hwy::MakeSigned<ValueOf<T>>;

/// The best elements so far, one per lane.
template <class D>
struct Best {
  using Value = hn::Vec<D>;
  using Place = hn::Vec<hn::RebindToSigned<D>>;
  Value value;
  Place place;

  /// Offers candidates that come later than what is there, so that equal ones lose.
  HWY_INLINE void offer_later(D, Value other, Place at) {
    take(hn::Or(hn::Gt(other, value), hn::AndNot(hn::IsNaN(value), hn::IsNaN(other))), other, at);
  }
  /// Offers candidates from anywhere.
  HWY_INLINE void offer(D d, Value other, Place at) {
    const auto is_first = hn::RebindMask(d, hn::Lt(at, place));
    const auto is_nan = hn::IsNaN(other), was_nan = hn::IsNaN(value);
    const auto wins = hn::Or(hn::Gt(other, value), hn::And(hn::Eq(other, value), is_first));
    take(hn::Or(hn::AndNot(was_nan, hn::Or(wins, is_nan)),
                hn::And(hn::And(is_nan, was_nan), is_first)),
         other, at);
  }

 private:
  HWY_INLINE void take(hn::Mask<D> better, Value other, Place at) {
    value = hn::IfThenElse(better, other, value);
    place = hn::IfThenElse(hn::RebindMask(hn::RebindToSigned<D>(), better), at, place);
  }
};

/// Pools the planes of one tensor.
template <typename T>
class MaxPool {
 public:
  using Value = ValueOf<T>;
  using Place = PlaceOf<T>;

  MaxPool(const PoolAxis& rows, const PoolAxis& columns, const TensorView& input,
          const TensorView& values, const TensorView& indices)
      : rows_(rows),
        columns_(columns),
        width_(input.sizes[2]),
        size_(input.sizes[1] * width_),
        numel_(input.numel),
        count_(static_cast<int64_t>(columns.windows.size())),
        input_(input.as<const T>()),
        values_(values.as<T>()),
        indices_(indices.as<int32_t>()) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
    const int64_t step = columns.windows[0].step;
    // Longer windows are better clipped: the room for them would have no bound.
    is_even_ = (columns.stride == 1 || columns.stride == 2) && columns.kernel <= 16 && step <= 64;
    is_small_ = is_even_ && columns.padding == 0 && columns.kernel * rows.kernel <= 9 &&
                std::all_of(columns.windows.begin(), columns.windows.end(),
                            [&](const PoolWindow& one) { return one.size == columns.kernel; });
    front_ = is_even_ ? columns.padding : 0;
    const int64_t last = (count_ + lanes) * columns.stride + columns.kernel * step;
    row_size_ = std::max(front_ + width_, is_even_ ? last : 0) + 2 * lanes;
  }

  void run(int64_t planes) const {
    const int64_t grain = std::max<int64_t>(1, kGrain / size_);
    const size_t bytes = static_cast<size_t>(row_size_) * (2 * sizeof(Value) + 2 * sizeof(Place));
    parallel_for(planes, grain, [&](int64_t begin, int64_t end) {
      const Scratch scratch(bytes);
      auto* const values = scratch.as<Value>();
      auto* const places = reinterpret_cast<Place*>(values + row_size_);
      auto* const wide = reinterpret_cast<Value*>(places + row_size_);
      std::fill_n(values, row_size_, -std::numeric_limits<Value>::infinity());
      std::fill_n(places, row_size_, std::numeric_limits<Place>::max());
      for (int64_t plane = begin; plane < end; ++plane) run_plane(plane, values, places, wide);
    });
  }

 private:
  using D = hn::ScalableTag<Value>;

  void run_plane(int64_t plane, Value* values, Place* places, Value* wide) const {
    const T* const from = input_ + plane * size_;
    int64_t out = plane * static_cast<int64_t>(rows_.windows.size()) * count_;
    for (const PoolWindow& down : rows_.windows) {
      if constexpr (!is_half_type<T>) {
        if (can_search_in_place(from, down)) {
          search_in_place(from, down, out);
          out += count_;
          continue;
        }
      }
      for (int64_t i = 0; i < down.size; ++i) {
        const int64_t row = (down.begin + i * down.step) * width_;
        search_row(dense_row(from + row, wide), row, i == 0, values + front_, places + front_);
      }
      is_even_ ? search_even(values, places, out) : search_windows(values, places, out);
      out += count_;
    }
  }
  const Value* dense_row(const T* row, Value* wide) const {
    if constexpr (is_half_type<T>) {
      widen(row, wide, static_cast<size_t>(width_));
      return wide;
    } else {
      return row;
    }
  }

  /// Whether reading whole vectors of a window's elements stays inside of the input.
  bool can_search_in_place(const T* plane, const PoolWindow& down) const {
    if (!is_small_ || down.size == 0) return false;
    const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
    const int64_t row = down.begin + (down.size - 1) * down.step;
    const int64_t column = (columns_.kernel - 1) * columns_.windows[0].step;
    const int64_t vectors = (count_ + lanes - 1) / lanes * lanes * columns_.stride;
    return plane - input_ + row * width_ + column + vectors <= numel_;
  }
  /// A vector of windows at a time, straight from the plane. Places rise from element to element.
  HWY_INLINE void search_in_place(const Value* plane, const PoolWindow& down, int64_t out) const {
    const D d;
    const hn::RebindToSigned<D> di;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const int64_t step = columns_.windows[0].step, stride = columns_.stride;
    const auto along = stride == 2 ? hn::ShiftLeft<1>(hn::Iota(di, 0)) : hn::Iota(di, 0);
    for (int64_t i = 0; i < count_; i += lanes) {
      const int64_t first = down.begin * width_ + i * stride;
      Best<D> best{load_every(plane + first), hn::Add(along, hn::Set(di, Place(first)))};
      for (int64_t row = 0; row < down.size; ++row) {
        for (int64_t tap = row == 0 ? 1 : 0; tap < columns_.kernel; ++tap) {
          const int64_t at = first + row * down.step * width_ + tap * step;
          best.offer_later(d, load_every(plane + at), hn::Add(along, hn::Set(di, Place(at))));
        }
      }
      write(best, out + i, std::min(lanes, count_ - i));
    }
  }
  /// A vector of elements, the stride apart.
  HWY_INLINE hn::Vec<D> load_every(const Value* from) const {
    const D d;
    if (columns_.stride == 1) return hn::LoadU(d, from);
    hn::Vec<D> even, odd;
    hn::LoadInterleaved2(d, from, even, odd);
    return even;
  }

  /// Column by column: a row's elements, whose first is at place `start`, against the best so far.
  HWY_INLINE void search_row(const Value* row, int64_t start, bool is_first, Value* values,
                             Place* places) const {
    const D d;
    const hn::RebindToSigned<D> di;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (int64_t i = 0; i < width_; i += lanes) {
      const auto left = static_cast<size_t>(width_ - i);
      const bool is_whole = left >= static_cast<size_t>(lanes);
      const auto value = is_whole ? hn::LoadU(d, row + i) : load_first(d, row + i, left);
      const auto place = hn::Iota(di, static_cast<Place>(start + i));
      Best<D> best{value, place};
      if (!is_first) {
        best = {hn::LoadU(d, values + i), hn::LoadU(di, places + i)};
        best.offer_later(d, value, place);
      }
      if (is_whole) {
        hn::StoreU(best.value, d, values + i);
        hn::StoreU(best.place, di, places + i);
      } else {
        store_first(best.value, d, values + i, left);
        store_first(best.place, di, places + i, left);
      }
    }
  }

  /// Windows with stride 1 or 2, a vector of them at a time.
  HWY_INLINE void search_even(const Value* values, const Place* places, int64_t out) const {
    const D d;
    const hn::RebindToSigned<D> di;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const int64_t step = columns_.windows[0].step;
    for (int64_t i = 0; i < count_; i += lanes) {
      Best<D> best{hn::Set(d, -std::numeric_limits<Value>::infinity()),
                   hn::Set(di, std::numeric_limits<Place>::max())};
      for (int64_t tap = 0; tap < columns_.kernel; ++tap) {
        const int64_t at = i * columns_.stride + tap * step;
        auto value = hn::LoadU(d, values + at);
        auto place = hn::LoadU(di, places + at);
        if (columns_.stride == 2) {
          auto odd_value = value;
          auto odd_place = place;
          hn::LoadInterleaved2(d, values + at, value, odd_value);
          hn::LoadInterleaved2(di, places + at, place, odd_place);
        }
        best.offer(d, value, place);
      }
      write(best, out + i, std::min(lanes, count_ - i));
    }
  }
  HWY_INLINE void write(const Best<D>& best, int64_t out, int64_t count) const {
    const D d;
    const hn::RebindToSigned<D> di;
    if constexpr (std::is_same_v<T, float>) {
      if (static_cast<size_t>(count) == hn::Lanes(d)) {
        hn::StoreU(best.value, d, values_ + out);
        hn::StoreU(best.place, di, indices_ + out);
      } else {
        store_first(best.value, d, values_ + out, static_cast<size_t>(count));
        store_first(best.place, di, indices_ + out, static_cast<size_t>(count));
      }
    } else {
      HWY_ALIGN Value value[HWY_MAX_BYTES / sizeof(Value)];
      HWY_ALIGN Place place[HWY_MAX_BYTES / sizeof(Value)];
      hn::Store(best.value, d, value);
      hn::Store(best.place, di, place);
      for (int64_t i = 0; i < count; ++i) write_one(value[i], place[i], out + i);
    }
  }
  void write_one(Value value, Place place, int64_t out) const {
    values_[out] = static_cast<T>(value);
    indices_[out] = static_cast<int32_t>(place);
  }

  /// Windows of any kind.
  void search_windows(const Value* values, const Place* places, int64_t out) const {
    for (const PoolWindow& across : columns_.windows) {
      Value best = values[across.begin];
      Place place = places[across.begin];
      for (int64_t i = 1; i < across.size; ++i) {
        const Value value = values[across.begin + i * across.step];
        const Place at = places[across.begin + i * across.step];
        const bool is_nan = value != value, was_nan = best != best;
        const bool ties = value == best || (is_nan && was_nan);
        if (ties ? at < place : !was_nan && (is_nan || value > best)) {
          best = value;
          place = at;
        }
      }
      write_one(best, place, out++);
    }
  }

  const PoolAxis& rows_;
  const PoolAxis& columns_;
  int64_t width_, size_, numel_, count_;
  const T* input_;
  T* values_;
  int32_t* indices_;
  bool is_even_, is_small_;
  int64_t front_, row_size_;
};

template <typename T>
void max_pool_kernel(const Context&, const PoolAxis& rows, const PoolAxis& columns,
                     const TensorView& input, const TensorView& values, const TensorView& indices) {
  MaxPool<T>(rows, columns, input, values, indices).run(input.sizes[0]);
}

/// Adds gradients to the places that they came from; false if one lies outside.
template <typename T, typename Sum>
bool scatter_plane(const T* grad, const int32_t* places, int64_t count, Sum* target, int64_t size) {
  bool is_inside = true;
  for (int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<uint32_t>(read_once(places + i));
    if (static_cast<int64_t>(place) >= size) {
      is_inside = false;
      continue;
    }
    target[place] += static_cast<Sum>(grad[i]);
  }
  return is_inside;
}

template <typename T>
bool max_pool_backward_kernel(const Context&, const TensorView& grad, const TensorView& indices,
                              const TensorView& grad_input) {
  using Sum = ValueOf<T>;
  const int64_t size = grad_input.sizes[1] * grad_input.sizes[2];
  const int64_t count = grad.sizes[1] * grad.sizes[2];
  const int64_t grain = std::max<int64_t>(1, kGrain / size);
  std::atomic<bool> is_inside{true};
  parallel_for(grad.sizes[0], grain, [&](int64_t begin, int64_t end) {
    const Scratch sums(is_half_type<T> ? static_cast<size_t>(size) * sizeof(Sum) : 64);
    for (int64_t plane = begin; plane < end; ++plane) {
      T* const target = grad_input.as<T>() + plane * size;
      Sum* to = sums.as<Sum>();
      if constexpr (!is_half_type<T>) to = target;
      std::fill_n(to, size, Sum{0});
      const bool is_good =
          scatter_plane(grad.as<const T>() + plane * count,
                        indices.as<const int32_t>() + plane * count, count, to, size);
      if (!is_good) is_inside.store(false, std::memory_order_relaxed);
      if constexpr (is_half_type<T>) narrow(to, target, static_cast<size_t>(size));
    }
  });
  return is_inside.load(std::memory_order_relaxed);
}

void max_pool_places_kernel(const Context&, int64_t slice, const TensorView& in_slice,
                            const TensorView& found) {
  const int64_t count = found.sizes[2], winners = found.sizes[1] * count;
  const int64_t places = in_slice.sizes[1] * count;
  auto* const to = found.as<int32_t>();
  parallel_for(found.sizes[0], std::max<int64_t>(1, kGrain / std::max<int64_t>(1, winners)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin * winners; i < end * winners; ++i) {
                   const int32_t* const from = in_slice.as<int32_t>() + i / winners * places;
                   to[i] = static_cast<int32_t>(to[i] / count * slice + from[to[i]]);
                 }
               });
}

template <typename... T>
void set() {
  (max_pool_kernels.set_cpu(dtype_of<T>, &max_pool_kernel<T>), ...);
  (max_pool_backward_kernels.set_cpu(dtype_of<T>, &max_pool_backward_kernel<T>), ...);
  (max_pool_places_kernels.set_cpu(dtype_of<T>, &max_pool_places_kernel), ...);
}

}  // namespace

void fill_max_pool() { set<Half, BFloat16, float, double>(); }

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
