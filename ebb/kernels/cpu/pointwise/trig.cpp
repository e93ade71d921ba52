// ebb/kernels/cpu/pointwise/trig.cpp -- trigonometric functions for floating types. Complex numbers
// are in plain.cpp.
#include <limits>

#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/arc-inl.h"
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
struct Asin {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return asin_of(d, x);
  }
};
struct Acos {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return acos_of(d, x);
  }
};
struct Atan {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return atan_of(d, x);
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
