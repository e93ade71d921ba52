// ebb/kernels/cpu/simd/trig-inl.h -- sin, cos and tan on vectors of float32 or float64.
//
// x is reduced to |r| <= pi/4 by a multiple of pi/2, which is subtracted in three parts with fused
// multiply-adds: the first difference is exact. Numbers beyond the range in which that holds, and
// CPUs without such instructions, take the C library element by element. The polynomials are those
// of Cephes (float32; S. Moshier) and FreeBSD's k_sin.c and k_cos.c (float64; Sun Microsystems,
// 1993): public algorithms, coefficients of their minimax polynomials. Included once per target
// (see each_target.h).
#if defined(EBB_KERNELS_CPU_TRIG_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_TRIG_INL_H
#undef EBB_KERNELS_CPU_TRIG_INL_H
#else
#define EBB_KERNELS_CPU_TRIG_INL_H
#endif

#include <cmath>
#include <type_traits>

#include "ebb/kernels/cpu/simd/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// `result` with f(x) in the lanes of `mask`; f takes and gives a double, or a T.
template <class D, class V, class M, class F>
HWY_INLINE V replace_lanes(D d, V x, V result, M mask, F f) {
  using T = hn::TFromD<D>;
  if (HWY_LIKELY(hn::AllFalse(d, mask))) return result;
  constexpr size_t kMost = HWY_MAX_BYTES / sizeof(T);
  HWY_ALIGN T inputs[kMost];
  HWY_ALIGN T exact[kMost];
  hn::Store(x, d, inputs);
  for (size_t i = 0; i < hn::Lanes(d); ++i) exact[i] = static_cast<T>(f(double{inputs[i]}));
  return hn::IfThenElse(mask, hn::Load(d, exact), result);
}

template <typename T>
struct TrigTraits;
template <>
struct TrigTraits<float> {
  static constexpr float kMagic = 0x1.8p23f, kTwoOverPi = 0x1.45f306p-1f, kLimit = 32768;
  static constexpr float kHalfPi[] = {0x1.921fb6p+0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f};
  static constexpr float kSin[] = {-1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f};
  static constexpr float kCos[] = {4.166664568298827e-2f, -1.388731625493765e-3f,
                                   2.443315711809948e-5f};
};
template <>
struct TrigTraits<double> {
  static constexpr double kMagic = 0x1.8p52, kTwoOverPi = 0x1.45f306dc9c883p-1, kLimit = 0x1p25;
  static constexpr double kHalfPi[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54,
                                       -0x1.f1976b7ed8fbcp-110};
  static constexpr double kSin[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                    -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                    -2.50507602534068634195e-08, 1.58969099521155010221e-10};
  static constexpr double kCos[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                    2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                    2.08757232129817482790e-09, -1.13596475577881948265e-11};
};

/// sin and cos of the reduced argument, each the sum of two numbers, and the quadrant in the two
/// lowest bits.
template <class V, class VI>
struct Reduced {
  V sin, sin_low, cos, cos_low;
  VI quadrant;
};

template <class D, class V>
HWY_INLINE auto reduce_angle(D d, V x) {
  using Traits = TrigTraits<hn::TFromD<D>>;
  using T = hn::TFromD<D>;
  const hn::RebindToUnsigned<D> du;
  const V magic = hn::Set(d, Traits::kMagic);
  const V shifted = hn::MulAdd(x, hn::Set(d, Traits::kTwoOverPi), magic);
  const V q = hn::Sub(shifted, magic);
  const V exact = hn::NegMulAdd(q, hn::Set(d, Traits::kHalfPi[0]), x);
  const V part = hn::Set(d, Traits::kHalfPi[1]);
  const V product = hn::Mul(q, part);
  const V beyond = hn::MulAdd(q, hn::Set(d, Traits::kHalfPi[2]), hn::MulSub(q, part, product));
  // What the difference rounds away, whichever of the two is larger.
  const V difference = hn::Sub(exact, product);
  const V taken = hn::Sub(difference, exact);
  const V rounded = hn::Sub(hn::Sub(exact, hn::Sub(difference, taken)), hn::Add(product, taken));
  const V rest = hn::Sub(rounded, beyond);
  const V r = hn::Add(difference, rest);
  const V lost = hn::Add(hn::Sub(difference, r), rest);
  const V z = hn::Mul(r, r);
  const V one = hn::Set(d, T{1});
  const V half = hn::Mul(z, hn::Set(d, T{0.5}));
  const V near_one = hn::Sub(one, half);
  const V sin_low =
      hn::MulAdd(hn::Mul(polynomial(d, z, Traits::kSin), z), r, hn::Mul(lost, near_one));
  const V gone = hn::NegMulAdd(r, lost, hn::Sub(hn::Sub(one, near_one), half));
  const V cos_low = hn::MulAdd(hn::Mul(z, z), polynomial(d, z, Traits::kCos), gone);
  return Reduced<V, decltype(hn::BitCast(du, shifted))>{r, sin_low, near_one, cos_low,
                                                        hn::BitCast(du, shifted)};
}

/// Whether the lowest bit of the quadrant is set.
template <class D, class VI>
HWY_INLINE auto is_odd(D d, VI quadrant) {
  const hn::RebindToUnsigned<D> du;
  using U = hn::TFromD<decltype(du)>;
  return hn::RebindMask(d, hn::Ne(hn::And(quadrant, hn::Set(du, U{1})), hn::Zero(du)));
}
/// x with its sign changed where the second bit of the quadrant is set.
template <class D, class V, class VI>
HWY_INLINE V with_sign_of(D d, V x, VI quadrant) {
  const hn::RebindToUnsigned<D> du;
  using U = hn::TFromD<decltype(du)>;
  constexpr int kUp = sizeof(U) * 8 - 2;
  const auto second = hn::And(quadrant, hn::Set(du, U{2}));
  return hn::Xor(x, hn::BitCast(d, hn::ShiftLeft<kUp>(second)));
}

/// Lanes that the vector code cannot do; NaN and infinities are among them.
template <class D, class V>
HWY_INLINE auto is_beyond(D d, [[maybe_unused]] V x) {
#if HWY_NATIVE_FMA
  const V limit = hn::Set(d, TrigTraits<hn::TFromD<D>>::kLimit);
  return hn::Not(hn::Le(hn::Abs(x), limit));
#else
  return hn::Eq(hn::Zero(d), hn::Zero(d));
#endif
}

template <class D, class V>
HWY_INLINE V sin_of(D d, V x) {
  const auto reduced = reduce_angle(d, x);
  const auto odd = is_odd(d, reduced.quadrant);
  const V chosen = hn::Add(hn::IfThenElse(odd, reduced.cos, reduced.sin),
                           hn::IfThenElse(odd, reduced.cos_low, reduced.sin_low));
  const V result = with_sign_of(d, chosen, reduced.quadrant);
  const V kept = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result);  // the sign of zero
  return replace_lanes(d, x, kept, is_beyond(d, x), [](double value) { return std::sin(value); });
}

template <class D, class V>
HWY_INLINE V cos_of(D d, V x) {
  const auto reduced = reduce_angle(d, x);
  const hn::RebindToUnsigned<D> du;
  using U = hn::TFromD<decltype(du)>;
  const auto next = hn::Add(reduced.quadrant, hn::Set(du, U{1}));
  const auto odd = is_odd(d, reduced.quadrant);
  const V chosen = hn::Add(hn::IfThenElse(odd, reduced.sin, reduced.cos),
                           hn::IfThenElse(odd, reduced.sin_low, reduced.cos_low));
  const V result = with_sign_of(d, chosen, next);
  return replace_lanes(d, x, result, is_beyond(d, x), [](double value) { return std::cos(value); });
}

template <class D, class V>
HWY_INLINE V tan_of(D d, V x) {
  const auto reduced = reduce_angle(d, x);
  const auto odd = is_odd(d, reduced.quadrant);
  const V top = hn::IfThenElse(odd, reduced.cos, reduced.sin);
  const V top_low = hn::IfThenElse(odd, reduced.cos_low, reduced.sin_low);
  const V bottom = hn::IfThenElse(odd, reduced.sin, reduced.cos);
  const V bottom_low = hn::IfThenElse(odd, reduced.sin_low, reduced.cos_low);
  const V n = hn::Add(top, top_low), w = hn::Add(bottom, bottom_low);
  const V n_low = hn::Add(hn::Sub(top, n), top_low);
  const V w_low = hn::Add(hn::Sub(bottom, w), bottom_low);
  // The quotient of the leading parts, then what its rounding and the low parts change.
  const V inverse = hn::Div(hn::Set(d, hn::TFromD<D>{1}), w);
  const V quotient = hn::Mul(n, inverse);
  const V rest = hn::Add(hn::NegMulAdd(quotient, w, n), hn::NegMulAdd(quotient, w_low, n_low));
  const V size = hn::MulAdd(rest, inverse, quotient);
  const V result = hn::IfThenElse(odd, hn::Neg(size), size);
  const V kept = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result);
  return replace_lanes(d, x, kept, is_beyond(d, x), [](double value) { return std::tan(value); });
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
