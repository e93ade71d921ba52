// ebb/kernels/cpu/pointwise/pow.cpp -- powers of floating types; usual exponents take a few
// instructions, others of float32 and below go by float64. Integers are in integer.cpp, complex
// numbers in plain.cpp.
#include "ebb/kernels/tables/pow.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/math-inl.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

/// log2(x) to 37 bits, of positive numbers that are normal in float64.
template <class D, class V>
HWY_INLINE V rough_log2(D d, V x) {
  using Traits = LogTraits<double>;
  // log2(1 + f) / f between the roots of 1/2 and 2: a Chebyshev interpolation.
  constexpr double kP[] = {1.4426950408862033,   -0.72134752034308632, 0.48089834907279608,
                           -0.36067378977100696, 0.28853876232996746,  -0.24044662677727304,
                           0.20610869528306625,  -0.18043268521020117, 0.16018226130296026,
                           -0.14252340755410016, 0.13062890256021096,  -0.13478928738366043,
                           0.13113743753686684,  -0.068062875903905961};
  const hn::RebindToUnsigned<D> du;
  constexpr auto kSqrtHalf = std::bit_cast<uint64_t>(Traits::kSqrtHalf);
  constexpr uint64_t kOne = std::bit_cast<uint64_t>(1.0);
  constexpr uint64_t kMantissa = (uint64_t{1} << Traits::kMantissaBits) - 1;
  const auto moved = hn::Add(hn::BitCast(du, x), hn::Set(du, kOne - kSqrtHalf));
  const auto mantissa = hn::Add(hn::And(moved, hn::Set(du, kMantissa)), hn::Set(du, kSqrtHalf));
  const V f = hn::Sub(hn::BitCast(d, mantissa), hn::Set(d, 1.0));
  // The exponent becomes the last bits of 2^52, whence it is a number after one difference.
  const auto biased = hn::ShiftRight<Traits::kMantissaBits>(moved);
  const V shifted = hn::BitCast(d, hn::Or(biased, hn::Set(du, std::bit_cast<uint64_t>(0x1p52))));
  const V exponent = hn::Sub(shifted, hn::Set(d, 0x1p52 + Traits::kBias));
  return hn::MulAdd(f, polynomial(d, f, kP), exponent);
}

/// 2^z to 34 bits. Beyond 200 it is beyond float32, so z is bounded there.
template <class D, class V>
HWY_INLINE V rough_exp2(D d, V z) {
  constexpr double kP[] = {0.99999999995956175,    0.69314718055683241,   0.24022651213498093,
                           0.055504109063258666,   0.0096180256133180342, 0.0013333478473685415,
                           0.00015469729214118297, 1.5303700711365694e-5};
  const hn::RebindToUnsigned<D> du;
  const V bounded = hn::Min(hn::Max(z, hn::Set(d, -200.0)), hn::Set(d, 200.0));
  const V magic = hn::Set(d, 0x1.8p52);  // leaves the integer next to a number in the last bits
  const V sum = hn::Add(bounded, magic);
  const V power = polynomial(d, hn::Sub(bounded, hn::Sub(sum, magic)), kP);
  const auto exponent = hn::ShiftLeft<LogTraits<double>::kMantissaBits>(hn::BitCast(du, sum));
  const V result = hn::BitCast(d, hn::Add(hn::BitCast(du, power), exponent));
  return hn::IfThenElse(hn::IsNaN(z), z, result);
}

/// `power` of |base|, with the sign of a power of base, or NaN where there is none.
template <class D, class V>
HWY_INLINE V signed_power(D d, V base, V exponent, V power) {
  const V half = hn::Mul(exponent, hn::Set(d, 0.5));
  const auto is_whole = hn::Eq(hn::Round(exponent), exponent);
  const auto is_odd = hn::And(is_whole, hn::Ne(hn::Round(half), half));
  const V sign = hn::And(base, hn::SignBit(d));
  const V turned = hn::Xor(power, hn::IfThenElseZero(is_odd, sign));
  const auto is_negative = hn::And(hn::Lt(base, hn::Zero(d)), hn::IsFinite(base));
  const auto has_none = hn::AndNot(is_whole, is_negative);
  return hn::IfThenElse(has_none, hn::Set(d, std::numeric_limits<double>::quiet_NaN()), turned);
}

/// A power of float32 numbers in float64: 2^(exponent log2 |base|), whose last digits do not
/// matter.
template <class D, class V>
HWY_INLINE V wide_pow(D d, V base, V exponent) {
  const V size = hn::Abs(base), zero = hn::Zero(d);
  const V infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  V log = hn::IfThenElse(hn::Lt(size, infinity), rough_log2(d, size), size);  // NaN stays
  log = hn::IfThenElse(hn::Eq(size, zero), hn::Neg(infinity), log);
  // 1, whatever the other operand is.
  const auto is_one = hn::Or(hn::Eq(size, hn::Set(d, 1.0)), hn::Eq(exponent, zero));
  const V power = rough_exp2(d, hn::IfThenZeroElse(is_one, hn::Mul(exponent, log)));
  if (HWY_LIKELY(hn::AllTrue(d, hn::Gt(base, zero)))) return power;
  return signed_power(d, base, exponent, power);
}

struct AnyPow {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V base, V exponent) const {
    using T = hn::TFromD<D>;
    if constexpr (std::is_same_v<T, float>) {
      const hn::RepartitionToWide<D> wide;
      const hn::Half<D> half;
      const auto low = wide_pow(wide, hn::PromoteTo(wide, hn::LowerHalf(half, base)),
                                hn::PromoteTo(wide, hn::LowerHalf(half, exponent)));
      const auto high = wide_pow(wide, hn::PromoteTo(wide, hn::UpperHalf(half, base)),
                                 hn::PromoteTo(wide, hn::UpperHalf(half, exponent)));
      return hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
    } else {
      return by_library(d, base, exponent);
    }
  }

 private:
  /// Element by element: float64 has no wider type to compute in.
  template <class D, class V>
  HWY_INLINE V by_library(D d, V base, V exponent) const {
    constexpr size_t kMost = HWY_MAX_BYTES / sizeof(double);
    HWY_ALIGN double bases[kMost];
    HWY_ALIGN double exponents[kMost];
    hn::Store(base, d, bases);
    hn::Store(exponent, d, exponents);
    for (size_t i = 0; i < hn::Lanes(d); ++i) bases[i] = std::pow(bases[i], exponents[i]);
    return hn::Load(d, bases);
  }
};
// Powers that are one or two instructions; the exponent is known and not looked at.
struct RootPow {
  template <class D, class V>
  HWY_INLINE V operator()(D, V base, V) const {
    return hn::Sqrt(base);
  }
};
struct SamePow {
  template <class D, class V>
  HWY_INLINE V operator()(D, V base, V) const {
    return base;
  }
};
struct SquarePow {
  template <class D, class V>
  HWY_INLINE V operator()(D, V base, V) const {
    return hn::Mul(base, base);
  }
};
struct CubePow {
  template <class D, class V>
  HWY_INLINE V operator()(D, V base, V) const {
    return hn::Mul(hn::Mul(base, base), base);
  }
};
struct InversePow {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V base, V) const {
    return hn::Div(hn::Set(d, 1), base);
  }
};
struct InverseSquarePow {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V base, V) const {
    return hn::Div(hn::Set(d, 1), hn::Mul(base, base));
  }
};

template <typename T>
void pow_function(const void* const* in, void* out, int64_t count, unsigned splat) {
  if (splat == 2) {
    const auto exponent = static_cast<double>(*static_cast<const NumberOf<T>*>(in[1]));
    if (exponent == 0.5) return binary_function<RootPow, T>(in, out, count, splat);
    if (exponent == 1) return binary_function<SamePow, T>(in, out, count, splat);
    if (exponent == 2) return binary_function<SquarePow, T>(in, out, count, splat);
    if (exponent == 3) return binary_function<CubePow, T>(in, out, count, splat);
    if (exponent == -1) return binary_function<InversePow, T>(in, out, count, splat);
    if (exponent == -2) return binary_function<InverseSquarePow, T>(in, out, count, splat);
  }
  binary_function<AnyPow, T>(in, out, count, splat);
}

}  // namespace

void fill_pow() {
  set_rows<&pow_function<Half>>(pow_kernels, DType::float16);
  set_rows<&pow_function<BFloat16>>(pow_kernels, DType::bfloat16);
  set_rows<&pow_function<float>>(pow_kernels, DType::float32);
  set_rows<&pow_function<double>>(pow_kernels, DType::float64);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
