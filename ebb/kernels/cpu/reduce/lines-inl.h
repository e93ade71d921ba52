// ebb/kernels/cpu/reduce/lines-inl.h -- the lines of a tensor along one dim, as dense rows of
// accumulators.
//
// Lines with strides and half types are copied to scratch memory and back; others are read and
// written in place. Included once per target (see each_target.h).
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
    if constexpr (is_half_type<T>) {
      T raw[kTile];
      for (int64_t i = 0; i < count_; i += kTile) {
        const int64_t part = std::min(kTile, count_ - i);
        gather_run(from + i * stride_, stride_, part, sizeof(T), raw);
        widen(raw, row + i, static_cast<size_t>(part));
      }
      return row;
    } else {
      if (stride_ == 1) return from;
      gather_run(from, stride_, count_, sizeof(T), row);
      return row;
    }
  }
  /// Whether lines are copied: read() and start() need rows then.
  bool is_copied() const { return is_half_type<T> || stride_ != 1; }
  /// Where to write line number `index`: in place, or to `row` and then finish().
  Acc* start(int64_t index, Acc* row) const {
    if constexpr (is_half_type<T>) {
      return row;
    } else {
      return stride_ == 1 ? data_ + others_.in_offset(index) : row;
    }
  }
  void finish(int64_t index, const Acc* row) const {
    T* to = data_ + others_.in_offset(index);
    if constexpr (is_half_type<T>) {
      T raw[kTile];
      for (int64_t i = 0; i < count_; i += kTile) {
        const int64_t part = std::min(kTile, count_ - i);
        narrow(row + i, raw, static_cast<size_t>(part));
        scatter_run(raw, part, sizeof(T), to + i * stride_, stride_);
      }
    } else if (stride_ != 1) {
      scatter_run(row, count_, sizeof(T), to, stride_);
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
