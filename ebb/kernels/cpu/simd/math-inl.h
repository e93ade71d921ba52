// ebb/kernels/cpu/simd/math-inl.h -- exp, log and tanh on vectors of float32 or float64.
//
// Errors, checked over all float32 numbers and over random float64 ones by math_test.cpp, stay
// within one unit in the last place (tanh in float32: 1.5); infinities, NaN, signed zeros and
// subnormal numbers are right. Sources: log after FreeBSD's e_log.c (Sun Microsystems, 1993: public
// algorithm, coefficients of its minimax polynomial); tanh of float64 after Cephes (S. Moshier): a
// rational function near zero, exp elsewhere; the series of exp is a Chebyshev interpolation.
// Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_MATH_INL_H
#undef EBB_KERNELS_CPU_MATH_INL_H
#else
#define EBB_KERNELS_CPU_MATH_INL_H
#endif

#include <bit>
#include <limits>
#include <type_traits>
#include <utility>

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
  static constexpr float kMagic = 0x1.8p23f;  // plus an integer: its bits come last
  static constexpr float kTinyScale = 0x1p25f, kSqrtHalf = 0x1.6a09e6p-1f;
  static constexpr float kLn2High = 6.9313812256e-01f, kLn2Low = 9.0580006145e-06f;
};
template <>
struct LogTraits<double> {
  using Bits = int64_t;
  static constexpr int kMantissaBits = 52, kBias = 1023, kTinyShift = 54;
  static constexpr double kMagic = 0x1.8p52;
  static constexpr double kTinyScale = 0x1p54, kSqrtHalf = 0x1.6a09e667f3bcdp-1;
  static constexpr double kLn2High = 6.93147180369123816490e-01;
  static constexpr double kLn2Low = 1.90821492927058770002e-10;
};

template <class D, class V, typename T, size_t count, size_t... steps>
HWY_INLINE V polynomial_steps(D d, V x, const T (&coefficients)[count],
                              std::index_sequence<steps...>) {
  V sum = hn::Set(d, coefficients[count - 1]);
  ((sum = hn::MulAdd(sum, x, hn::Set(d, coefficients[count - 2 - steps]))), ...);
  return sum;
}

/// c[0] + x c[1] + x^2 c[2] ..., without a loop: from 8 coefficients on compilers keep one, which
/// reads them from a copy on the stack and asks after each whether it was the last.
template <class D, class V, typename T, size_t count>
HWY_INLINE V polynomial(D d, V x, const T (&coefficients)[count]) {
  return polynomial_steps(d, x, coefficients, std::make_index_sequence<count - 1>());
}

/// Constants of logarithms to other bases and of the exponent's arithmetic.
template <typename T>
struct BaseTraits;
template <>
struct BaseTraits<float> {
  static constexpr float kLog2E = 0x1.715476p+0f, kLog2ELow = 0x1.4ae0cp-26f;
  static constexpr float kLog10E = 0x1.bcb7b2p-2f, kLog10ELow = -0x1.5b235ep-27f;
  static constexpr float kLn2 = 0x1.62e43p-1f, kLn2Rest = -0x1.05c61p-29f;
  // High parts are short: their product with an exponent is exact.
  static constexpr float kLog10Of2High = 0x1.344p-2f, kLog10Of2Low = 0x1.3509f8p-18f;
  static constexpr float kLn2High = 0x1.62ep-1f, kLn2Low = 0x1.0bfbe8p-15f;
  static constexpr float kTopExponent = 129, kLowestExponent = -151;
  static constexpr float kOverflow = 90, kHalfOverflow = 88, kAllLost = -18, kUnderflow = -104;
};
template <>
struct BaseTraits<double> {
  static constexpr double kLog2E = 0x1.71547652b82fep+0, kLog2ELow = 0x1.777d0ffda0d24p-56;
  static constexpr double kLog10E = 0x1.bcb7b1526e50ep-2, kLog10ELow = 0x1.95355baaafad3p-57;
  static constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Rest = 0x1.abc9e3b39803fp-56;
  static constexpr double kLog10Of2High = 0x1.34413509f4p-2;
  static constexpr double kLog10Of2Low = 0x1.cff7988f8959bp-41;
  static constexpr double kLn2High = 0x1.62e42fefa2p-1, kLn2Low = 0x1.9ef35793c7673p-41;
  static constexpr double kTopExponent = 1025, kLowestExponent = -1076;
  static constexpr double kOverflow = 711, kHalfOverflow = 709, kAllLost = -38, kUnderflow = -746;
};

/// 2^k for integers k within the exponents of normal numbers. Their last bits are read from the sum
/// with a number whose own are 0: to convert them costs several instructions, for float64 many.
template <class D, class V>
HWY_INLINE V power_of_2(D d, V k) {
  using T = hn::TFromD<D>;
  using Traits = LogTraits<T>;
  const hn::RebindToSigned<D> di;
  using Bits = typename Traits::Bits;
  constexpr int kMantissaBits = Traits::kMantissaBits;
  const auto sum = hn::BitCast(di, hn::Add(k, hn::Set(d, Traits::kMagic)));
  const auto bias = hn::Set(di, Bits{Traits::kBias} << kMantissaBits);
  return hn::BitCast(d, hn::Add(hn::ShiftLeft<kMantissaBits>(sum), bias));
}

/// x * 2^k for integers k, for results beyond the normal numbers too: by the instruction for it, or
/// in two steps.
template <class D, class V>
HWY_INLINE V scale(D d, V x, V k) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (std::is_same_v<V, hn::Vec512<float>>) return V{_mm512_scalef_ps(x.raw, k.raw)};
  if constexpr (std::is_same_v<V, hn::Vec512<double>>) return V{_mm512_scalef_pd(x.raw, k.raw)};
#endif
  const V half = hn::Round(hn::Mul(k, hn::Set(d, hn::TFromD<D>(0.5))));
  return hn::Mul(hn::Mul(x, power_of_2(d, half)), power_of_2(d, hn::Sub(k, half)));
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

/// exp(r) - 1 for |r| <= log(2) / 2.
template <class D, class V>
HWY_INLINE V small_expm1(D d, V r) {
  return hn::MulAdd(hn::Mul(r, r), expm1_series(d, r), r);
}

/// exp(x) by the power of two next to `bounded`, which is x itself, but far above where the power
/// overflows a number there. Then the rest is large, and as all terms of the series are positive,
/// the result infinite; NaN goes the same way.
template <class D, class V>
HWY_INLINE V exp_by_powers(D d, V x, V bounded) {
  using T = hn::TFromD<D>;
  using Traits = BaseTraits<T>;
  // The sum's last bits are the integer next to the product.
  const V magic = hn::Set(d, LogTraits<T>::kMagic);
  const V k = hn::Sub(hn::MulAdd(bounded, hn::Set(d, Traits::kLog2E), magic), magic);
  const V high = hn::NegMulAdd(k, hn::Set(d, Traits::kLn2High), x);
  const V r = hn::NegMulAdd(k, hn::Set(d, Traits::kLn2Low), high);
  return scale(d, hn::Add(small_expm1(d, r), hn::Set(d, T{1})), k);
}

/// exp(x + rest) times 2^raise, where the power of two next to the product is that of a normal
/// number: it is made of the sum's last bits at once. NaN stays.
template <class D, class V>
HWY_INLINE V raised_exp(D d, V x, V rest, int raise) {
  using T = hn::TFromD<D>;
  using Traits = BaseTraits<T>;
  constexpr int kMantissaBits = LogTraits<T>::kMantissaBits;
  const hn::RebindToSigned<D> di;
  using Bits = hn::TFromD<decltype(di)>;
  const V magic = hn::Set(d, LogTraits<T>::kMagic);  // as in exp_by_powers()
  const V sum = hn::MulAdd(x, hn::Set(d, Traits::kLog2E), magic);
  const V k = hn::Sub(sum, magic);
  const V high = hn::NegMulAdd(k, hn::Set(d, Traits::kLn2High), x);
  const V r = hn::Add(high, hn::NegMulAdd(k, hn::Set(d, Traits::kLn2Low), rest));
  const auto power = hn::Add(hn::ShiftLeft<kMantissaBits>(hn::BitCast(di, sum)),
                             hn::Set(di, Bits{LogTraits<T>::kBias + raise} << kMantissaBits));
  return hn::Mul(hn::Add(small_expm1(d, r), hn::Set(d, T{1})), hn::BitCast(d, power));
}

template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  using Traits = BaseTraits<hn::TFromD<D>>;
  const V power = exp_by_powers(d, x, hn::Min(x, hn::Set(d, Traits::kOverflow)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, Traits::kUnderflow)), power);
}

/// For x >= 0: a polynomial below 0.625, else 1 - 2 / (exp(2x) + 1).
template <class D, class V>
HWY_INLINE V tanh_of_single(D d, V x) {
  constexpr float kP[] = {-3.33332819422e-1f, 1.33314422036e-1f, -5.37397155531e-2f,
                          2.06390887954e-2f, -5.70498872745e-3f};
  const V square = hn::Mul(x, x), one = hn::Set(d, 1.0f);
  const V near = hn::MulAdd(hn::Mul(square, x), polynomial(d, square, kP), x);
  const V twice = hn::Add(x, x);
  const V power = exp_by_powers(d, twice, hn::Min(twice, hn::Set(d, 20.0f)));
  const V far = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(power, one)));
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, 0.625f)), near, far);
}

/// For x >= 0: a rational function below 0.625, else 1 - 2 / (exp(2x) + 1); both share the
/// division.
template <class D, class V>
HWY_INLINE V tanh_of_double(D d, V x) {
  constexpr double kP[] = {-1.61468768441708447952e3, -9.92877231001918586564e1,
                           -9.64399179425052238628e-1};
  constexpr double kQ[] = {4.84406305325125486048e3, 2.23548839060100448583e3,
                           1.12811678491632931402e2, 1.0};
  const V one = hn::Set(d, 1.0);
  const V square = hn::Mul(x, x);
  const auto is_near = hn::Lt(x, hn::Set(d, 0.625));
  const V numerator = hn::Mul(hn::Mul(square, x), polynomial(d, square, kP));
  const V power = exp_of(d, hn::Add(x, x));
  const V grown = hn::Add(power, one);
  const V quotient = hn::Div(hn::IfThenElse(is_near, numerator, hn::Set(d, -2.0)),
                             hn::IfThenElse(is_near, polynomial(d, square, kQ), grown));
  const V base = hn::IfThenElse(is_near, x, one);
  const V sum = hn::Add(base, quotient);
  // What the three sums and the quotient round away, which matters up to 1.
  const V lost = hn::Sub(one, hn::Sub(grown, power));
  const V rest = hn::NegMulAdd(quotient, lost, hn::NegMulAdd(quotient, grown, hn::Set(d, -2.0)));
  const V of_quotient = hn::Mul(hn::Mul(quotient, hn::Set(d, -0.5)), rest);
  const V of_sum = hn::Add(hn::Sub(base, sum), quotient);
  const auto is_far = hn::Or(is_near, hn::Gt(x, hn::Set(d, 2.0)));
  return hn::Add(sum, hn::Add(of_sum, hn::IfThenZeroElse(is_far, of_quotient)));
}

template <class D, class V>
HWY_INLINE V tanh_of(D d, V x) {
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    return hn::CopySign(tanh_of_single(d, hn::Abs(x)), x);
  } else {
    return hn::CopySign(tanh_of_double(d, hn::Abs(x)), x);
  }
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
