// ebb/kernels/cpu/simd/math-inl.h -- exp, log and tanh on vectors of float32 or float64.
//
// Errors, checked over all float32 numbers and over random float64 ones by math_test.cpp, stay
// within one unit in the last place (tanh in float32: 1.5); infinities, NaN, signed zeros and
// subnormal numbers are right. Sources: exp from Highway; log after FreeBSD's e_log.c (Sun
// Microsystems, 1993: public algorithm, coefficients of its minimax polynomial); tanh after Cephes
// (S. Moshier): a rational function near zero, exp elsewhere. Included once per target (see
// each_target.h).
#if defined(EBB_KERNELS_CPU_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_MATH_INL_H
#undef EBB_KERNELS_CPU_MATH_INL_H
#else
#define EBB_KERNELS_CPU_MATH_INL_H
#endif

#include <bit>
#include <limits>
#include <type_traits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// grad * slope, but grad where that is 0: a slope that is infinite or NaN stays masked.
template <class D, class V>
HWY_INLINE V masked_product(D d, V grad, V slope) {
  return hn::IfThenElse(hn::Eq(grad, hn::Zero(d)), grad, hn::Mul(grad, slope));
}

/// What log needs to know of a floating type.
template <typename T>
struct LogTraits;
template <>
struct LogTraits<float> {
  using Bits = int32_t;
  static constexpr int kMantissaBits = 23, kBias = 127, kTinyShift = 25;
  static constexpr float kTinyScale = 0x1p25f, kSqrtHalf = 0x1.6a09e6p-1f;
  static constexpr float kLn2High = 6.9313812256e-01f, kLn2Low = 9.0580006145e-06f;
};
template <>
struct LogTraits<double> {
  using Bits = int64_t;
  static constexpr int kMantissaBits = 52, kBias = 1023, kTinyShift = 54;
  static constexpr double kTinyScale = 0x1p54, kSqrtHalf = 0x1.6a09e667f3bcdp-1;
  static constexpr double kLn2High = 6.93147180369123816490e-01;
  static constexpr double kLn2Low = 1.90821492927058770002e-10;
};

/// c[0] + x c[1] + x^2 c[2] ...
template <class D, class V, typename T, size_t count>
HWY_INLINE V polynomial(D d, V x, const T (&coefficients)[count]) {
  V sum = hn::Set(d, coefficients[count - 1]);
  for (size_t i = count - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, coefficients[i]));
  return sum;
}

/// (log((1+s)/(1-s)) - 2s) / s for z = s^2 below (3 - sqrt 8)^2.
template <class D, class V>
HWY_INLINE V log_series(D d, V z) {
  using T = hn::TFromD<D>;
  if constexpr (std::is_same_v<T, float>) {
    constexpr float kLg[] = {0.66666662693f, 0.40000972152f, 0.28498786688f, 0.24279078841f};
    return hn::Mul(z, polynomial(d, z, kLg));
  } else {
    constexpr double kLg[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                              2.857142874366239149e-01, 2.222219843214978396e-01,
                              1.818357216161805012e-01, 1.531383769920937332e-01,
                              1.479819860511658591e-01};
    return hn::Mul(z, polynomial(d, z, kLg));
  }
}

/// x = 2^exponent * (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and
/// log(1 + f) = f - (half_square - product).
template <class V>
struct LogParts {
  V exponent, f, half_square, product;
};

/// The parts of a positive finite number; anything else gives parts without a meaning.
template <class D, class V>
HWY_INLINE LogParts<V> log_parts(D d, V x) {
  using T = hn::TFromD<D>;
  using Traits = LogTraits<T>;
  using Bits = typename Traits::Bits;
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  constexpr Bits kSqrtHalf = std::bit_cast<Bits>(Traits::kSqrtHalf);
  constexpr Bits kOne = std::bit_cast<Bits>(T{1});
  constexpr Bits kMantissa = (Bits{1} << Traits::kMantissaBits) - 1;

  const auto is_tiny = hn::Lt(x, hn::Set(d, std::numeric_limits<T>::min()));
  const V scaled = hn::IfThenElse(is_tiny, hn::Mul(x, hn::Set(d, Traits::kTinyScale)), x);
  const auto moved = hn::Add(hn::BitCast(di, scaled), hn::Set(di, kOne - kSqrtHalf));
  const auto biased =
      hn::BitCast(di, hn::ShiftRight<Traits::kMantissaBits>(hn::BitCast(du, moved)));
  const V shift = hn::IfThenElse(is_tiny, hn::Set(d, T(Traits::kBias + Traits::kTinyShift)),
                                 hn::Set(d, T(Traits::kBias)));
  const V exponent = hn::Sub(hn::ConvertTo(d, biased), shift);
  const V mantissa =
      hn::BitCast(d, hn::Add(hn::And(moved, hn::Set(di, kMantissa)), hn::Set(di, kSqrtHalf)));

  const V f = hn::Sub(mantissa, hn::Set(d, T{1}));
  const V s = hn::Div(f, hn::Add(f, hn::Set(d, T{2})));
  const V half_square = hn::Mul(hn::Mul(hn::Set(d, T{0.5}), f), f);
  const V series = hn::Add(half_square, log_series(d, hn::Mul(s, s)));
  return {exponent, f, half_square, hn::Mul(s, series)};
}

/// `result`, the logarithm of a positive finite x, with the values for all other x put in.
template <class D, class V>
HWY_INLINE V log_limits(D d, V x, V result) {
  using T = hn::TFromD<D>;
  constexpr T kInf = std::numeric_limits<T>::infinity();
  const V finite = hn::IfThenElse(hn::Lt(x, hn::Set(d, kInf)), result, x);  // inf and NaN stay
  const V positive = hn::IfThenElse(hn::Lt(x, hn::Zero(d)),
                                    hn::Set(d, std::numeric_limits<T>::quiet_NaN()), finite);
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Set(d, -kInf), positive);
}

template <class D, class V>
HWY_INLINE V log_of(D d, V x) {
  using Traits = LogTraits<hn::TFromD<D>>;
  const LogParts<V> parts = log_parts(d, x);
  const V low = hn::MulAdd(parts.exponent, hn::Set(d, Traits::kLn2Low), parts.product);
  const V result = hn::MulAdd(parts.exponent, hn::Set(d, Traits::kLn2High),
                              hn::Add(hn::Sub(low, parts.half_square), parts.f));
  return log_limits(d, x, result);
}

template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  using T = hn::TFromD<D>;
  // Beyond this the result is infinite, and Highway's exponent arithmetic would wrap around.
  constexpr T kTop = sizeof(T) == 4 ? T(89) : T(710);
  const V result = hn::Exp(d, hn::Min(x, hn::Set(d, kTop)));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

/// {numerator, denominator} of (tanh(x) - x) for |x| < 0.625.
template <class D, class V>
HWY_INLINE void tanh_near_zero(D d, V x, V& numerator, V& denominator) {
  using T = hn::TFromD<D>;
  const V square = hn::Mul(x, x);
  const V cube = hn::Mul(square, x);
  if constexpr (std::is_same_v<T, float>) {
    constexpr float kP[] = {-3.33332819422e-1f, 1.33314422036e-1f, -5.37397155531e-2f,
                            2.06390887954e-2f, -5.70498872745e-3f};
    numerator = hn::Mul(cube, polynomial(d, square, kP));
    denominator = hn::Set(d, 1.0f);
  } else {
    constexpr double kP[] = {-1.61468768441708447952e3, -9.92877231001918586564e1,
                             -9.64399179425052238628e-1};
    constexpr double kQ[] = {4.84406305325125486048e3, 2.23548839060100448583e3,
                             1.12811678491632931402e2, 1.0};
    numerator = hn::Mul(cube, polynomial(d, square, kP));
    denominator = polynomial(d, square, kQ);
  }
}

template <class D, class V>
HWY_INLINE V tanh_of(D d, V x) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1});
  const V magnitude = hn::Abs(x);
  const auto is_near = hn::Lt(magnitude, hn::Set(d, T{0.625}));
  V numerator, denominator;
  tanh_near_zero(d, magnitude, numerator, denominator);
  // tanh(x) = 1 - 2 / (exp(2x) + 1); both branches share the division.
  const V power = exp_of(d, hn::Add(magnitude, magnitude));
  const V grown = hn::Add(power, one);
  const V quotient = hn::Div(hn::IfThenElse(is_near, numerator, hn::Set(d, T{-2})),
                             hn::IfThenElse(is_near, denominator, grown));
  const V base = hn::IfThenElse(is_near, magnitude, one);
  const V sum = hn::Add(base, quotient);
  if constexpr (sizeof(T) == 4) return hn::CopySign(sum, x);
  // What the three sums and the quotient round away, which matters up to 1.
  const V lost = hn::Sub(one, hn::Sub(grown, power));
  const V rest = hn::NegMulAdd(quotient, lost, hn::NegMulAdd(quotient, grown, hn::Set(d, T{-2})));
  const V of_quotient = hn::Mul(hn::Mul(quotient, hn::Set(d, T{-0.5})), rest);
  const V of_sum = hn::Add(hn::Sub(base, sum), quotient);
  const auto is_far = hn::Or(is_near, hn::Gt(magnitude, hn::Set(d, T{2})));
  const V result = hn::Add(sum, hn::Add(of_sum, hn::IfThenZeroElse(is_far, of_quotient)));
  return hn::CopySign(result, x);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
