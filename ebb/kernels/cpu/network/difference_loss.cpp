// ebb/kernels/cpu/network/difference_loss.cpp -- losses of input - target: value and sum in one
// pass.
//
// Elements are worked on tile by tile. Sums are trees within a chunk (norm-inl.h); chunks are added
// in order, in float64, so results do not depend on the number of threads.
#include "ebb/kernels/tables/difference_loss.h"

#include <algorithm>
#include <cmath>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/reduce/norm-inl.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/tables/difference_loss_backward.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

/// The sign of d: 0 at 0, NaN for NaN.
template <class D, class V>
HWY_INLINE V sign_of(D d, V difference) {
  const V unit = hn::CopySign(hn::Set(d, 1), difference);
  const auto has_sign = hn::Gt(hn::Abs(difference), hn::Zero(d));
  return hn::IfThenElse(has_sign, unit, difference);
}

/// value(d, x) = f(x) and slope(d, x) = f'(x).
template <typename T>
struct Square {
  explicit Square(double) {}
  template <class D, class V>
  HWY_INLINE V value(D, V x) const {
    return hn::Mul(x, x);
  }
  template <class D, class V>
  HWY_INLINE V slope(D, V x) const {
    return hn::Add(x, x);
  }
};

template <typename T>
struct Absolute {
  explicit Absolute(double) {}
  template <class D, class V>
  HWY_INLINE V value(D, V x) const {
    return hn::Abs(x);
  }
  template <class D, class V>
  HWY_INLINE V slope(D d, V x) const {
    return sign_of(d, x);
  }
};

/// is_huber: times beta.
template <typename T, bool is_huber>
struct Bowl {
  T beta, half_beta, curvature, factor;

  explicit Bowl(double beta)
      : beta(static_cast<T>(beta)),
        half_beta(static_cast<T>(beta / 2)),
        curvature(static_cast<T>(is_huber ? 1.0 : 1.0 / beta)),
        factor(static_cast<T>(is_huber ? beta : 1.0)) {}
  template <class D, class V>
  HWY_INLINE V value(D d, V x) const {
    const V size = hn::Abs(x);
    const V bowl = hn::Mul(hn::Mul(size, size), hn::Set(d, curvature * T{0.5}));
    const V wing = hn::Mul(hn::Sub(size, hn::Set(d, half_beta)), hn::Set(d, factor));
    return hn::IfThenElse(hn::Lt(size, hn::Set(d, beta)), bowl, wing);
  }
  template <class D, class V>
  HWY_INLINE V slope(D d, V x) const {
    const V bowl = hn::Mul(x, hn::Set(d, curvature));
    const V wing = hn::Mul(sign_of(d, x), hn::Set(d, factor));
    return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, beta)), bowl, wing);
  }
};

/// Calls body(loss) with the struct of a loss.
template <typename Acc, class Body>
void visit_loss(DifferenceLoss loss, double beta, Body body) {
  switch (loss) {
    case DifferenceLoss::square: return body(Square<Acc>(beta));
    case DifferenceLoss::absolute: return body(Absolute<Acc>(beta));
    case DifferenceLoss::smooth:
      if (beta == 0) return body(Absolute<Acc>(beta));  // the limit
      return body(Bowl<Acc, false>(beta));
    case DifferenceLoss::huber: return body(Bowl<Acc, true>(beta));
  }
}

/// op(input - target).
template <class Loss>
struct Value {
  const Loss& loss;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V input, V target) const {
    return loss.value(d, hn::Sub(input, target));
  }
};
template <class Loss, typename Acc>
struct Slope {
  const Loss& loss;
  Acc factor;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V input, V target) const {
    return hn::Mul(loss.slope(d, hn::Sub(input, target)), hn::Set(d, factor));
  }
};
/// 0 where `grad` is, whatever the slope.
struct MaskedProduct {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V slope, V grad) const {
    return hn::IfThenZeroElse(hn::Eq(grad, hn::Zero(d)), hn::Mul(slope, grad));
  }
};

/// The sum of the losses of up to kTile elements, as one vector.
template <class Loss, class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> loss_leaf(D d, const Loss& loss, const T* input, const T* target,
                                size_t count) {
  const size_t lanes = hn::Lanes(d);
  auto even = hn::Zero(d), odd = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto one = hn::Sub(hn::LoadU(d, input + i), hn::LoadU(d, target + i));
    const auto two = hn::Sub(hn::LoadU(d, input + i + lanes), hn::LoadU(d, target + i + lanes));
    even = hn::Add(even, loss.value(d, one));
    odd = hn::Add(odd, loss.value(d, two));
  }
  for (; i < count; i += lanes) {
    const size_t rest = HWY_MIN(lanes, count - i);
    // Behind the end both operands are 0, and so is their loss.
    const auto x = rest == lanes ? hn::LoadU(d, input + i) : load_first(d, input + i, rest);
    const auto t = rest == lanes ? hn::LoadU(d, target + i) : load_first(d, target + i, rest);
    even = hn::Add(even, loss.value(d, hn::Sub(x, t)));
  }
  return hn::Add(even, odd);
}

/// Calls body(input, target, out, count) tile by tile, in the accumulator's type; `out` is memory
/// for the results, which are then stored.
template <typename T, class Body>
HWY_INLINE void for_tiles(const T* input, const T* target, T* out, int64_t begin, int64_t end,
                          Body body) {
  if constexpr (is_half_type<T>) {
    HWY_ALIGN float inputs[kTile];
    HWY_ALIGN float targets[kTile];
    for (int64_t i = begin; i < end; i += kTile) {
      const auto count = static_cast<size_t>(std::min(kTile, end - i));
      widen(input + i, inputs, count);
      widen(target + i, targets, count);
      body(inputs, targets, inputs, i, count);
      narrow(inputs, out + i, count);
    }
  } else {
    for (int64_t i = begin; i < end; i += kTile) {
      body(input + i, target + i, out + i, i, static_cast<size_t>(std::min(kTile, end - i)));
    }
  }
}

template <typename T, class Loss>
double sum_chunk(const Loss& loss, const T* input, const T* target, int64_t count) {
  using Acc = AccumulatorOf<T>;
  const hn::ScalableTag<Acc> d;
  return tree_sum<Acc>(count, [&](int64_t begin, int64_t part) HWY_ATTR {
    HWY_ALIGN Acc inputs[is_half_type<T> ? kTile : 1];
    HWY_ALIGN Acc targets[is_half_type<T> ? kTile : 1];
    const DenseValues<T> x{input}, t{target};
    return loss_leaf(d, loss, x.read(begin, part, inputs), t.read(begin, part, targets),
                     static_cast<size_t>(part));
  });
}

template <typename T, class Loss>
void sum_losses(const Loss& loss, const TensorView& input, const TensorView& target, double divisor,
                const TensorView& out) {
  const int64_t count = input.numel;
  const auto* const x = input.as<const T>();
  const auto* const t = target.as<const T>();
  const int64_t chunks = std::max<int64_t>(1, (count + kChunk - 1) / kChunk);
  const Scratch scratch(static_cast<size_t>(chunks) * sizeof(double));
  auto* const parts = scratch.as<double>();
  parts[0] = 0;
  parallel_for(chunks, 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i * kChunk, size = std::min(kChunk, count - at);
      parts[i] = size == 0 ? 0 : sum_chunk(loss, x + at, t + at, size);
    }
  });
  double total = 0;
  for (int64_t i = 0; i < chunks; ++i) total += parts[i];
  *out.as<T>() = convert<T>(total / divisor);
}

template <typename T>
void difference_loss_kernel(const Context&, DifferenceLoss kind, double beta,
                            const TensorView& input, const TensorView& target, double divisor,
                            bool is_reduced, const TensorView& out) {
  using Acc = AccumulatorOf<T>;
  visit_loss<Acc>(kind, beta, [&](const auto& loss) HWY_ATTR {
    using Loss = std::decay_t<decltype(loss)>;
    if (is_reduced) return sum_losses<T>(loss, input, target, divisor, out);
    const Value<Loss> value{loss};
    parallel_for(input.numel, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
      for_tiles(input.as<const T>(), target.as<const T>(), out.as<T>(), begin, end,
                [&](const Acc* x, const Acc* t, Acc* to, int64_t, size_t count)
                    HWY_ATTR { binary_row(value, x, t, to, count, 0); });
    });
  });
}

template <typename T>
void difference_loss_backward_kernel(const Context&, DifferenceLoss kind, double beta,
                                     const TensorView& grad_out, const TensorView& input,
                                     const TensorView& target, double divisor,
                                     const TensorView& grad_input) {
  using Acc = AccumulatorOf<T>;
  const auto* const grads = grad_out.as<const T>();
  const bool is_single = grad_out.ndim == 0;
  const double single = is_single ? convert<double>(*grads) : 1.0;
  if (single == 0) {
    std::fill_n(grad_input.as<T>(), input.numel, T{});
    return;
  }
  visit_loss<Acc>(kind, beta, [&](const auto& loss) HWY_ATTR {
    using Loss = std::decay_t<decltype(loss)>;
    const Slope<Loss, Acc> slope{loss, static_cast<Acc>(single / divisor)};
    parallel_for(input.numel, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
      HWY_ALIGN Acc tile[is_half_type<T> ? kTile : 1];
      for_tiles(input.as<const T>(), target.as<const T>(), grad_input.as<T>(), begin, end,
                [&](const Acc* x, const Acc* t, Acc* to, int64_t i, size_t count) HWY_ATTR {
                  binary_row(slope, x, t, to, count, 0);
                  if (is_single) return;
                  const DenseValues<T> source{grads};
                  const Acc* const grad = source.read(i, static_cast<int64_t>(count), tile);
                  binary_row(MaskedProduct{}, static_cast<const Acc*>(to), grad, to, count, 0);
                });
    });
  });
}

template <typename... T>
void set() {
  (difference_loss_kernels.set_cpu(dtype_of<T>, &difference_loss_kernel<T>), ...);
  (difference_loss_backward_kernels.set_cpu(dtype_of<T>, &difference_loss_backward_kernel<T>), ...);
}

}  // namespace

void fill_difference_loss() { set<Half, BFloat16, float, double>(); }

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
