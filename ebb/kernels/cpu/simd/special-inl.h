// ebb/kernels/cpu/simd/special-inl.h -- exponentials, logarithms to other bases, hyperbolic
// functions and the normal distribution on vectors of float32 or float64.
//
// Elementary functions stay within one unit in the last place in float64 and close to it in
// float32, by carrying what sums, products and quotients round away beside them (Pair); without
// fused multiply-adds products lose that, and errors are half as large again
// (tests/kernels/math_test.cpp). The polynomials of erf and erfc are Chebyshev interpolations made
// for this file from values of 60 digits; in float32 and float64 their own error is below that of
// one rounding. Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_SPECIAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_SPECIAL_INL_H
#undef EBB_KERNELS_CPU_SPECIAL_INL_H
#else
#define EBB_KERNELS_CPU_SPECIAL_INL_H
#endif

#include <limits>
#include <type_traits>

#include "ebb/kernels/cpu/simd/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A number as the sum of two, the second below the last place of the first.
template <class V>
struct Pair {
  V high, low;
};

/// a + b exactly, where |a| >= |b| or a is 0.
template <class V>
HWY_INLINE Pair<V> exact_sum(V a, V b) {
  const V sum = hn::Add(a, b);
  return {sum, hn::Add(hn::Sub(a, sum), b)};
}

/// log(1 + f) times a constant of two parts, which makes another base of it.
template <class D, class V>
HWY_INLINE Pair<V> log_of_mantissa(D d, const LogParts<V>& parts, hn::TFromD<D> factor,
                                   hn::TFromD<D> factor_low) {
  const V high = hn::Sub(parts.f, parts.half_square);
  const V low = hn::Add(hn::Sub(hn::Sub(parts.f, high), parts.half_square), parts.product);
  const V by = hn::Set(d, factor);
  const V product = hn::Mul(high, by);
#if HWY_NATIVE_FMA
  const V rounded = hn::MulSub(high, by, product);
#else
  const V rounded = hn::Zero(d);
#endif
  const V rest = hn::MulAdd(high, hn::Set(d, factor_low), hn::MulAdd(low, by, rounded));
  return {product, rest};
}

template <class D, class V>
HWY_INLINE V log2_of(D d, V x) {
  using Traits = BaseTraits<hn::TFromD<D>>;
  const LogParts<V> parts = log_parts(d, x);
  const Pair<V> rest = log_of_mantissa(d, parts, Traits::kLog2E, Traits::kLog2ELow);
  const Pair<V> sum = exact_sum(parts.exponent, rest.high);
  return log_limits(d, x, hn::Add(sum.high, hn::Add(sum.low, rest.low)));
}

template <class D, class V>
HWY_INLINE V log10_of(D d, V x) {
  using Traits = BaseTraits<hn::TFromD<D>>;
  const LogParts<V> parts = log_parts(d, x);
  const Pair<V> rest = log_of_mantissa(d, parts, Traits::kLog10E, Traits::kLog10ELow);
  const Pair<V> sum =
      exact_sum(hn::Mul(parts.exponent, hn::Set(d, Traits::kLog10Of2High)), rest.high);
  const V low = hn::MulAdd(parts.exponent, hn::Set(d, Traits::kLog10Of2Low), rest.low);
  return log_limits(d, x, hn::Add(sum.high, hn::Add(sum.low, low)));
}

/// log(2^doublings (1 + x + rest)): what the sum of 1 and x lost, and the rest, correct the
/// logarithm's last terms.
template <class D, class V>
HWY_INLINE V log1p_of(D d, V x, V rest, V doublings) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1});
  const V sum = hn::Add(x, one);
  const V most = hn::Max(x, one), least = hn::Min(x, one);
  const V lost = hn::Add(hn::Add(hn::Sub(most, sum), least), rest);
  const LogParts<V> parts = log_parts(d, sum);
  const V exponent = hn::Add(parts.exponent, doublings);
  const V low = hn::MulAdd(exponent, hn::Set(d, LogTraits<T>::kLn2Low),
                           hn::Add(parts.product, hn::Div(lost, sum)));
  const V result = hn::MulAdd(exponent, hn::Set(d, LogTraits<T>::kLn2High),
                              hn::Add(hn::Sub(low, parts.half_square), parts.f));
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, log_limits(d, sum, result));
}

template <class D, class V>
HWY_INLINE V log1p_of(D d, V x) {
  return log1p_of(d, x, hn::Zero(d), hn::Zero(d));
}

template <class D, class V>
HWY_INLINE V exp2_of(D d, V x) {
  using T = hn::TFromD<D>;
  using Traits = BaseTraits<T>;
  const V clamped =
      hn::Min(hn::Max(x, hn::Set(d, Traits::kLowestExponent)), hn::Set(d, Traits::kTopExponent));
  const V k = hn::Round(clamped);
  const V fraction = hn::Sub(clamped, k);
  const V ln2 = hn::Set(d, Traits::kLn2);
  const V r = hn::Mul(fraction, ln2);
#if HWY_NATIVE_FMA
  const V rounded = hn::MulSub(fraction, ln2, r);
#else
  const V rounded = hn::Zero(d);
#endif
  const V lost = hn::MulAdd(fraction, hn::Set(d, Traits::kLn2Rest), rounded);
  const V tail = hn::MulAdd(hn::Mul(r, r), expm1_series(d, r), lost);
  const Pair<V> sum = exact_sum(hn::Set(d, T{1}), r);
  return hn::IfThenElse(hn::IsNaN(x), x, scale(d, hn::Add(sum.high, hn::Add(sum.low, tail)), k));
}

/// exp(x) - 1 = 2^k ((exp(r) - 1) + (1 - 2^-k)) for x = k log(2) + r, without the factor 2^k.
template <class D, class V>
HWY_INLINE Pair<V> expm1_parts(D d, V x, V& k) {
  using T = hn::TFromD<D>;
  using Traits = BaseTraits<T>;
  const V clamped =
      hn::Min(hn::Max(x, hn::Set(d, Traits::kAllLost)), hn::Set(d, Traits::kOverflow));
  k = hn::Round(hn::Mul(clamped, hn::Set(d, Traits::kLog2E)));
  const V high = hn::NegMulAdd(k, hn::Set(d, Traits::kLn2High), clamped);
  const V ln2_low = hn::Set(d, Traits::kLn2Low);
  const V r = hn::NegMulAdd(k, ln2_low, high);
  const V lost = hn::NegMulAdd(k, ln2_low, hn::Sub(high, r));
  const V square = hn::Mul(r, r);
  const V tail = hn::MulAdd(square, expm1_series(d, r), hn::MulAdd(r, lost, lost));
  // 2^-100 is as good as 0.
  const V inverse = power_of_2(d, hn::Max(hn::Neg(k), hn::Set(d, T{-100})));
  const Pair<V> rest = exact_sum(hn::Set(d, T{1}), hn::Neg(inverse));
  const Pair<V> sum = exact_sum(rest.high, r);
  return {sum.high, hn::Add(hn::Add(rest.low, sum.low), tail)};
}

template <class D, class V>
HWY_INLINE V expm1_of(D d, V x) {
  V k;
  const Pair<V> parts = expm1_parts(d, x, k);
  const V result = scale(d, hn::Add(parts.high, parts.low), k);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(hn::Abs(result), x));
}

/// exp(|x|) - 1 as an exact sum where it does not overflow, and exp(|x|) / 2 where |x| is large.
template <class V, class M>
struct Grown {
  V high, low, large;
  M is_large;
};

template <class D, class V>
HWY_INLINE auto grown_of(D d, V magnitude) {
  using T = hn::TFromD<D>;
  const auto is_large = hn::Gt(magnitude, hn::Set(d, BaseTraits<T>::kHalfOverflow));
  V k;
  const Pair<V> parts = expm1_parts(d, magnitude, k);
  const Pair<V> sum = exact_sum(parts.high, parts.low);
  const V large = scale(d, sum.high, hn::Sub(k, hn::Set(d, T{1})));
  const V small = hn::IfThenZeroElse(is_large, k);
  return Grown<V, decltype(is_large)>{scale(d, sum.high, small), scale(d, sum.low, small), large,
                                      is_large};
}

/// grown + 1, exactly.
template <class D, class V, class M>
HWY_INLINE Pair<V> power_of(D d, const Grown<V, M>& grown) {
  const V one = hn::Set(d, hn::TFromD<D>{1});
  const V sum = hn::Add(grown.high, one);
  const V most = hn::Max(grown.high, one), least = hn::Min(grown.high, one);
  return {sum, hn::Add(hn::Add(hn::Sub(most, sum), least), grown.low)};
}

/// (e + e / (e + 1)) / 2 for e = exp(|x|) - 1.
template <class D, class V>
HWY_INLINE V sinh_of(D d, V x) {
  using T = hn::TFromD<D>;
  const auto grown = grown_of(d, hn::Abs(x));
  const Pair<V> power = power_of(d, grown);
  const V inverse = hn::Div(hn::Set(d, T{1}), power.high);
  const V quotient = hn::Mul(grown.high, inverse);
  const V rest = hn::Add(hn::NegMulAdd(quotient, power.high, grown.high),
                         hn::NegMulAdd(quotient, power.low, grown.low));
  const Pair<V> sum = exact_sum(grown.high, quotient);
  const V low = hn::Add(hn::MulAdd(rest, inverse, sum.low), grown.low);
  const V result = hn::Mul(hn::Add(sum.high, low), hn::Set(d, T{0.5}));
  const V chosen = hn::IfThenElse(grown.is_large, grown.large, result);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(chosen, x));
}

/// (p + 1 / p) / 2 for p = exp(|x|).
template <class D, class V>
HWY_INLINE V cosh_of(D d, V x) {
  using T = hn::TFromD<D>;
  const auto grown = grown_of(d, hn::Abs(x));
  const Pair<V> power = power_of(d, grown);
  const V inverse = hn::Div(hn::Set(d, T{1}), power.high);
  const V result = hn::Mul(hn::Add(power.high, hn::Add(power.low, inverse)), hn::Set(d, T{0.5}));
  const V chosen = hn::IfThenElse(grown.is_large, grown.large, result);
  return hn::IfThenElse(hn::IsNaN(x), x, chosen);
}

/// 1 / (1 + exp(-x)), by the exponential that cannot overflow.
template <class D, class V>
HWY_INLINE V sigmoid_of(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1});
  const V small = exp_of(d, hn::Neg(hn::Abs(x)));
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), small, one);
  const Pair<V> sum = exact_sum(one, small);
  const V quotient = hn::Div(numerator, sum.high);
  // What the sum rounds away, over the sum: of 1 / sum the first bits will do.
  const V line = hn::NegMulAdd(sum.high, hn::Set(d, T{0.5}), hn::Set(d, T(1.457)));
  return hn::NegMulAdd(hn::Mul(quotient, sum.low), line, quotient);
}

/// log(1 + exp(x)).
template <class D, class V>
HWY_INLINE V softplus_of(D d, V x) {
  const V small = exp_of(d, hn::Neg(hn::Abs(x)));
  const V above = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);  // NaN stays
  return hn::Add(above, log1p_of(d, small));
}

/// exp(t^2) erfc(t) for t >= 0 in float64, good up to 27.5, where erfc is 0: 2 / (1 + ct), which
/// falls as it does, times a polynomial in (1 - ct) / (1 + ct), whose terms then do not cancel.
template <class D, class V>
HWY_INLINE V scaled_erfc(D d, V t) {
  const V one = hn::Set(d, 1.0);
  const V quotient = hn::Div(hn::Set(d, 2.0), hn::MulAdd(t, hn::Set(d, 0.25), one));
  const V v = hn::Sub(quotient, one);
  constexpr double kP[] = {
      1.36999457625061383e-01,  1.22068591135110260e-01,  9.66510877831546905e-02,
      6.76067289141525918e-02,  4.13564484847478292e-02,  2.17513671550532070e-02,
      9.54768936375048269e-03,  3.29625666656701731e-03,  7.64006955973881561e-04,
      3.51198667790888187e-05,  -5.68815794352875925e-05, -2.21016484486047593e-05,
      -4.54417259538242717e-07, 2.35776771104137754e-06,  5.86840464801643702e-07,
      -1.78363155740969732e-07, -1.05805303433732764e-07, 9.89066783211038774e-09,
      1.55097252920321609e-08,  -4.40456987800270614e-10, -1.90307238775385497e-09,
      8.70087405802915384e-11,  1.11203827310770897e-10};
  return hn::Mul(quotient, polynomial(d, v, kP));
}

/// exp(-t^2): the rounding error of the square is made good.
template <class D, class V>
HWY_INLINE V exp_of_minus_square(D d, V t) {
  const V square = hn::Mul(t, t);
  const V power = exp_of(d, hn::Neg(square));
#if HWY_NATIVE_FMA
  const V error = hn::MulSub(t, t, square);
  return hn::NegMulAdd(power, error, power);
#else
  return power;
#endif
}

/// erf(x) / x - 1 as a polynomial in z = x^2 <= 1.
template <class D, class V>
HWY_INLINE V erf_series(D d, V z) {
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    constexpr float kP[] = {1.283791671e-01f,  -3.761263847e-01f, 1.128378250e-01f,
                            -2.686543073e-02f, 5.221031808e-03f,  -8.484080406e-04f,
                            1.126595903e-04f,  -9.667044571e-06f};
    return polynomial(d, z, kP);
  } else {
    constexpr double kP[] = {
        1.28379167095512574e-01,  -3.76126389031837538e-01, 1.12837916709551206e-01,
        -2.68661706451298402e-02, 5.22397762542329853e-03,  -8.54832702193482970e-04,
        1.20553329028887357e-04,  -1.49256475675193321e-05, 1.64620454414684182e-06,
        -1.63646421581676160e-07, 1.47924012094048135e-08,  -1.21645600572834498e-09,
        8.70904512905310619e-11,  -4.23094582429533771e-12};
    return polynomial(d, z, kP);
  }
}

/// 1 - erf(x) for x >= 1, where it need not be exact beside 1: by a polynomial for its logarithm,
/// up to 4, from where on the difference is 1 in float32.
template <class D, class V>
HWY_INLINE V rough_erfc(D d, V x) {
  constexpr float kP[] = {3.201380497e-04f,  -1.130233435e+00f, -6.318260516e-01f,
                          -1.100800829e-01f, 2.642113601e-02f,  -4.759596293e-03f,
                          5.968056257e-04f,  -4.605804269e-05f, 1.637151415e-06f};
  const V top = hn::Set(d, 4.0f);
  const V log = polynomial(d, hn::IfThenElse(hn::Gt(x, top), top, x), kP);  // NaN stays
  return raised_exp(d, log, hn::Zero(d), 0);
}

template <class D, class V>
HWY_INLINE V erf_of(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1});
  const V magnitude = hn::Abs(x);
  const V series = erf_series(d, hn::Mul(magnitude, magnitude));
  const V near = hn::MulAdd(magnitude, series, magnitude);
  V rest;
  if constexpr (std::is_same_v<T, float>) {
    rest = rough_erfc(d, magnitude);
  } else {
    const V top = hn::Set(d, T{27.5});  // from 6 on the result is 1; NaN stays
    const V bounded = hn::IfThenElse(hn::Gt(magnitude, top), top, magnitude);
    rest = hn::Mul(exp_of_minus_square(d, bounded), scaled_erfc(d, bounded));
  }
  const V result = hn::IfThenElse(hn::Lt(magnitude, one), near, hn::Sub(one, rest));
  return hn::CopySign(result, x);
}

/// 1 - erf(x) in float64, without loss far above 0.
template <class D, class V>
HWY_INLINE V erfc_of(D d, V x) {
  const V t = hn::Min(hn::Abs(x), hn::Set(d, 27.5));
  const V tail = hn::Mul(exp_of_minus_square(d, t), scaled_erfc(d, t));
  const V result = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 2.0), tail), tail);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

/// a + b and what the sum rounds away, whichever is larger.
template <class V>
HWY_INLINE Pair<V> sorted_sum(V a, V b) {
  return exact_sum(hn::Max(a, b), hn::Min(a, b));
}

/// x^2 as the sum of two numbers, with fused multiply-adds.
template <class D, class V>
HWY_INLINE Pair<V> exact_square([[maybe_unused]] D d, V x) {
  const V square = hn::Mul(x, x);
#if HWY_NATIVE_FMA
  return {square, hn::MulSub(x, x, square)};
#else
  return {square, hn::Zero(d)};
#endif
}

/// log(x + sqrt(x^2 + 1)), for |x| beyond 1e9 (where its square may overflow) as log(2 |x|). What
/// stands beside x is sqrt(x^2 + 1) - 1, below 1/2 as x^2 / (sqrt(x^2 + 1) + 1).
template <class D, class V>
HWY_INLINE V asinh_of(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1});
  const V size = hn::Abs(x);
  const auto is_large = hn::Gt(size, hn::Set(d, T(1e9)));
  const auto is_small = hn::Lt(size, hn::Set(d, T{0.5}));
  const V t = hn::IfThenElse(is_large, one, size);
  const Pair<V> square = exact_square(d, t);
  const Pair<V> sum = sorted_sum(square.high, one);
  const V root = hn::Sqrt(sum.high);
  const V lost = hn::Add(hn::NegMulAdd(root, root, sum.high), hn::Add(sum.low, square.low));
  const V quotient = hn::Div(hn::IfThenElse(is_small, square.high, lost),
                             hn::Add(root, hn::IfThenElse(is_small, one, root)));
  const Pair<V> below = exact_sum(root, hn::Neg(one));
  const V above = hn::IfThenElse(is_small, quotient, below.high);
  const V above_low = hn::IfThenZeroElse(is_small, hn::Add(quotient, below.low));
  const Pair<V> grown = sorted_sum(t, above);
  const V argument = hn::IfThenElse(is_large, size, grown.high);
  const V rest = hn::IfThenElse(is_large, hn::Neg(one), hn::Add(grown.low, above_low));
  const V doublings = hn::IfThenElseZero(is_large, one);
  const V result = hn::CopySign(log1p_of(d, argument, rest, doublings), x);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

/// log(x + sqrt(x^2 - 1)) by t = x - 1, which is exact close to 1: sqrt(t^2 + 2 t) stands beside t.
template <class D, class V>
HWY_INLINE V acosh_of(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1});
  const auto is_large = hn::Gt(x, hn::Set(d, T(1e9)));
  const Pair<V> exact = exact_sum(hn::IfThenElse(is_large, one, x), hn::Neg(one));
  const V t = exact.high;
  const Pair<V> square = exact_square(d, t);
  const Pair<V> sum = sorted_sum(hn::Add(t, t), square.high);
  const V root = hn::Sqrt(sum.high);
  const V lost = hn::Add(hn::NegMulAdd(root, root, sum.high), hn::Add(sum.low, square.low));
  const auto is_above = hn::Gt(root, hn::Zero(d));
  const V root_low = hn::IfThenElseZero(is_above, hn::Div(lost, hn::Add(root, root)));
  const Pair<V> grown = exact_sum(root, t);  // the root is larger
  const V low = hn::Add(hn::Add(grown.low, root_low), exact.low);
  const V argument = hn::IfThenElse(is_large, x, grown.high);
  const V rest = hn::IfThenElse(is_large, hn::Neg(one), low);
  const V result = log1p_of(d, argument, rest, hn::IfThenElseZero(is_large, one));
  const V nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
  return hn::IfThenElse(hn::Ge(x, one), result, nan);
}

/// log((1 + x) / (1 - x)) / 2, by 2 x / (1 - x) and what that rounds away.
template <class D, class V>
HWY_INLINE V atanh_of(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1});
  const V size = hn::Abs(x);
  const V twice = hn::Add(size, size);
  const Pair<V> below = exact_sum(one, hn::Neg(size));
  const V inverse = hn::Div(one, below.high);
  const V ratio = hn::Mul(twice, inverse);
  const V rest = hn::NegMulAdd(ratio, below.low, hn::NegMulAdd(ratio, below.high, twice));
  const auto is_inside = hn::Lt(size, one);
  const V lost = hn::IfThenElseZero(is_inside, hn::Mul(rest, inverse));
  const V result = hn::Mul(log1p_of(d, ratio, lost, hn::Zero(d)), hn::Set(d, T{0.5}));
  const V nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
  return hn::CopySign(hn::IfThenElse(hn::Le(size, one), result, nan), x);
}

/// exp(-x^2 / 2) times 2^raise: of the square, what its rounding loses counts too.
template <class D, class V>
HWY_INLINE V raised_bell(D d, V x, int raise) {
  const V half = hn::Mul(x, hn::Set(d, hn::TFromD<D>(0.5)));
  const V square = hn::Mul(half, x);
#if HWY_NATIVE_FMA
  const V lost = hn::NegMulAdd(half, x, square);
#else
  const V lost = hn::Zero(d);
#endif
  return raised_exp(d, hn::Neg(square), lost, raise);
}

/// The normal distribution at -t for t >= 0, times what `bell` has more than exp(-t^2 / 2). In
/// float32 their ratio is one of polynomials, up to 14.43, where the distribution is 0: 6e-9 of its
/// value from it, with no terms that cancel, and no division that the exponential waits for.
template <class D, class V>
HWY_INLINE V normal_tail(D d, V t, V bell) {
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    constexpr float kP[] = {0.5f, 4.382891317e-01f, 1.832306859e-01f, 4.063168603e-02f,
                            4.116069654e-03f};
    constexpr float kQ[] = {1.0f,
                            1.674463245e+00f,
                            1.202484955e+00f,
                            4.694588458e-01f,
                            1.018549814e-01f,
                            1.031733684e-02f};
    return hn::Div(hn::Mul(bell, polynomial(d, t, kP)), polynomial(d, t, kQ));
  } else {
    const V scaled = hn::Mul(t, hn::Set(d, 0.70710678118654752440));
    return hn::Mul(hn::Mul(bell, hn::Set(d, 0.5)), scaled_erfc(d, scaled));
  }
}

/// The normal distribution at x, and its density without the factor 1 / sqrt(2 pi).
template <class D, class V>
HWY_INLINE void normal_of(D d, V x, V& distribution, V& density) {
  using T = hn::TFromD<D>;
  constexpr double kLast = std::is_same_v<T, float> ? 14.43 : 38.89;
  // Powers of two below normal numbers come last: down to 2^-151, or 2^-1091.
  constexpr int kRaise = 100;
  const V lower = hn::Set(d, T(0x1p-100));
  const V t = hn::Min(hn::Abs(x), hn::Set(d, T(kLast)));
  const V bell = raised_bell(d, t, kRaise);
  density = hn::Mul(bell, lower);
  const V tail = hn::Mul(normal_tail(d, t, bell), lower);
  const auto is_upper = hn::Gt(x, hn::Zero(d));
  distribution = hn::IfThenElse(is_upper, hn::Sub(hn::Set(d, T{1}), tail), tail);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
