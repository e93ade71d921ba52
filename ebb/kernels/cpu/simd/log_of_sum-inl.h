// ebb/kernels/cpu/simd/log_of_sum-inl.h -- log(exp(a) + exp(b)) on vectors of float32 or float64.
//
// The larger number plus log1p() of a quotient: it loses nothing unless both cancel, where the sum
// of the exponentials is near 1. There the sum less 1 is computed in pairs of numbers, with some 12
// digits more in float64 (9 in float32), and the result is log1p() of it: log_near_zero(). As that
// takes five times as long, vectors with no such lane do not come there, and log_of_sum_row()
// collects such lanes of many vectors. Included once per target.
#if defined(EBB_KERNELS_CPU_LOG_OF_SUM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_LOG_OF_SUM_INL_H
#undef EBB_KERNELS_CPU_LOG_OF_SUM_INL_H
#else
#define EBB_KERNELS_CPU_LOG_OF_SUM_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "ebb/kernels/cpu/simd/special-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// a + b exactly, in whatever order.
template <class V>
HWY_INLINE Pair<V> exact_sum_of_any(V a, V b) {
  const V sum = hn::Add(a, b);
  const V share = hn::Sub(sum, a);
  return {sum, hn::Add(hn::Sub(a, hn::Sub(sum, share)), hn::Sub(b, share))};
}

/// Minus the distance of two numbers, exactly; equal infinities are 0 apart.
template <class D, class V>
HWY_INLINE Pair<V> minus_distance(D, V lhs, V rhs) {
  const V high = hn::IfThenZeroElse(hn::Eq(lhs, rhs), hn::Neg(hn::Abs(hn::Sub(lhs, rhs))));
  const V low = exact_sum_of_any(hn::Min(lhs, rhs), hn::Neg(hn::Max(lhs, rhs))).low;
  return {high, hn::IfThenElseZero(hn::IsFinite(low), low)};
}

/// The upper half of a number's digits: products of halves are exact.
template <class D, class V>
HWY_INLINE V upper_digits(D d, V a) {
  using T = hn::TFromD<D>;
  const V grown = hn::Mul(a, hn::Set(d, std::is_same_v<T, float> ? T(0x1p12 + 1) : T(0x1p27 + 1)));
  return hn::Sub(grown, hn::Sub(grown, a));
}

/// a * b exactly, without fused multiply-adds too.
template <class D, class V>
HWY_INLINE Pair<V> exact_product(D d, V a, V b) {
  const V product = hn::Mul(a, b);
#if HWY_NATIVE_FMA
  (void)d;
  return {product, hn::MulSub(a, b, product)};
#else
  const V a_high = upper_digits(d, a), b_high = upper_digits(d, b);
  const V a_low = hn::Sub(a, a_high), b_low = hn::Sub(b, b_high);
  V rest = hn::Sub(hn::Mul(a_high, b_high), product);
  rest = hn::Add(rest, hn::Mul(a_high, b_low));
  rest = hn::Add(rest, hn::Mul(a_low, b_high));
  return {product, hn::Add(rest, hn::Mul(a_low, b_low))};
#endif
}

/// exp(x) - 1 of a pair within (-1.4, 0.7): the series at a 32nd of it, doubled five times by
/// (1 + e)^2 - 1 = 2 e + e^2, which loses no digit.
template <class D, class V>
HWY_INLINE Pair<V> expm1_of_pair(D d, Pair<V> x) {
  using T = hn::TFromD<D>;
  const V part = hn::Set(d, T(1.0 / 32)), half = hn::Set(d, T(0.5));
  const V y = hn::Mul(x.high, part);
  V series = hn::Set(d, T(1.0 / 362880));
  for (const double factor : {40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0}) {
    series = hn::MulAdd(series, y, hn::Set(d, T(1.0 / factor)));
  }
  const Pair<V> square = exact_product(d, y, y);
  const Pair<V> start = exact_sum(y, hn::Mul(square.high, half));
  const V rest = hn::MulAdd(hn::Mul(square.high, y), series, hn::Mul(square.low, half));
  const V below = hn::Mul(x.low, part);
  Pair<V> grown =
      exact_sum(start.high, hn::Add(start.low, hn::Add(rest, hn::MulAdd(below, y, below))));
  for (int doubling = 0; doubling < 5; ++doubling) {
    const V twice = hn::Add(grown.high, grown.high), twice_low = hn::Add(grown.low, grown.low);
    const Pair<V> product = exact_product(d, grown.high, grown.high);
    const Pair<V> sum = exact_sum(twice, product.high);
    const V low = hn::MulAdd(twice, grown.low, hn::Add(product.low, twice_low));
    grown = exact_sum(sum.high, hn::Add(sum.low, low));
  }
  return grown;
}

/// exp(x) of x at most 0, as a pair.
template <class D, class V>
HWY_INLINE Pair<V> exp_of_pair(D d, Pair<V> x) {
  using Traits = BaseTraits<hn::TFromD<D>>;
  const V least = hn::Set(d, Traits::kLowestExponent);
  const V k = hn::Max(hn::Round(hn::Mul(x.high, hn::Set(d, Traits::kLog2E))), least);
  const V most = hn::NegMulAdd(k, hn::Set(d, Traits::kLn2High), x.high);
  const V rest = hn::NegMulAdd(k, hn::Set(d, Traits::kLn2Low), x.low);
  const Pair<V> grown = expm1_of_pair(d, exact_sum_of_any(most, rest));
  const Pair<V> sum = exact_sum(hn::Set(d, hn::TFromD<D>{1}), grown.high);
  return {scale(d, sum.high, k), scale(d, hn::Add(sum.low, grown.low), k)};
}

/// log(exp(most) + exp(least)) where both are negative, `most` above -1.4.
template <class D, class V>
HWY_INLINE V log_near_zero(D d, Pair<V> most, Pair<V> least) {
  const Pair<V> below = expm1_of_pair(d, most), above = exp_of_pair(d, least);
  const Pair<V> sum = exact_sum_of_any(below.high, above.high);
  const Pair<V> whole = exact_sum(sum.high, hn::Add(sum.low, hn::Add(below.low, above.low)));
  return log1p_of(d, whole.high, whole.low, hn::Zero(d));
}

/// Where a result is less than a quarter as large as `most`, the larger of the two numbers, so that
/// more than two of its digits were lost. `most` is above -bound wherever both cancel.
template <class D, class V>
HWY_INLINE auto is_cancelled(D d, V most, V result, hn::TFromD<D> bound) {
  const V part = hn::Mul(most, hn::Set(d, hn::TFromD<D>(-0.25)));
  return hn::And(hn::Lt(hn::Abs(result), part), hn::Gt(most, hn::Set(d, -bound)));
}

/// x times the natural logarithm of 2, as a pair.
template <class D, class V>
HWY_INLINE Pair<V> times_ln2(D d, V x) {
  using Traits = BaseTraits<hn::TFromD<D>>;
  const Pair<V> product = exact_product(d, x, hn::Set(d, Traits::kLn2));
  return {product.high, hn::MulAdd(x, hn::Set(d, Traits::kLn2Rest), product.low)};
}

/// log(exp(lhs) + exp(rhs)): `quick`, and what replaces it where both cancel.
struct LogOfSum {
  static constexpr double kBound = 1.4;

  template <class D, class V>
  static HWY_INLINE V quick(D d, V lhs, V rhs) {
    const Pair<V> distance = minus_distance(d, lhs, rhs);
    const V share = exp_of(d, distance.high);
    return hn::Add(hn::Max(lhs, rhs), log1p_of(d, hn::MulAdd(share, distance.low, share)));
  }
  template <class D, class V>
  static HWY_INLINE V near_zero(D d, V most, V least) {
    const V zero = hn::Zero(d);
    return log_near_zero(d, Pair<V>{most, zero}, Pair<V>{least, zero});
  }
};

/// The same to base 2.
struct LogOfSum2 {
  static constexpr double kBound = 2;

  template <class D, class V>
  static HWY_INLINE V quick(D d, V lhs, V rhs) {
    const Pair<V> distance = minus_distance(d, lhs, rhs);
    const V share = exp2_of(d, distance.high);
    const V turned = hn::Mul(distance.low, hn::Set(d, BaseTraits<hn::TFromD<D>>::kLn2));
    const V rest = log1p_of(d, hn::MulAdd(share, turned, share));
    const V one = hn::Set(d, hn::TFromD<D>{1});  // where both are equal, exactly
    const V per_ln2 = hn::Set(d, BaseTraits<hn::TFromD<D>>::kLog2E);
    const V above = hn::IfThenElse(hn::Eq(lhs, rhs), one, hn::Mul(rest, per_ln2));
    return hn::Add(above, hn::Max(lhs, rhs));
  }
  template <class D, class V>
  static HWY_INLINE V near_zero(D d, V most, V least) {
    const V near = log_near_zero(d, times_ln2(d, most), times_ln2(d, least));
    return hn::Mul(near, hn::Set(d, BaseTraits<hn::TFromD<D>>::kLog2E));
  }
};

/// The lanes of some vectors in which both numbers cancel: what they are and where.
template <typename Lane>
class LostLanes {
 public:
  static constexpr size_t kRoom = 512;

  template <class D, class V, class M>
  HWY_INLINE void note(D d, V most, V least, M is_lost, size_t first) {
    const hn::RebindToSigned<D> di;
    const auto places = hn::Iota(di, static_cast<hn::TFromD<decltype(di)>>(first));
    hn::CompressBlendedStore(most, is_lost, d, most_ + count_);
    hn::CompressBlendedStore(least, is_lost, d, least_ + count_);
    count_ += hn::CompressBlendedStore(places, hn::RebindMask(di, is_lost), di, places_ + count_);
  }
  template <class Op, class D, typename T>
  HWY_INLINE void mend(Op, D d, T* out) {
    const size_t lanes = hn::Lanes(d);
    std::fill_n(most_ + count_, lanes, Lane(0));
    std::fill_n(least_ + count_, lanes, Lane(0));
    for (size_t i = 0; i < count_; i += lanes) {
      HWY_ALIGN Lane found[HWY_MAX_BYTES / sizeof(Lane)];
      hn::Store(Op::near_zero(d, hn::LoadU(d, most_ + i), hn::LoadU(d, least_ + i)), d, found);
      for (size_t k = i; k < std::min(count_, i + lanes); ++k) {
        out[places_[k]] = convert<T>(found[k - i]);
      }
    }
    count_ = 0;
  }

 private:
  static constexpr size_t kMost = kRoom + HWY_MAX_BYTES / sizeof(Lane);
  Lane most_[kMost], least_[kMost];
  std::conditional_t<sizeof(Lane) == 4, int32_t, int64_t> places_[kMost];
  size_t count_ = 0;
};

template <class D, typename T>
HWY_INLINE hn::Vec<D> some_of(D d, Stream<T> from, size_t i, size_t count) {
  return count == hn::Lanes(d) ? from.load(d, i) : load_first(d, from.data + i, count);
}
template <class D, typename T>
HWY_INLINE hn::Vec<D> some_of(D d, Repeat<T> from, size_t i, size_t) {
  return from.load(d, i);
}

template <class Op, class Lhs, class Rhs, typename T>
HWY_INLINE void log_of_sum_loop(Op op, Lhs lhs, Rhs rhs, T* out, size_t count) {
  using Lane = LaneOf<T>;
  const hn::ScalableTag<Lane> d;
  const size_t lanes = hn::Lanes(d);
  LostLanes<Lane> lost;
  for (size_t first = 0; first < count; first += LostLanes<Lane>::kRoom) {
    const size_t end = std::min(count, first + LostLanes<Lane>::kRoom);
    for (size_t i = first; i < end; i += lanes) {
      const size_t some = std::min(lanes, end - i);
      const auto a = some_of(d, lhs, i, some), b = some_of(d, rhs, i, some);
      const auto most = hn::Max(a, b), result = Op::quick(d, a, b);
      const auto is_near = is_cancelled(d, most, result, Lane(Op::kBound));
      const auto is_lost = hn::And(is_near, hn::FirstN(d, some));
      if (HWY_UNLIKELY(!hn::AllFalse(d, is_lost))) {
        lost.note(d, most, hn::Min(a, b), is_lost, i - first);
      }
      if (some == lanes) {
        store_lanes(result, d, out + i);
      } else {
        store_first(result, d, out + i, some);
      }
    }
    lost.mend(op, d, out + first);
  }
}

/// RowFunction of the logarithm of a sum of two exponentials.
template <class Op, typename T>
void log_of_sum_row(const void* const* in, void* out, int64_t size, unsigned splat) {
  const Stream<T> lhs{static_cast<const T*>(in[0])}, rhs{static_cast<const T*>(in[1])};
  auto* const to = static_cast<T*>(out);
  const auto count = static_cast<size_t>(size);
  if (splat == 0) return log_of_sum_loop(Op{}, lhs, rhs, to, count);
  if (splat == 2) return log_of_sum_loop(Op{}, lhs, Repeat<T>(in[1]), to, count);
  log_of_sum_loop(Op{}, Repeat<T>(in[0]), rhs, to, count);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
