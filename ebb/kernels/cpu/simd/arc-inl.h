// ebb/kernels/cpu/simd/arc-inl.h -- asin, acos and atan on vectors of float32 or float64.
//
// Arguments are reduced to where a polynomial in the square serves, and what the reduction rounds
// away is carried beside it, so that results stay within one unit in the last place with fused
// multiply-adds. The halving of asin and acos is that of FreeBSD's e_asin.c (Sun Microsystems,
// 1993: public algorithm); the polynomials are Chebyshev interpolations made for this file from
// values of 60 digits. Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_ARC_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_ARC_INL_H
#undef EBB_KERNELS_CPU_ARC_INL_H
#else
#define EBB_KERNELS_CPU_ARC_INL_H
#endif

#include <limits>

#include "ebb/kernels/cpu/simd/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Polynomials of (asin(t) / t - 1) / t^2 up to t = 1/2, and of atan up to tan(pi / 8).
template <typename T>
struct ArcTraits;
template <>
struct ArcTraits<float> {
  static constexpr float kHalfPi = 0x1.921fb6p+0f, kHalfPiLow = -0x1.777a5cp-25f;
  static constexpr float kAsin[] = {1.666666567e-01f, 7.500094175e-02f, 4.459940270e-02f,
                                    3.110066243e-02f, 1.714923792e-02f, 3.369084746e-02f};
  static constexpr float kAtan[] = {-3.333333135e-01f, 1.999953985e-01f, -1.426395625e-01f,
                                    1.074373126e-01f, -6.451927871e-02f};
};
template <>
struct ArcTraits<double> {
  static constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;
  static constexpr double kAsin[] = {
      1.66666666666666685e-01, 7.49999999999843292e-02, 4.46428571463554288e-02,
      3.03819441385312465e-02, 2.23721729421498886e-02, 1.73523927208699726e-02,
      1.39712129735529329e-02, 1.14791774151849057e-02, 1.03228143501857793e-02,
      5.45750671864035815e-03, 1.74008794426940214e-02, -1.48518870712472037e-02,
      2.87578513674215663e-02};
  static constexpr double kAtan[] = {
      -3.33333333333333315e-01, 1.99999999999955214e-01,  -1.42857142846665425e-01,
      1.11111110152563614e-01,  -9.09090457812390257e-02, 7.69218319082608654e-02,
      -6.66451144738194751e-02, 5.85814891280221003e-02,  -5.08544973794025981e-02,
      3.92316582955871893e-02,  -1.91768871190622602e-02};
};

/// asin of |x| up to 1/2 as t + low; beyond, asin of sqrt((1 - |x|) / 2).
template <class V, class M>
struct ArcSine {
  V t, low;
  M is_large;
};

template <class D, class V>
HWY_INLINE auto arc_sine(D d, V size) {
  using T = hn::TFromD<D>;
  const V half = hn::Set(d, T{0.5});
  const auto is_large = hn::Gt(size, half);
  const V halved = hn::Mul(hn::Sub(hn::Set(d, T{1}), size), half);
  const V root = hn::Sqrt(halved);
  // What the root rounds away; none of 0.
  const V rest = hn::Div(hn::NegMulAdd(root, root, halved), hn::Add(root, root));
  const V lost = hn::IfThenElseZero(hn::And(is_large, hn::Gt(root, hn::Zero(d))), rest);
  const V t = hn::IfThenElse(is_large, root, size);
  const V z = hn::IfThenElse(is_large, halved, hn::Mul(size, size));
  const V low = hn::MulAdd(hn::Mul(t, z), polynomial(d, z, ArcTraits<T>::kAsin), lost);
  return ArcSine<V, decltype(is_large)>{t, low, is_large};
}

/// `result`, or NaN where |x| is not at most 1.
template <class D, class V>
HWY_INLINE V within_one(D d, V size, V result) {
  using T = hn::TFromD<D>;
  const V nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
  return hn::IfThenElse(hn::Le(size, hn::Set(d, T{1})), result, nan);
}

template <class D, class V>
HWY_INLINE V asin_of(D d, V x) {
  using Traits = ArcTraits<hn::TFromD<D>>;
  const V size = hn::Abs(x);
  const auto arc = arc_sine(d, size);
  // pi/2 - 2 (t + low): the doubled root is taken off first, and what that rounds away put back.
  const V top = hn::Set(d, Traits::kHalfPi);
  const V twice = hn::Add(arc.t, arc.t);
  const V left = hn::Sub(top, twice);
  const V rounded = hn::Sub(hn::Sub(top, left), twice);
  const V small = hn::Sub(hn::Set(d, Traits::kHalfPiLow), hn::Add(arc.low, arc.low));
  const V large = hn::Add(left, hn::Add(rounded, small));
  const V result = hn::IfThenElse(arc.is_large, large, hn::Add(arc.t, arc.low));
  return within_one(d, size, hn::CopySign(result, x));
}

template <class D, class V>
HWY_INLINE V acos_of(D d, V x) {
  using Traits = ArcTraits<hn::TFromD<D>>;
  const V size = hn::Abs(x);
  const auto arc = arc_sine(d, size);
  const auto is_negative = hn::Lt(x, hn::Zero(d));
  // 2 (t + low) for x above 1/2, pi - 2 (t + low) below -1/2, else pi/2 -+ (t + low).
  const V factor = hn::IfThenElse(arc.is_large, hn::Add(arc.t, arc.t), arc.t);
  const V low = hn::IfThenElse(arc.is_large, hn::Add(arc.low, arc.low), arc.low);
  const auto is_added = hn::Xor(arc.is_large, is_negative);
  const V term = hn::IfThenElse(is_added, factor, hn::Neg(factor));
  const V term_low = hn::IfThenElse(is_added, low, hn::Neg(low));
  const V half_pi = hn::Set(d, Traits::kHalfPi), half_pi_low = hn::Set(d, Traits::kHalfPiLow);
  const V base_of_large = hn::IfThenElseZero(is_negative, hn::Add(half_pi, half_pi));
  const V low_of_large = hn::IfThenElseZero(is_negative, hn::Add(half_pi_low, half_pi_low));
  const V base = hn::IfThenElse(arc.is_large, base_of_large, half_pi);
  const V base_low = hn::IfThenElse(arc.is_large, low_of_large, half_pi_low);
  const V sum = hn::Add(base, term);
  // The larger of the two gives up nothing: the base is 0 or above the term.
  const V rounded =
      hn::IfThenElseZero(hn::Gt(base, hn::Zero(d)), hn::Add(hn::Sub(base, sum), term));
  return within_one(d, size, hn::Add(sum, hn::Add(rounded, hn::Add(base_low, term_low))));
}

/// atan(x) = base + atan(n / w): 0 and x / 1 up to tan(pi / 8), pi/4 and (x - 1) / (x + 1) up to
/// tan(3 pi / 8), pi/2 and -1 / x beyond.
template <class D, class V>
HWY_INLINE V atan_of(D d, V x) {
  using T = hn::TFromD<D>;
  using Traits = ArcTraits<T>;
  const V one = hn::Set(d, T{1});
  // Beyond 2^60, atan is pi/2 to the last bit.
  const V size = hn::Min(hn::Abs(x), hn::Set(d, T(0x1p60)));
  const auto is_small = hn::Le(size, hn::Set(d, T(0.41421356237309504880)));
  const auto is_large = hn::Gt(size, hn::Set(d, T(2.4142135623730950488)));
  const V sum = hn::Add(size, one), difference = hn::Sub(size, one);
  const V most = hn::Max(size, one), least = hn::Min(size, one);
  const V sum_low = hn::Add(hn::Sub(most, sum), least);
  const V difference_low = hn::Sub(size, hn::Add(difference, one));
  const V n =
      hn::IfThenElse(is_small, size, hn::IfThenElse(is_large, hn::Set(d, T{-1}), difference));
  const V w = hn::IfThenElse(is_small, one, hn::IfThenElse(is_large, size, sum));
  const auto is_middle = hn::Not(hn::Or(is_small, is_large));
  const V inverse = hn::Div(one, w);
  const V t = hn::Mul(n, inverse);
  const V rest = hn::Add(hn::NegMulAdd(t, w, n),
                         hn::IfThenElseZero(is_middle, hn::NegMulAdd(t, sum_low, difference_low)));
  const V t_low = hn::Mul(rest, inverse);
  const V z = hn::Mul(t, t);
  const V low =
      hn::MulAdd(hn::Mul(t, z), polynomial(d, z, Traits::kAtan), hn::NegMulAdd(t_low, z, t_low));
  const V half_pi = hn::Set(d, Traits::kHalfPi), half_pi_low = hn::Set(d, Traits::kHalfPiLow);
  const V share = hn::IfThenElse(is_large, one, hn::Set(d, T{0.5}));
  const V base = hn::IfThenZeroElse(is_small, hn::Mul(half_pi, share));
  const V base_low = hn::IfThenZeroElse(is_small, hn::Mul(half_pi_low, share));
  const V high = hn::Add(base, t);
  const V rounded = hn::IfThenZeroElse(is_small, hn::Add(hn::Sub(base, high), t));
  const V result = hn::Add(high, hn::Add(rounded, hn::Add(base_low, low)));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(result, x));
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
