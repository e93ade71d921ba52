// ebb/kernels/cpu/reduce/lines-inl.h -- the lines of a tensor along one dim, as dense rows of
// accumulators.
//
// Lines with strides and half types are copied to scratch memory and back, up to kCopiedLine
// elements, else tile by tile; others are read and written in place. Included once per target (see
// each_target.h).
#if defined(EBB_KERNELS_CPU_LINES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_LINES_INL_H
#undef EBB_KERNELS_CPU_LINES_INL_H
#else
#define EBB_KERNELS_CPU_LINES_INL_H
#endif

#include <algorithm>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/reduce/reduce-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

/// Elements up to which a line is copied as a whole.
inline constexpr int64_t kCopiedLine = 16384;

/// At most kTile elements, `stride` apart, to or from a dense tile of accumulators.
template <typename T>
void read_tile(const void* data, int64_t first, int64_t stride, int64_t count,
               AccumulatorOf<T>* tile) {
  const T* const from = static_cast<const T*>(data) + first * stride;
  if constexpr (is_half_type<T>) {
    T raw[kTile];
    gather_run(from, stride, count, sizeof(T), raw);
    widen(raw, tile, static_cast<size_t>(count));
  } else {
    gather_run(from, stride, count, sizeof(T), tile);
  }
}
template <typename T>
void write_tile(const AccumulatorOf<T>* tile, int64_t first, int64_t stride, int64_t count,
                void* data) {
  T* const to = static_cast<T*>(data) + first * stride;
  if constexpr (is_half_type<T>) {
    T raw[kTile];
    narrow(tile, raw, static_cast<size_t>(count));
    scatter_run(raw, count, sizeof(T), to, stride);
  } else {
    scatter_run(tile, count, sizeof(T), to, stride);
  }
}

/// A line of any type, to be read and written tile by tile as accumulators.
template <typename Acc>
struct LongLine {
  void* data;
  int64_t stride;
  void (*read_tile)(const void*, int64_t, int64_t, int64_t, Acc*);
  void (*write_tile)(const Acc*, int64_t, int64_t, int64_t, void*);

  const Acc* read(int64_t begin, int64_t count, Acc* tile) const {
    read_tile(data, begin, stride, count, tile);
    return tile;
  }
  void write(int64_t begin, int64_t count, const Acc* tile) const {
    write_tile(tile, begin, stride, count, data);
  }
};

/// The lines of a tensor along one dim.
template <typename T>
class Lines {
 public:
  using Acc = AccumulatorOf<T>;

  /// Lines of `view` in the row-major order of its other dims.
  Lines(const TensorView& view, int dim)
      : data_(view.as<T>()),
        count_(view.ndim == 0 ? 1 : view.sizes[dim]),
        stride_(view.ndim == 0 ? 1 : view.strides[dim]) {
    for (int i = 0; i < view.ndim; ++i) {
      if (i != dim && view.sizes[i] != 1) others_.push_back(view.sizes[i], view.strides[i], 0);
    }
  }

  /// Line number `index` as a dense row, there or copied to `row`.
  const Acc* read(int64_t index, Acc* row) const {
    T* from = data_ + others_.in_offset(index);
    if constexpr (!is_half_type<T>) {
      if (stride_ == 1) return from;
    }
    for (int64_t i = 0; i < count_; i += kTile) {
      read_tile<T>(from, i, stride_, std::min(kTile, count_ - i), row + i);
    }
    return row;
  }
  /// Whether lines are copied: read() and start() need rows then.
  bool is_copied() const { return is_half_type<T> || stride_ != 1; }
  /// Line number `index`, if it is too long to be copied at once.
  LongLine<Acc> long_line(int64_t index) const {
    return {data_ + others_.in_offset(index), stride_, &read_tile<T>, &write_tile<T>};
  }
  /// Where to write line number `index`: in place, or to `row` and then finish().
  Acc* start(int64_t index, Acc* row) const {
    if constexpr (is_half_type<T>) {
      return row;
    } else {
      return stride_ == 1 ? data_ + others_.in_offset(index) : row;
    }
  }
  void finish(int64_t index, const Acc* row) const {
    if (!is_copied()) return;
    T* to = data_ + others_.in_offset(index);
    for (int64_t i = 0; i < count_; i += kTile) {
      write_tile<T>(row + i, i, stride_, std::min(kTile, count_ - i), to);
    }
  }

 private:
  T* data_;
  int64_t count_;
  int64_t stride_;
  LoopDims others_;
};

/// Calls body(line, row0, row1, row2) for all lines; the first `rows` have room for one line each.
template <typename Acc, class Body>
void for_each_line(int64_t lines, int64_t count, int rows, Body body) {
  const int64_t grain = std::max<int64_t>(1, kGrain / count);
  const auto row_bytes = (static_cast<size_t>(count) * sizeof(Acc) + 63) / 64 * 64;
  parallel_for(lines, grain, [&](int64_t begin, int64_t end) {
    const Scratch scratch(static_cast<size_t>(rows) * row_bytes);
    const auto row = [&](int number) {
      return number < rows ? scratch.as<Acc>() + number * (row_bytes / sizeof(Acc)) : nullptr;
    };
    Acc *const first = row(0), *const second = row(1), *const third = row(2);
    for (int64_t i = begin; i < end; ++i) body(i, first, second, third);
  });
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
