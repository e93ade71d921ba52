// ebb/kernels/cpu/reduce/prod.cpp -- the product of elements over any dims.
#include "ebb/kernels/tables/prod.h"

#include <algorithm>
#include <complex>
#include <type_traits>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/reduce/reduce_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

struct ProdOp : PlainOp {
  template <typename T>
  static constexpr T identity() {
    return T{1};
  }
  template <class D, class V>
  HWY_INLINE V operator()(D, V lhs, V rhs) const {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Mul(lhs, rhs);
    } else {
      return product_of_integers(D(), lhs, rhs);
    }
  }
  template <typename T>
  T scalar(T lhs, T rhs) const {
    if constexpr (std::is_integral_v<T>) {  // wraps around
      return static_cast<T>(static_cast<uint64_t>(lhs) * static_cast<uint64_t>(rhs));
    } else {
      return lhs * rhs;
    }
  }

 private:
  /// Not every target multiplies 64-bit lanes: three products of 32 bits make the lower half.
  template <class D, class V>
  HWY_INLINE static V product_of_integers(D d, V lhs, V rhs) {
    const hn::RebindToUnsigned<D> du;
    const hn::Repartition<uint32_t, D> d32;
    const auto a = hn::BitCast(du, lhs), b = hn::BitCast(du, rhs);
    const auto times = [&](auto x, auto y) HWY_ATTR {
      return hn::MulEven(hn::BitCast(d32, x), hn::BitCast(d32, y));
    };
    const auto cross = hn::Add(times(hn::ShiftRight<32>(a), b), times(a, hn::ShiftRight<32>(b)));
    return hn::BitCast(d, hn::Add(times(a, b), hn::ShiftLeft<32>(cross)));
  }
};

/// Complex numbers one by one: their products do not split into real parts.
template <typename T>
void complex_prod_kernel(const Context&, const TensorView& input, const TensorView& out) {
  if (out.numel == 0) return;
  const ReducePlan plan(input, out, false);
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, plan.reduced.count));
  parallel_for(plan.kept.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* const from = input.as<const T>() + plan.kept.in_offset(i);
      T product = 1;
      for (int64_t j = 0; j < plan.reduced.count; ++j) product *= from[plan.reduced.in_offset(j)];
      out.as<T>()[plan.kept.out_offset(i)] = product;
    }
  });
}

template <typename... T>
void set() {
  (prod_kernels.set_cpu(dtype_of<T>, &reduce_kernel<ProdOp, T, Finish::plain, false>), ...);
}

}  // namespace

void fill_prod() {
  set<Half, BFloat16, float, double, int64_t>();
  prod_kernels.set_cpu(DType::complex64, &complex_prod_kernel<std::complex<float>>);
  prod_kernels.set_cpu(DType::complex128, &complex_prod_kernel<std::complex<double>>);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
