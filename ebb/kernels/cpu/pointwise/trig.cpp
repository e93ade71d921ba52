// ebb/kernels/cpu/pointwise/trig.cpp -- trigonometric functions for floating types. Complex numbers
// are in plain.cpp.
#include <limits>

#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "ebb/kernels/cpu/simd/trig-inl.h"
#include "ebb/kernels/tables/acos.h"
#include "ebb/kernels/tables/asin.h"
#include "ebb/kernels/tables/atan.h"
#include "ebb/kernels/tables/cos.h"
#include "ebb/kernels/tables/sin.h"
#include "ebb/kernels/tables/tan.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

struct Sin {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return sin_of(d, x);
  }
};
struct Cos {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return cos_of(d, x);
  }
};
struct Tan {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return tan_of(d, x);
  }
};
template <class D, class V>
HWY_INLINE V within_one(D d, V x, V result) {
  using T = hn::TFromD<D>;
  const V nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
  return hn::IfThenElse(hn::Le(hn::Abs(x), hn::Set(d, T{1})), result, nan);
}
/// Highway's asin and acos are defined from -1 to 1.
struct Asin {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return within_one(d, x, hn::Asin(d, x));
  }
};
struct Acos {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return within_one(d, x, hn::Acos(d, x));
  }
};
struct Atan {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(hn::Atan(d, x), x));
  }
};

}  // namespace

void fill_trig() {
  fill<Sin>(sin_kernels);
  fill<Cos>(cos_kernels);
  fill<Tan>(tan_kernels);
  fill<Asin>(asin_kernels);
  fill<Acos>(acos_kernels);
  fill<Atan>(atan_kernels);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
