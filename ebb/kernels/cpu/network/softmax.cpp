// ebb/kernels/cpu/network/softmax.cpp -- softmax, log_softmax, logsumexp along one dim, and
// gradients.
//
// log_softmax(x) = (x - max) - log(sum(exp(x - max))) neither overflows nor loses the small
// differences. A line along the dim is worked on as a dense row of float32 or float64, and one of
// at most four vectors (eight where that pays) never leaves the registers. Where lines lie side by
// side in memory, as along the channels of images, blocks of them are worked on together, row by
// row (softmax_columns-inl.h).
#include "ebb/kernels/tables/softmax.h"

#include <algorithm>
#include <limits>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/network/softmax_columns-inl.h"
#include "ebb/kernels/cpu/reduce/lines-inl.h"
#include "ebb/kernels/cpu/simd/math-inl.h"
#include "ebb/kernels/tables/log_softmax.h"
#include "ebb/kernels/tables/log_softmax_backward.h"
#include "ebb/kernels/tables/logsumexp.h"
#include "ebb/kernels/tables/softmax_backward.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
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
template <typename T>
struct Scale {
  T factor;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(x, hn::Set(d, factor));
  }
};
/// grad_out - exp(out) * sum.
template <typename T>
struct LogSoftmaxGrad {
  T sum;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad_out, V out) const {
    return hn::NegMulAdd(exp_of(d, out), hn::Set(d, sum), grad_out);
  }
};
/// (grad_out - sum) * out.
template <typename T>
struct SoftmaxGrad {
  T sum;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad_out, V out) const {
    return hn::Mul(hn::Sub(grad_out, hn::Set(d, sum)), out);
  }
};

/// The elements of any source as exp(x - shift), tile by tile.
template <class Source, typename Acc>
struct ExpOfSource {
  const Source& source;
  Acc shift;
  HWY_INLINE const Acc* read(int64_t begin, int64_t count, Acc* tile) const {
    const auto* const from = source.read(begin, count, tile);
    unary_row(ShiftedExp<Acc>{shift}, from, tile, static_cast<size_t>(count));
    return tile;
  }
};
/// The products of two sources.
template <class Source, typename Acc>
struct ProductOfSources {
  const Source& lhs;
  const Source& rhs;
  HWY_INLINE const Acc* read(int64_t begin, int64_t count, Acc* tile) const {
    HWY_ALIGN Acc other[kTile];
    binary_row(Product{}, lhs.read(begin, count, tile), rhs.read(begin, count, other), tile,
               static_cast<size_t>(count), 0);
    return tile;
  }
};

template <typename T>
HWY_INLINE T log_scalar(T value) {
  const hn::CappedTag<T, 1> d;
  return hn::GetLane(log_of(d, hn::Set(d, value)));
}

enum class Softmax { plain, log };

/// A row of `vectors` vectors, of which the last may be incomplete.
template <Softmax kind, int vectors, typename T>
HWY_INLINE void softmax_in_registers(const T* in, T* out, size_t count) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const size_t before = (vectors - 1) * lanes;  // elements in whole vectors
  const size_t rest = count - before;
  const auto nothing = hn::Set(d, -std::numeric_limits<T>::infinity());
  hn::Vec<decltype(d)> x[vectors];
  for (int i = 0; i + 1 < vectors; ++i) x[i] = hn::LoadU(d, in + i * lanes);
  x[vectors - 1] = hn::IfThenElse(hn::FirstN(d, rest), load_first(d, in + before, rest), nothing);
  auto largest = x[0];
  for (int i = 1; i < vectors; ++i) largest = hn::Max(largest, x[i]);
  // Whatever this gives for a NaN: the sum below is NaN then, and so is all of the row.
  largest = hn::MaxOfLanes(d, largest);
  hn::Vec<decltype(d)> power[vectors];
  auto sum = hn::Zero(d);
  for (int i = 0; i < vectors; ++i) {
    x[i] = hn::Sub(x[i], largest);
    power[i] = exp_of(d, x[i]);
    sum = hn::Add(sum, power[i]);
  }
  sum = hn::SumOfLanes(d, sum);
  const auto last = kind == Softmax::log ? log_of(d, sum) : hn::Div(hn::Set(d, T{1}), sum);
  for (int i = 0; i < vectors; ++i) {
    x[i] = kind == Softmax::log ? hn::Sub(x[i], last) : hn::Mul(power[i], last);
    if (i + 1 < vectors) hn::StoreU(x[i], d, out + i * lanes);
  }
  store_first(x[vectors - 1], d, out + before, rest);
}

template <Softmax kind, typename T>
void softmax_row(const T* in, T* out, int64_t count) {
  const auto size = static_cast<size_t>(count);
  const size_t last = (size - 1) / hn::Lanes(hn::ScalableTag<T>());
  switch (last) {
    case 0: return softmax_in_registers<kind, 1>(in, out, size);
    case 1: return softmax_in_registers<kind, 2>(in, out, size);
    case 2: return softmax_in_registers<kind, 3>(in, out, size);
    case 3: return softmax_in_registers<kind, 4>(in, out, size);
    default: break;
  }
  // Only 32 registers carry as many vectors, their powers and what exp needs.
  if constexpr (HWY_MAX_BYTES >= 64) {
    switch (last) {
      case 4: return softmax_in_registers<kind, 5>(in, out, size);
      case 5: return softmax_in_registers<kind, 6>(in, out, size);
      case 6: return softmax_in_registers<kind, 7>(in, out, size);
      case 7: return softmax_in_registers<kind, 8>(in, out, size);
      default: break;
    }
  }
  HWY_ALIGN T tile[kTile];
  const DenseElements<T> source{in};
  const T largest = reduce_all(MaxOp{}, source, count, tile);
  if constexpr (kind == Softmax::log) {
    const T sum =
        reduce_all(SumOp{}, ExpOfSource<DenseElements<T>, T>{source, largest}, count, tile);
    unary_row(Normalise<T>{largest, log_scalar(sum)}, in, out, size);
  } else {
    unary_row(ShiftedExp<T>{largest}, in, out, size);
    const T sum = reduce_all(SumOp{}, DenseElements<T>{out}, count, tile);
    unary_row(Scale<T>{T{1} / sum}, static_cast<const T*>(out), out, size);
  }
}

/// The gradient of such a row; grad_input may be grad_out or out.
template <Softmax kind, int vectors, typename T>
HWY_INLINE void softmax_backward_in_registers(const T* grad_out, const T* out, T* grad_input,
                                              size_t count) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const size_t before = (vectors - 1) * lanes;
  const size_t rest = count - before;
  hn::Vec<decltype(d)> grad[vectors], value[vectors];
  auto sum = hn::Zero(d);
  for (int i = 0; i < vectors; ++i) {
    const bool is_last = i + 1 == vectors;
    grad[i] = is_last ? load_first(d, grad_out + before, rest) : hn::LoadU(d, grad_out + i * lanes);
    value[i] = is_last ? load_first(d, out + before, rest) : hn::LoadU(d, out + i * lanes);
    sum = kind == Softmax::log ? hn::Add(sum, grad[i]) : hn::MulAdd(grad[i], value[i], sum);
  }
  const T total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (int i = 0; i < vectors; ++i) {
    grad[i] = kind == Softmax::log ? LogSoftmaxGrad<T>{total}(d, grad[i], value[i])
                                   : SoftmaxGrad<T>{total}(d, grad[i], value[i]);
    if (i + 1 < vectors) hn::StoreU(grad[i], d, grad_input + i * lanes);
  }
  store_first(grad[vectors - 1], d, grad_input + before, rest);
}

template <Softmax kind, typename T>
void softmax_backward_row(const T* grad_out, const T* out, T* grad_input, int64_t count) {
  HWY_ALIGN T tile[kTile];
  const auto size = static_cast<size_t>(count);
  switch ((size - 1) / hn::Lanes(hn::ScalableTag<T>())) {
    case 0: return softmax_backward_in_registers<kind, 1>(grad_out, out, grad_input, size);
    case 1: return softmax_backward_in_registers<kind, 2>(grad_out, out, grad_input, size);
    case 2: return softmax_backward_in_registers<kind, 3>(grad_out, out, grad_input, size);
    case 3: return softmax_backward_in_registers<kind, 4>(grad_out, out, grad_input, size);
    case 4: return softmax_backward_in_registers<kind, 5>(grad_out, out, grad_input, size);
    case 5: return softmax_backward_in_registers<kind, 6>(grad_out, out, grad_input, size);
    case 6: return softmax_backward_in_registers<kind, 7>(grad_out, out, grad_input, size);
    case 7: return softmax_backward_in_registers<kind, 8>(grad_out, out, grad_input, size);
    default: break;
  }
  if constexpr (kind == Softmax::log) {
    const T sum = reduce_all(SumOp{}, DenseElements<T>{grad_out}, count, tile);
    binary_row(LogSoftmaxGrad<T>{sum}, grad_out, out, grad_input, size, 0);
  } else {
    const DenseElements<T> grads{grad_out}, values{out};
    const ProductOfSources<DenseElements<T>, T> products{grads, values};
    const T sum = reduce_all(SumOp{}, products, count, tile);
    binary_row(SoftmaxGrad<T>{sum}, grad_out, out, grad_input, size, 0);
  }
}

/// The same for a line that is too long to be copied; powers are formed twice.
template <typename Acc>
HWY_NOINLINE void softmax_long_line(Softmax kind, const LongLine<Acc>& in, const LongLine<Acc>& out,
                                    int64_t count) {
  HWY_ALIGN Acc tile[kTile];
  const Acc largest = reduce_all(MaxOp{}, in, count, tile);
  const Acc sum = reduce_all(SumOp{}, ExpOfSource<LongLine<Acc>, Acc>{in, largest}, count, tile);
  const Acc log_sum = log_scalar(sum);
  for (int64_t i = 0; i < count; i += kTile) {
    const int64_t part = std::min(kTile, count - i);
    const auto size = static_cast<size_t>(part);
    const Acc* const x = in.read(i, part, tile);
    if (kind == Softmax::log) {
      unary_row(Normalise<Acc>{largest, log_sum}, x, tile, size);
    } else {
      unary_row(ShiftedExp<Acc>{largest}, x, tile, size);
      unary_row(Scale<Acc>{Acc{1} / sum}, x, tile, size);
    }
    out.write(i, part, tile);
  }
}

template <typename Acc>
HWY_NOINLINE void softmax_backward_long_line(Softmax kind, const LongLine<Acc>& grad_out,
                                             const LongLine<Acc>& out,
                                             const LongLine<Acc>& grad_input, int64_t count) {
  HWY_ALIGN Acc tile[kTile];
  HWY_ALIGN Acc other[kTile];
  const ProductOfSources<LongLine<Acc>, Acc> products{grad_out, out};
  const Acc sum = kind == Softmax::log ? reduce_all(SumOp{}, grad_out, count, tile)
                                       : reduce_all(SumOp{}, products, count, tile);
  for (int64_t i = 0; i < count; i += kTile) {
    const int64_t part = std::min(kTile, count - i);
    const Acc* const grad = grad_out.read(i, part, tile);
    const Acc* const value = out.read(i, part, other);
    if (kind == Softmax::log) {
      binary_row(LogSoftmaxGrad<Acc>{sum}, grad, value, tile, static_cast<size_t>(part), 0);
    } else {
      binary_row(SoftmaxGrad<Acc>{sum}, grad, value, tile, static_cast<size_t>(part), 0);
    }
    grad_input.write(i, part, tile);
  }
}

template <Softmax kind, typename T>
void softmax_kernel(const Context&, const TensorView& input, int dim, const TensorView& out) {
  using Acc = AccumulatorOf<T>;
  if (out.numel == 0) return;
  if (has_columns(input, dim) && out.contiguous) {
    return softmax_columns<kind == Softmax::log>(ColumnShape(out, dim), input.as<const T>(),
                                                 out.as<T>());
  }
  const int64_t count = out.ndim == 0 ? 1 : out.sizes[dim];
  const Lines<T> from(input, dim), to(out, dim);
  const bool is_copied = from.is_copied() || to.is_copied();
  if (is_copied && count > kCopiedLine) {
    return for_each_line<Acc>(out.numel / count, count, 0, [&](int64_t line, Acc*, Acc*, Acc*) {
      softmax_long_line(kind, from.long_line(line), to.long_line(line), count);
    });
  }
  const int rows = is_copied ? 2 : 0;
  for_each_line<Acc>(out.numel / count, count, rows, [&](int64_t line, Acc* in, Acc* result, Acc*) {
    Acc* place = to.start(line, result);
    softmax_row<kind>(from.read(line, in), place, count);
    to.finish(line, place);
  });
}

template <Softmax kind, typename T>
void softmax_backward_kernel(const Context&, const TensorView& grad_out, const TensorView& out,
                             int dim, const TensorView& grad_input) {
  using Acc = AccumulatorOf<T>;
  if (out.numel == 0) return;
  if (has_columns(grad_out, dim) && out.contiguous && grad_input.contiguous) {
    return softmax_columns_backward<kind == Softmax::log>(ColumnShape(out, dim), grad_out.as<T>(),
                                                          out.as<T>(), grad_input.as<T>());
  }
  const int64_t count = out.ndim == 0 ? 1 : out.sizes[dim];
  const Lines<T> grads(grad_out, dim), values(out, dim), to(grad_input, dim);
  const bool is_copied = grads.is_copied() || values.is_copied() || to.is_copied();
  if (is_copied && count > kCopiedLine) {
    return for_each_line<Acc>(out.numel / count, count, 0, [&](int64_t line, Acc*, Acc*, Acc*) {
      softmax_backward_long_line(kind, grads.long_line(line), values.long_line(line),
                                 to.long_line(line), count);
    });
  }
  const int rows = is_copied ? 3 : 0;
  for_each_line<Acc>(
      out.numel / count, count, rows, [&](int64_t line, Acc* grad, Acc* value, Acc* sum) {
        Acc* place = to.start(line, sum);
        softmax_backward_row<kind>(grads.read(line, grad), values.read(line, value), place, count);
        to.finish(line, place);
      });
}

template <class Source>
auto logsumexp_of(const Source& source, int64_t count) {
  using Acc = AccumulatorOf<std::remove_cvref_t<decltype(*source.read(0, 0, nullptr))>>;
  HWY_ALIGN Acc tile[kTile];
  constexpr Acc kInf = std::numeric_limits<Acc>::infinity();
  const Acc largest = count == 0 ? -kInf : reduce_all(MaxOp{}, source, count, tile);
  // Of infinite elements the largest is the answer: their differences would be NaN.
  if (largest == kInf || largest == -kInf) return largest;
  const ExpOfSource<Source, Acc> powers{source, largest};
  return largest + log_scalar(reduce_all(SumOp{}, powers, count, tile));
}

template <typename T>
void logsumexp_kernel(const Context&, const TensorView& input, int dim, const TensorView& out) {
  using Acc = AccumulatorOf<T>;
  if (out.numel == 0) return;
  const Lines<T> lines(input, dim);
  LoopDims places, reduced;
  for (int i = 0; i < input.ndim; ++i) {
    LoopDims& dims = i == dim ? reduced : places;
    if (input.sizes[i] != 1) {
      dims.push_back(input.sizes[i], input.strides[i], i == dim ? 0 : out.strides[i]);
    }
  }
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, reduced.count));
  // Both passes over a line read a copy, where one is needed and not too long.
  const bool is_copied = lines.is_copied() && reduced.count <= kCopiedLine;
  const size_t copied = is_copied ? static_cast<size_t>(reduced.count) : 0;
  parallel_for(out.numel, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    const Scratch scratch(copied * sizeof(Acc));
    ReducedElements<T> line(reduced);
    for (int64_t i = begin; i < end; ++i) {
      Acc value;
      if (is_copied) {
        value = logsumexp_of(DenseElements<Acc>{lines.read(i, scratch.as<Acc>())}, reduced.count);
      } else {
        line.start_at(input.as<const T>() + places.in_offset(i));
        value = logsumexp_of(line, reduced.count);
      }
      out.as<T>()[places.out_offset(i)] = static_cast<T>(value);
    }
  });
}

template <typename... T>
void set() {
  (softmax_kernels.set_cpu(dtype_of<T>, &softmax_kernel<Softmax::plain, T>), ...);
  (softmax_backward_kernels.set_cpu(dtype_of<T>, &softmax_backward_kernel<Softmax::plain, T>), ...);
  (log_softmax_kernels.set_cpu(dtype_of<T>, &softmax_kernel<Softmax::log, T>), ...);
  (log_softmax_backward_kernels.set_cpu(dtype_of<T>, &softmax_backward_kernel<Softmax::log, T>),
   ...);
  (logsumexp_kernels.set_cpu(dtype_of<T>, &logsumexp_kernel<T>), ...);
}

}  // namespace

void fill_softmax() { set<Half, BFloat16, float, double>(); }

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
