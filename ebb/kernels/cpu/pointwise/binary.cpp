// ebb/kernels/cpu/pointwise/binary.cpp -- add, sub, mul, mul0, div, div0, maximum, minimum and
// the fused gradients of relu and tanh for floating types. Integers, bool and complex are in
// plain.cpp.
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/math-inl.h"
#include "ebb/kernels/cpu/simd/pairs-inl.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "ebb/kernels/tables/add.h"
#include "ebb/kernels/tables/div.h"
#include "ebb/kernels/tables/div0.h"
#include "ebb/kernels/tables/maximum.h"
#include "ebb/kernels/tables/minimum.h"
#include "ebb/kernels/tables/mul.h"
#include "ebb/kernels/tables/mul0.h"
#include "ebb/kernels/tables/relu_backward.h"
#include "ebb/kernels/tables/sub.h"
#include "ebb/kernels/tables/tanh_backward.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

struct Add {
  template <class D, class V>
  HWY_INLINE V operator()(D, V lhs, V rhs) const {
    return hn::Add(lhs, rhs);
  }
};
struct Sub {
  template <class D, class V>
  HWY_INLINE V operator()(D, V lhs, V rhs) const {
    return hn::Sub(lhs, rhs);
  }
};
struct Mul {
  template <class D, class V>
  HWY_INLINE V operator()(D, V lhs, V rhs) const {
    return hn::Mul(lhs, rhs);
  }
};
struct Mul0 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V lhs, V rhs) const {
    return masked_product(d, lhs, rhs);
  }
};
struct Div {
  template <class D, class V>
  HWY_INLINE V operator()(D, V lhs, V rhs) const {
    return hn::Div(lhs, rhs);
  }
};
struct Div0 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V lhs, V rhs) const {
    return hn::IfThenElse(hn::Eq(lhs, hn::Zero(d)), lhs, hn::Div(lhs, rhs));
  }
};
/// NaN if either is NaN: x86 gives the second operand then, so the first must be asked for.
struct Maximum {
  template <class D, class V>
  HWY_INLINE V operator()(D, V lhs, V rhs) const {
    return hn::IfThenElse(hn::IsNaN(lhs), lhs, hn::Max(lhs, rhs));
  }
};
struct Minimum {
  template <class D, class V>
  HWY_INLINE V operator()(D, V lhs, V rhs) const {
    return hn::IfThenElse(hn::IsNaN(lhs), lhs, hn::Min(lhs, rhs));
  }
};
/// grad_out where out > 0. A NaN passes nothing: max(x, 0) is flat where it is not a number.
struct ReluBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad_out, V out) const {
    return hn::IfThenElseZero(hn::Gt(out, hn::Zero(d)), grad_out);
  }
};

/// The same of half types by their bits: as integers, positive numbers are above 0 and not above
/// `infinity`.
template <typename T, int16_t infinity>
void relu_backward_bits(const void* const* in, void* out, int64_t count, unsigned splat) {
  if (splat != 0) return binary_function<ReluBackward, T>(in, out, count, splat);
  const hn::ScalableTag<int16_t> d;
  const auto *grad = static_cast<const int16_t*>(in[0]), *of = static_cast<const int16_t*>(in[1]);
  auto* to = static_cast<int16_t*>(out);
  const size_t lanes = hn::Lanes(d), size = static_cast<size_t>(count);
  size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto bits = hn::LoadU(d, of + i);
    const auto passed = hn::IfThenElseZero(hn::Gt(bits, hn::Zero(d)), hn::LoadU(d, grad + i));
    hn::StoreU(hn::IfThenZeroElse(hn::Gt(bits, hn::Set(d, infinity)), passed), d, to + i);
  }
  for (; i < size; ++i) to[i] = of[i] > 0 && of[i] <= infinity ? grad[i] : int16_t{0};
}

struct TanhBackward {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V grad_out, V out) const {
    return masked_product(d, grad_out, hn::NegMulAdd(out, out, hn::Set(d, 1)));
  }
};

}  // namespace

void fill_binary() {
  fill_by_pairs<Add>(add_kernels);
  fill_by_pairs<Sub>(sub_kernels);
  fill_by_pairs<Mul>(mul_kernels);
  fill_by_pairs<Mul0>(mul0_kernels);
  fill<Div>(div_kernels);
  fill<Div0>(div0_kernels);
  fill<Maximum>(maximum_kernels);
  fill<Minimum>(minimum_kernels);
  fill<ReluBackward>(relu_backward_kernels);
  set_rows<&relu_backward_bits<Half, 0x7c00>>(relu_backward_kernels, DType::float16);
  set_rows<&relu_backward_bits<BFloat16, 0x7f80>>(relu_backward_kernels, DType::bfloat16);
  fill<TanhBackward>(tanh_backward_kernels);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
