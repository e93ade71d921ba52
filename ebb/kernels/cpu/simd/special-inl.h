// ebb/kernels/cpu/simd/special-inl.h -- exponentials, logarithms to other bases, hyperbolic
// functions and the normal distribution on vectors of float32 or float64.
//
// The errors that tests/kernels/math_test.cpp allows are a few units in the last place. The
// polynomials of erf and erfc are Chebyshev interpolations made for this file from values of 60
// digits; in float32 and float64 their own error is below that of one rounding. Included once per
// target (see each_target.h).
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

/// Constants of logarithms to other bases and of the exponent's arithmetic.
template <typename T>
struct BaseTraits;
template <>
struct BaseTraits<float> {
  static constexpr float kLog2E = 0x1.715476p+0f, kLog10E = 0x1.bcb7b2p-2f;
  // High parts are short: their product with an exponent is exact.
  static constexpr float kLog10Of2High = 0x1.344p-2f, kLog10Of2Low = 0x1.3509f8p-18f;
  static constexpr float kLn2High = 0x1.62ep-1f, kLn2Low = 0x1.0bfbe8p-15f;
  static constexpr float kTopExponent = 129, kLowestExponent = -151;
  static constexpr float kOverflow = 89, kHalfOverflow = 88, kAllLost = -18;
};
template <>
struct BaseTraits<double> {
  static constexpr double kLog2E = 0x1.71547652b82fep+0, kLog10E = 0x1.bcb7b1526e50ep-2;
  static constexpr double kLog10Of2High = 0x1.34413509f4p-2;
  static constexpr double kLog10Of2Low = 0x1.cff7988f8959bp-41;
  static constexpr double kLn2High = 0x1.62e42fefa2p-1, kLn2Low = 0x1.9ef35793c7673p-41;
  static constexpr double kTopExponent = 1025, kLowestExponent = -1076;
  static constexpr double kOverflow = 710, kHalfOverflow = 709, kAllLost = -38;
};

/// 2^k for integers k within the exponents of normal numbers.
template <class D, class V>
HWY_INLINE V power_of_2(D d, V k) {
  using Traits = LogTraits<hn::TFromD<D>>;
  const hn::RebindToSigned<D> di;
  const auto biased = hn::Add(hn::ConvertTo(di, k), hn::Set(di, Traits::kBias));
  return hn::BitCast(d, hn::ShiftLeft<Traits::kMantissaBits>(biased));
}

/// x * 2^k in two steps, for results beyond the normal numbers.
template <class D, class V>
HWY_INLINE V scale(D d, V x, V k) {
  const V half = hn::Round(hn::Mul(k, hn::Set(d, hn::TFromD<D>(0.5))));
  return hn::Mul(hn::Mul(x, power_of_2(d, half)), power_of_2(d, hn::Sub(k, half)));
}

template <class D, class V>
HWY_INLINE V log2_of(D d, V x) {
  using Traits = BaseTraits<hn::TFromD<D>>;
  const LogParts<V> parts = log_parts(d, x);
  const V of_mantissa = hn::Add(hn::Sub(parts.product, parts.half_square), parts.f);
  const V result = hn::MulAdd(of_mantissa, hn::Set(d, Traits::kLog2E), parts.exponent);
  return log_limits(d, x, result);
}

template <class D, class V>
HWY_INLINE V log10_of(D d, V x) {
  using Traits = BaseTraits<hn::TFromD<D>>;
  const LogParts<V> parts = log_parts(d, x);
  const V of_mantissa = hn::Add(hn::Sub(parts.product, parts.half_square), parts.f);
  const V low = hn::MulAdd(parts.exponent, hn::Set(d, Traits::kLog10Of2Low),
                           hn::Mul(of_mantissa, hn::Set(d, Traits::kLog10E)));
  const V result = hn::MulAdd(parts.exponent, hn::Set(d, Traits::kLog10Of2High), low);
  return log_limits(d, x, result);
}

/// log(1 + x): what the sum lost is put back as a linear correction.
template <class D, class V>
HWY_INLINE V log1p_of(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1});
  const V sum = hn::Add(x, one);
  const V lost = hn::Sub(x, hn::Sub(sum, one));
  const V result = hn::Add(log_of(d, sum), hn::Div(lost, sum));
  // Where the correction has no meaning: sums of 0 and infinity.
  const auto is_regular =
      hn::And(hn::Gt(sum, hn::Zero(d)), hn::Lt(x, hn::Set(d, std::numeric_limits<T>::infinity())));
  const V regular = hn::IfThenElse(is_regular, result, log_of(d, sum));
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, regular);
}

template <class D, class V>
HWY_INLINE V exp2_of(D d, V x) {
  using T = hn::TFromD<D>;
  using Traits = BaseTraits<T>;
  const V clamped =
      hn::Min(hn::Max(x, hn::Set(d, Traits::kLowestExponent)), hn::Set(d, Traits::kTopExponent));
  const V k = hn::Round(clamped);
  const V fraction = hn::Sub(clamped, k);
  const V power = exp_of(d, hn::Mul(fraction, hn::Set(d, T(0.69314718055994530942))));
  return hn::IfThenElse(hn::IsNaN(x), x, scale(d, power, k));
}

/// (exp(r) - 1 - r) / r^2 for |r| <= log(2) / 2.
template <class D, class V>
HWY_INLINE V expm1_series(D d, V r) {
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    constexpr float kC[] = {5.000000013e-01f, 1.666666668e-01f, 4.166646501e-02f,
                            8.333310934e-03f, 1.393364103e-03f, 1.989098087e-04f};
    return polynomial(d, r, kC);
  } else {
    constexpr double kC[] = {
        5.00000000000000000e-01, 1.66666666666666713e-01, 4.16666666666666713e-02,
        8.33333333332614105e-03, 1.38888888888837525e-03, 1.98412698748004929e-04,
        2.48015873255333634e-05, 2.75572554257464351e-06, 2.75572736613486373e-07,
        2.51052063739570109e-08, 2.09146793765839349e-09};
    return polynomial(d, r, kC);
  }
}

/// exp(x) - 1 = 2^k ((exp(r) - 1) + (1 - 2^-k)) for x = k log(2) + r.
template <class D, class V>
HWY_INLINE V expm1_of(D d, V x) {
  using T = hn::TFromD<D>;
  using Traits = BaseTraits<T>;
  const V clamped =
      hn::Min(hn::Max(x, hn::Set(d, Traits::kAllLost)), hn::Set(d, Traits::kOverflow));
  const V k = hn::Round(hn::Mul(clamped, hn::Set(d, Traits::kLog2E)));
  const V high = hn::NegMulAdd(k, hn::Set(d, Traits::kLn2High), clamped);
  const V r = hn::NegMulAdd(k, hn::Set(d, Traits::kLn2Low), high);
  const V small = hn::MulAdd(hn::Mul(r, r), expm1_series(d, r), r);
  // 2^-100 is as good as 0.
  const V inverse = power_of_2(d, hn::Max(hn::Neg(k), hn::Set(d, T{-100})));
  const V rest = hn::Sub(hn::Set(d, T{1}), inverse);
  const V result = scale(d, hn::Add(small, rest), k);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(hn::Abs(result), x));
}

template <class D, class V>
HWY_INLINE V sinh_of(D d, V x) {
  using T = hn::TFromD<D>;
  const V half = hn::Set(d, T{0.5});
  const V magnitude = hn::Abs(x);
  const V grown = expm1_of(d, magnitude);
  const V sum = hn::Add(grown, hn::Div(grown, hn::Add(grown, hn::Set(d, T{1}))));
  // Close to overflow, by the square of a square root.
  const V root = exp_of(d, hn::Mul(magnitude, half));
  const V large = hn::Mul(hn::Mul(root, half), root);
  const auto is_large = hn::Gt(magnitude, hn::Set(d, BaseTraits<T>::kHalfOverflow));
  const V result = hn::IfThenElse(is_large, large, hn::Mul(sum, half));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(result, x));
}

template <class D, class V>
HWY_INLINE V cosh_of(D d, V x) {
  using T = hn::TFromD<D>;
  const V half = hn::Set(d, T{0.5});
  const V magnitude = hn::Abs(x);
  const auto is_large = hn::Gt(magnitude, hn::Set(d, BaseTraits<T>::kHalfOverflow));
  const V grown = exp_of(d, hn::IfThenElse(is_large, hn::Mul(magnitude, half), magnitude));
  const V large = hn::Mul(hn::Mul(grown, half), grown);
  const V sum = hn::MulAdd(grown, half, hn::Div(half, grown));
  return hn::IfThenElse(is_large, large, sum);
}

/// 1 / (1 + exp(-x)), by the exponential that cannot overflow.
template <class D, class V>
HWY_INLINE V sigmoid_of(D d, V x) {
  const V one = hn::Set(d, hn::TFromD<D>{1});
  const V small = exp_of(d, hn::Neg(hn::Abs(x)));
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), small, one);
  return hn::Div(numerator, hn::Add(small, one));
}

/// log(1 + exp(x)).
template <class D, class V>
HWY_INLINE V softplus_of(D d, V x) {
  const V small = exp_of(d, hn::Neg(hn::Abs(x)));
  const V above = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);  // NaN stays
  return hn::Add(above, log1p_of(d, small));
}

/// exp(t^2) erfc(t) for t >= 0: a polynomial in (1 - ct) / (1 + ct), good up to
/// 10.2 in float32 and 27.5 in float64, where erfc is 0.
template <class D, class V>
HWY_INLINE V scaled_erfc(D d, V t) {
  using T = hn::TFromD<D>;
  constexpr bool kSingle = std::is_same_v<T, float>;
  constexpr double kC = kSingle ? 0.35 : 0.25;
  const V one = hn::Set(d, T{1});
  const V argument = hn::MulAdd(t, hn::Set(d, T(kC)), one);
  const V v = hn::Sub(hn::Div(hn::Set(d, T{2}), argument), one);
  if constexpr (kSingle) {
    constexpr float kP[] = {1.871063766e-01f, 3.382849804e-01f,  2.482909109e-01f,
                            1.446605948e-01f, 6.346758924e-02f,  1.821093253e-02f,
                            1.505066748e-03f, -1.225415160e-03f, -4.257680958e-04f,
                            8.032508518e-05f, 6.111807725e-05f,  -1.671112469e-05f};
    return polynomial(d, v, kP);
  } else {
    constexpr double kP[] = {
        1.36999457625061383e-01,  2.59068048760171643e-01,  2.18719678918264882e-01,
        1.64257816697309211e-01,  1.08963177398905278e-01,  6.31078156397338330e-02,
        3.12990565186802780e-02,  1.28439460314120520e-02,  4.06026362406029795e-03,
        7.99126812668258255e-04,  -2.17617230387448336e-05, -7.89831700016256231e-05,
        -2.25560240747650753e-05, 1.90313289894459838e-06,  2.94451148848144050e-06,
        4.09023215451908444e-07,  -2.84058500386665752e-07, -9.68224941981987716e-08,
        2.54101674686258725e-08,  1.60305489755028955e-08,  -2.52928317367326594e-09,
        -2.40282277957834154e-09, 4.02362986619257339e-10,  2.68281999210818508e-10,
        -7.50157712763209483e-11};
    return polynomial(d, v, kP);
  }
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

template <class D, class V>
HWY_INLINE V erf_of(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1});
  constexpr double kLast = std::is_same_v<T, float> ? 10.2 : 27.5;
  const V magnitude = hn::Min(hn::Abs(x), hn::Set(d, T(kLast)));
  const V series = erf_series(d, hn::Mul(magnitude, magnitude));
  const V near = hn::MulAdd(magnitude, series, magnitude);
  const V rest = hn::Mul(exp_of_minus_square(d, magnitude), scaled_erfc(d, magnitude));
  const V result = hn::IfThenElse(hn::Lt(magnitude, one), near, hn::Sub(one, rest));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(result, x));
}

/// 1 - erf(x), without loss far above 0.
template <class D, class V>
HWY_INLINE V erfc_of(D d, V x) {
  using T = hn::TFromD<D>;
  constexpr double kLast = std::is_same_v<T, float> ? 10.2 : 27.5;
  const V t = hn::Min(hn::Abs(x), hn::Set(d, T(kLast)));
  const V tail = hn::Mul(exp_of_minus_square(d, t), scaled_erfc(d, t));
  const V result = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Set(d, T{2}), tail), tail);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

/// log(x + sqrt(x^2 + 1)), for |x| beyond 1e9 (where its square may overflow) as log(2 |x|).
template <class D, class V>
HWY_INLINE V asinh_of(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1});
  const V size = hn::Abs(x);
  const auto is_large = hn::Gt(size, hn::Set(d, T(1e9)));
  const V t = hn::IfThenElse(is_large, one, size);
  const V square = hn::Mul(t, t);
  const V grown = hn::Add(t, hn::Div(square, hn::Add(one, hn::Sqrt(hn::Add(one, square)))));
  const V argument = hn::IfThenElse(is_large, size, grown);
  const V shift = hn::IfThenElseZero(is_large, hn::Set(d, T(0.69314718055994530942)));
  return hn::CopySign(hn::Add(log1p_of(d, argument), shift), x);
}

/// log(x + sqrt(x^2 - 1)) by x - 1, which is exact close to 1.
template <class D, class V>
HWY_INLINE V acosh_of(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1});
  const auto is_large = hn::Gt(x, hn::Set(d, T(1e9)));
  const V t = hn::Sub(hn::IfThenElse(is_large, one, x), one);
  const V grown = hn::Add(t, hn::Sqrt(hn::MulAdd(t, t, hn::Add(t, t))));
  const V argument = hn::IfThenElse(is_large, x, grown);
  const V shift = hn::IfThenElseZero(is_large, hn::Set(d, T(0.69314718055994530942)));
  const V result = hn::Add(log1p_of(d, argument), shift);
  const V nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
  return hn::IfThenElse(hn::Ge(x, one), result, nan);
}

/// log((1 + x) / (1 - x)) / 2.
template <class D, class V>
HWY_INLINE V atanh_of(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1});
  const V size = hn::Abs(x);
  const V ratio = hn::Div(hn::Add(size, size), hn::Sub(one, size));
  const V result = hn::Mul(log1p_of(d, ratio), hn::Set(d, T{0.5}));
  const V nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
  return hn::CopySign(hn::IfThenElse(hn::Le(size, one), result, nan), x);
}

/// Minus the distance of two numbers; equal infinities are 0 apart.
template <class D, class V>
HWY_INLINE V minus_distance(D, V lhs, V rhs) {
  return hn::IfThenZeroElse(hn::Eq(lhs, rhs), hn::Neg(hn::Abs(hn::Sub(lhs, rhs))));
}

/// log(exp(lhs) + exp(rhs)).
template <class D, class V>
HWY_INLINE V logaddexp_of(D d, V lhs, V rhs) {
  const V distance = minus_distance(d, lhs, rhs);
  return hn::Add(hn::Max(lhs, rhs), log1p_of(d, exp_of(d, distance)));
}

/// The same to base 2.
template <class D, class V>
HWY_INLINE V logaddexp2_of(D d, V lhs, V rhs) {
  const V distance = minus_distance(d, lhs, rhs);
  const V rest = log1p_of(d, exp2_of(d, distance));
  const V one = hn::Set(d, hn::TFromD<D>{1});  // where both are equal, exactly
  const V scaled = hn::Mul(rest, hn::Set(d, BaseTraits<hn::TFromD<D>>::kLog2E));
  return hn::Add(hn::IfThenElse(hn::Eq(lhs, rhs), one, scaled), hn::Max(lhs, rhs));
}

/// The normal distribution at x, and its density without the factor 1 / sqrt(2 pi).
template <class D, class V>
HWY_INLINE void normal_of(D d, V x, V& distribution, V& density) {
  using T = hn::TFromD<D>;
  constexpr double kLast = std::is_same_v<T, float> ? 10.2 : 27.5;
  const V scaled = hn::Mul(hn::Abs(x), hn::Set(d, T(0.70710678118654752440)));
  const V t = hn::Min(scaled, hn::Set(d, T(kLast)));
  density = exp_of_minus_square(d, t);
  const V tail = hn::Mul(hn::Mul(density, hn::Set(d, T{0.5})), scaled_erfc(d, t));
  const auto is_upper = hn::Gt(x, hn::Zero(d));
  distribution = hn::IfThenElse(is_upper, hn::Sub(hn::Set(d, T{1}), tail), tail);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
