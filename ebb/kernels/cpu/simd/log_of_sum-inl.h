// ebb/kernels/cpu/simd/log_of_sum-inl.h -- log(exp(a) + exp(b)) on vectors of float32 or float64.
//
// The larger number plus log1p() of a quotient: it loses nothing unless both cancel, where the sum
// of the exponentials is near 1. There the sum less 1 is computed in pairs of numbers, with some 12
// digits more in float64 (9 in float32), and the result is log1p() of it: log_near_zero(). Vectors
// with no such lane do not come there, as it takes five times as long. Included once per target.
#if defined(EBB_KERNELS_CPU_LOG_OF_SUM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_LOG_OF_SUM_INL_H
#undef EBB_KERNELS_CPU_LOG_OF_SUM_INL_H
#else
#define EBB_KERNELS_CPU_LOG_OF_SUM_INL_H
#endif

#include <type_traits>

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

/// a * a exactly, without fused multiply-adds too.
template <class D, class V>
HWY_INLINE Pair<V> whole_square(D d, V a) {
  const V square = hn::Mul(a, a);
#if HWY_NATIVE_FMA
  (void)d;
  return {square, hn::MulSub(a, a, square)};
#else
  // Halves of the digits, whose products are exact.
  using T = hn::TFromD<D>;
  const V grown = hn::Mul(a, hn::Set(d, std::is_same_v<T, float> ? T(0x1p12 + 1) : T(0x1p27 + 1)));
  const V high = hn::Sub(grown, hn::Sub(grown, a));
  const V low = hn::Sub(a, high);
  const V cross = hn::Mul(high, low);
  const V rest = hn::Add(hn::Sub(hn::Mul(high, high), square), hn::Add(cross, cross));
  return {square, hn::Add(rest, hn::Mul(low, low))};
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
  const Pair<V> square = whole_square(d, y);
  const Pair<V> start = exact_sum(y, hn::Mul(square.high, half));
  const V rest = hn::MulAdd(hn::Mul(square.high, y), series, hn::Mul(square.low, half));
  const V below = hn::Mul(x.low, part);
  Pair<V> grown =
      exact_sum(start.high, hn::Add(start.low, hn::Add(rest, hn::MulAdd(below, y, below))));
  for (int doubling = 0; doubling < 5; ++doubling) {
    const V twice = hn::Add(grown.high, grown.high), twice_low = hn::Add(grown.low, grown.low);
    const Pair<V> product = whole_square(d, grown.high);
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

/// log(exp(lhs) + exp(rhs)).
template <class D, class V>
HWY_INLINE V logaddexp_of(D d, V lhs, V rhs) {
  const V most = hn::Max(lhs, rhs), least = hn::Min(lhs, rhs), zero = hn::Zero(d);
  const Pair<V> distance = minus_distance(d, lhs, rhs);
  const V share = exp_of(d, distance.high);
  const V result = hn::Add(most, log1p_of(d, hn::MulAdd(share, distance.low, share)));
  const auto is_lost = is_cancelled(d, most, result, hn::TFromD<D>(1.4));
  if (HWY_LIKELY(hn::AllFalse(d, is_lost))) return result;
  const V high = hn::IfThenElseZero(is_lost, most);
  const V low = hn::IfThenElseZero(is_lost, least);
  return hn::IfThenElse(is_lost, log_near_zero(d, Pair<V>{high, zero}, Pair<V>{low, zero}), result);
}

/// x times the natural logarithm of 2, as a pair.
template <class D, class V>
HWY_INLINE Pair<V> times_ln2(D d, V x) {
  using Traits = BaseTraits<hn::TFromD<D>>;
  const V by = hn::Set(d, Traits::kLn2);
  const V product = hn::Mul(x, by);
#if HWY_NATIVE_FMA
  const V rounded = hn::MulSub(x, by, product);
#else
  const V high = hn::Set(d, Traits::kLn2High), low = hn::Set(d, Traits::kLn2Low);
  const V rounded = hn::MulAdd(x, low, hn::Sub(hn::Mul(x, high), product));
  return {product, rounded};
#endif
  return {product, hn::MulAdd(x, hn::Set(d, Traits::kLn2Rest), rounded)};
}

/// The same to base 2.
template <class D, class V>
HWY_INLINE V logaddexp2_of(D d, V lhs, V rhs) {
  const V most = hn::Max(lhs, rhs), least = hn::Min(lhs, rhs);
  const Pair<V> distance = minus_distance(d, lhs, rhs);
  const V share = exp2_of(d, distance.high);
  const V turned = hn::Mul(distance.low, hn::Set(d, BaseTraits<hn::TFromD<D>>::kLn2));
  const V rest = log1p_of(d, hn::MulAdd(share, turned, share));
  const V one = hn::Set(d, hn::TFromD<D>{1});  // where both are equal, exactly
  const V per_ln2 = hn::Set(d, BaseTraits<hn::TFromD<D>>::kLog2E);
  const V result = hn::Add(hn::IfThenElse(hn::Eq(lhs, rhs), one, hn::Mul(rest, per_ln2)), most);
  const auto is_lost = is_cancelled(d, most, result, hn::TFromD<D>{2});
  if (HWY_LIKELY(hn::AllFalse(d, is_lost))) return result;
  const V low = hn::IfThenElseZero(is_lost, least);
  const V near =
      log_near_zero(d, times_ln2(d, hn::IfThenElseZero(is_lost, most)), times_ln2(d, low));
  return hn::IfThenElse(is_lost, hn::Mul(near, per_ln2), result);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
