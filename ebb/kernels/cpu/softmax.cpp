// ebb/kernels/cpu/softmax.cpp -- log_softmax along one dim, and its gradient.
//
// A line along the dim is worked on as a dense row of float32 or float64: lines with strides and
// half types are copied to scratch memory and back. log_softmax(x) = (x - max) - log(sum(exp(x -
// max))) neither overflows nor loses the small differences.
#include <algorithm>
#include <limits>

#include "ebb/core/allocator.h"
#include "ebb/core/parallel.h"
#include "ebb/kernels/cpu/register.h"
#include "ebb/kernels/cpu/simd.h"
#include "ebb/kernels/tables.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ebb/kernels/cpu/softmax.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "ebb/kernels/cpu/math-inl.h"
#include "ebb/kernels/cpu/reduce-inl.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// exp(x - shift).
template <typename T>
struct ShiftedExp {
  T shift;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return exp_of(d, hn::Sub(x, hn::Set(d, shift)));
  }
};
/// (x - shift) - log_sum.
template <typename T>
struct Normalise {
  T shift, log_sum;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Sub(hn::Sub(x, hn::Set(d, shift)), hn::Set(d, log_sum));
  }
};
/// grad_out - exp(out) * sum.
template <typename T>
struct SoftmaxGrad {
  T sum;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad_out, V out) const {
    return hn::NegMulAdd(exp_of(d, out), hn::Set(d, sum), grad_out);
  }
};

/// The elements of a row as exp(x - shift), tile by tile.
template <typename T>
struct ExpElements {
  const T* data;
  T shift;
  HWY_INLINE const T* read(int64_t begin, int64_t count, T* tile) const {
    unary_row(ShiftedExp<T>{shift}, data + begin, tile, static_cast<size_t>(count));
    return tile;
  }
};

template <typename T>
HWY_INLINE T log_scalar(T value) {
  const hn::CappedTag<T, 1> d;
  return hn::GetLane(log_of(d, hn::Set(d, value)));
}

/// A row that fits into one vector, such as the scores of ten classes.
template <typename T>
HWY_INLINE void log_softmax_short_row(const T* in, T* out, size_t count) {
  const hn::ScalableTag<T> d;
  const auto nothing = hn::Set(d, -std::numeric_limits<T>::infinity());
  const auto x = hn::IfThenElse(hn::FirstN(d, count), load_first(d, in, count), nothing);
  // Whatever this gives for a NaN: the sum below is NaN then, and so is all of the row.
  const auto centred = hn::Sub(x, hn::MaxOfLanes(d, x));
  const auto sum = hn::SumOfLanes(d, exp_of(d, centred));
  store_first(hn::Sub(centred, log_of(d, sum)), d, out, count);
}

template <typename T>
void log_softmax_row(const T* in, T* out, int64_t count) {
  if (count < static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()))) {
    return log_softmax_short_row(in, out, static_cast<size_t>(count));
  }
  HWY_ALIGN T tile[kTile];
  const T largest = reduce_all(MaxOp{}, DenseValues<T>{in}, count, tile);
  const T sum = reduce_all(SumOp{}, ExpElements<T>{in, largest}, count, tile);
  unary_row(Normalise<T>{largest, log_scalar(sum)}, in, out, static_cast<size_t>(count));
}

template <typename T>
void log_softmax_backward_row(const T* grad_out, const T* out, T* grad_input, int64_t count) {
  HWY_ALIGN T tile[kTile];
  const T sum = reduce_all(SumOp{}, DenseValues<T>{grad_out}, count, tile);
  binary_row(SoftmaxGrad<T>{sum}, grad_out, out, grad_input, static_cast<size_t>(count), 0);
}

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

/// Calls body(line, row0, row1, row2) for all lines; each row has room for one line.
template <typename Acc, class Body>
void for_each_line(int64_t lines, int64_t count, Body body) {
  const int64_t grain = std::max<int64_t>(1, kGrain / count);
  const auto row_bytes = (static_cast<size_t>(count) * sizeof(Acc) + 63) / 64 * 64;
  parallel_for(lines, grain, [&](int64_t begin, int64_t end) {
    const Scratch scratch(3 * row_bytes);
    auto* rows = scratch.as<char>();
    for (int64_t i = begin; i < end; ++i) {
      body(i, reinterpret_cast<Acc*>(rows), reinterpret_cast<Acc*>(rows + row_bytes),
           reinterpret_cast<Acc*>(rows + 2 * row_bytes));
    }
  });
}

template <typename T>
void log_softmax_kernel(const Context&, const TensorView& input, int dim, const TensorView& out) {
  using Acc = AccumulatorOf<T>;
  if (out.numel == 0) return;
  const int64_t count = out.ndim == 0 ? 1 : out.sizes[dim];
  const Lines<T> from(input, dim), to(out, dim);
  for_each_line<Acc>(out.numel / count, count, [&](int64_t line, Acc* in, Acc* result, Acc*) {
    Acc* place = to.start(line, result);
    log_softmax_row(from.read(line, in), place, count);
    to.finish(line, place);
  });
}

template <typename T>
void log_softmax_backward_kernel(const Context&, const TensorView& grad_out, const TensorView& out,
                                 int dim, const TensorView& grad_input) {
  using Acc = AccumulatorOf<T>;
  if (out.numel == 0) return;
  const int64_t count = out.ndim == 0 ? 1 : out.sizes[dim];
  const Lines<T> grads(grad_out, dim), values(out, dim), to(grad_input, dim);
  for_each_line<Acc>(out.numel / count, count, [&](int64_t line, Acc* grad, Acc* value, Acc* sum) {
    Acc* place = to.start(line, sum);
    log_softmax_backward_row(grads.read(line, grad), values.read(line, value), place, count);
    to.finish(line, place);
  });
}

template <typename T>
void set() {
  log_softmax_kernels.set_cpu(dtype_of<T>, &log_softmax_kernel<T>);
  log_softmax_backward_kernels.set_cpu(dtype_of<T>, &log_softmax_backward_kernel<T>);
}

void fill_tables() {
  set<Half>();
  set<BFloat16>();
  set<float>();
  set<double>();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ebb::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ebb::kernels::cpu {
void fill_softmax(Isa isa) { EBB_CALL_FOR_ISA(isa, fill_tables()); }
}  // namespace ebb::kernels::cpu
#endif
