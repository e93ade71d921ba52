// ebb/kernels/cpu/pointwise/math.cpp -- exponentials, logarithms, hyperbolic functions and erf for
// floating types. Complex numbers are in plain.cpp.
#include <type_traits>

#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/log_of_sum-inl.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "ebb/kernels/cpu/simd/special-inl.h"
#include "ebb/kernels/tables/acosh.h"
#include "ebb/kernels/tables/asinh.h"
#include "ebb/kernels/tables/atanh.h"
#include "ebb/kernels/tables/cosh.h"
#include "ebb/kernels/tables/erf.h"
#include "ebb/kernels/tables/erfc.h"
#include "ebb/kernels/tables/exp2.h"
#include "ebb/kernels/tables/expm1.h"
#include "ebb/kernels/tables/log10.h"
#include "ebb/kernels/tables/log1p.h"
#include "ebb/kernels/tables/log2.h"
#include "ebb/kernels/tables/logaddexp.h"
#include "ebb/kernels/tables/logaddexp2.h"
#include "ebb/kernels/tables/sinh.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

struct Exp2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return exp2_of(d, x);
  }
};
struct Expm1 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return expm1_of(d, x);
  }
};
struct Log1p {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return log1p_of(d, x);
  }
};
struct Log2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return log2_of(d, x);
  }
};
struct Log10 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return log10_of(d, x);
  }
};
struct Sinh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return sinh_of(d, x);
  }
};
struct Cosh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return cosh_of(d, x);
  }
};
struct Erf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return erf_of(d, x);
  }
};
/// float32 goes by float64: the exponential and the factor beside it lose 4 units otherwise.
struct Erfc {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
      const hn::RepartitionToWide<D> wide;
      const hn::Half<D> half;
      const auto low = erfc_of(wide, hn::PromoteTo(wide, hn::LowerHalf(half, x)));
      const auto high = erfc_of(wide, hn::PromoteTo(wide, hn::UpperHalf(half, x)));
      return hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
    } else {
      return erfc_of(d, x);
    }
  }
};
struct Asinh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return asinh_of(d, x);
  }
};
struct Acosh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return acosh_of(d, x);
  }
};
struct Atanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return atanh_of(d, x);
  }
};
template <class Op>
void fill_log_of_sum(KernelTable<BinaryKernel>& table) {
  set_rows<&log_of_sum_row<Op, Half>>(table, DType::float16);
  set_rows<&log_of_sum_row<Op, BFloat16>>(table, DType::bfloat16);
  set_rows<&log_of_sum_row<Op, float>>(table, DType::float32);
  set_rows<&log_of_sum_row<Op, double>>(table, DType::float64);
}

}  // namespace

void fill_math() {
  fill<Exp2>(exp2_kernels);
  fill<Expm1>(expm1_kernels);
  fill<Log1p>(log1p_kernels);
  fill<Log2>(log2_kernels);
  fill<Log10>(log10_kernels);
  fill<Sinh>(sinh_kernels);
  fill<Cosh>(cosh_kernels);
  fill<Erf>(erf_kernels);
  fill<Erfc>(erfc_kernels);
  fill<Asinh>(asinh_kernels);
  fill<Acosh>(acosh_kernels);
  fill<Atanh>(atanh_kernels);
  fill_log_of_sum<LogOfSum>(logaddexp_kernels);
  fill_log_of_sum<LogOfSum2>(logaddexp2_kernels);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
