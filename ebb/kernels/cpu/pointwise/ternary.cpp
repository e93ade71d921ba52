// ebb/kernels/cpu/pointwise/ternary.cpp -- clamp, lerp and add_scaled for floating types. Integers
// are in integer.cpp.
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "ebb/kernels/tables/add_scaled.h"
#include "ebb/kernels/tables/clamp.h"
#include "ebb/kernels/tables/lerp.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

/// The bounds and the number are NaN if one of them is.
struct Clamp {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x, V low, V high) const {
    const V above = hn::IfThenElse(hn::IsNaN(x), x, hn::Max(x, low));
    return hn::IfThenElse(hn::IsNaN(above), above, hn::Min(above, high));
  }
};
/// From the nearer end, so that weights of 0 and 1 give the ends themselves.
struct Lerp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V start, V end, V weight) const {
    using T = hn::TFromD<D>;
    const V way = hn::Sub(end, start);
    const V from_start = hn::MulAdd(weight, way, start);
    const V from_end = hn::NegMulAdd(way, hn::Sub(hn::Set(d, T{1}), weight), end);
    return hn::IfThenElse(hn::Lt(hn::Abs(weight), hn::Set(d, T(0.5))), from_start, from_end);
  }
};
struct AddScaled {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x, V term, V alpha) const {
    return hn::MulAdd(alpha, term, x);
  }
};

}  // namespace

void fill_ternary() {
  fill<Clamp>(clamp_kernels);
  fill<Lerp>(lerp_kernels);
  fill<AddScaled>(add_scaled_kernels);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
