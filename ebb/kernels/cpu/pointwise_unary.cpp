// ebb/kernels/cpu/pointwise_unary.cpp -- neg, exp, sqrt, log, tanh and relu for floating types.
// Integers, bool and complex are in pointwise_plain.cpp.
#include "ebb/kernels/cpu/register.h"
#include "ebb/kernels/cpu/simd.h"
#include "ebb/kernels/tables.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ebb/kernels/cpu/pointwise_unary.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "ebb/kernels/cpu/math-inl.h"
#include "ebb/kernels/cpu/rows-inl.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

struct Neg {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Neg(x);
  }
};
struct Sqrt {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Sqrt(x);
  }
};
struct Exp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return exp_of(d, x);
  }
};
struct Log {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return log_of(d, x);
  }
};
struct Tanh {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return tanh_of(d, x);
  }
};
/// max(x, 0); NaN stays NaN because it compares false.
struct Relu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x);
  }
};

template <class Op>
void fill(KernelTable<UnaryKernel>& table) {
  set_rows<&unary_function<Op, Half>>(table, DType::float16);
  set_rows<&unary_function<Op, BFloat16>>(table, DType::bfloat16);
  set_rows<&unary_function<Op, float>>(table, DType::float32);
  set_rows<&unary_function<Op, double>>(table, DType::float64);
}

void fill_tables() {
  fill<Neg>(neg_kernels);
  fill<Exp>(exp_kernels);
  fill<Sqrt>(sqrt_kernels);
  fill<Log>(log_kernels);
  fill<Tanh>(tanh_kernels);
  fill<Relu>(relu_kernels);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ebb::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ebb::kernels::cpu {
void fill_pointwise_unary(Isa isa) { EBB_CALL_FOR_ISA(isa, fill_tables()); }
}  // namespace ebb::kernels::cpu
#endif
