// ebb/kernels/cpu/reduce/norm.cpp -- the p-norm of elements over any dims, for any real p.
#include "ebb/kernels/tables/norm.h"

#include <cmath>
#include <limits>

#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/reduce/reduce_kernel-inl.h"
#include "ebb/kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

/// sqrt(sum x^2).
struct EuclideanOp : SumOp {
  template <class D, class V>
  HWY_INLINE V mapped(D, V x) const {
    return hn::Mul(x, x);
  }
  template <typename T>
  T finished(T sum) const {
    return std::sqrt(sum);
  }
};
/// sum |x|.
struct AbsSumOp : SumOp {
  template <class D, class V>
  HWY_INLINE V mapped(D, V x) const {
    return hn::Abs(x);
  }
};
/// How many x are not 0; NaN is none.
struct CountOp : SumOp {
  template <class D, class V>
  HWY_INLINE V mapped(D d, V x) const {
    return hn::IfThenZeroElse(hn::Eq(x, hn::Zero(d)), hn::Set(d, hn::TFromD<D>{1}));
  }
};
struct AbsMaxOp : MaxOp {
  template <typename T>
  static constexpr T identity() {
    return T{0};
  }
  template <class D, class V>
  HWY_INLINE V mapped(D, V x) const {
    return hn::Abs(x);
  }
};
struct AbsMinOp : MinOp {
  template <class D, class V>
  HWY_INLINE V mapped(D, V x) const {
    return hn::Abs(x);
  }
};
/// (sum |x|^p)^(1/p), where p is neither 0 nor infinite.
struct PowerOp : SumOp {
  double p;
  template <class D, class V>
  HWY_INLINE V mapped(D d, V x) const {
    using T = hn::TFromD<D>;
    // log(0) is -inf, and exp of p times that is 0 or inf, as it should be.
    return exp_of(d, hn::Mul(log_of(d, hn::Abs(x)), hn::Set(d, static_cast<T>(p))));
  }
  template <typename T>
  T finished(T sum) const {
    return std::pow(sum, static_cast<T>(1 / p));
  }
};

template <class Op, typename T>
void run_norm(const TensorView& input, const TensorView& out, Op op) {
  if (out.numel == 1 && input.contiguous && input.numel != 0 && input.numel <= kChunk) {
    return reduce_small<Op, T>(input, out, 0, op);
  }
  const ReducePlan plan(input, out, false);
  if (input.numel == 0) {
    using Acc = AccumulatorOf<T>;
    const T nothing = static_cast<T>(op.finished(Op::template identity<Acc>()));
    for (int64_t i = 0; i < plan.kept.count; ++i) out.as<T>()[plan.kept.out_offset(i)] = nothing;
    return;
  }
  Reduction<Op, T>(input, out, plan, 0, op).run();
}

template <typename T>
void norm_kernel(const Context&, const TensorView& input, double p, const TensorView& out) {
  if (out.numel == 0) return;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (p == 2) return run_norm<EuclideanOp, T>(input, out, {});
  if (p == 1) return run_norm<AbsSumOp, T>(input, out, {});
  if (p == 0) return run_norm<CountOp, T>(input, out, {});
  if (p == kInf) return run_norm<AbsMaxOp, T>(input, out, {});
  if (p == -kInf) return run_norm<AbsMinOp, T>(input, out, {});
  PowerOp power;
  power.p = p;
  run_norm<PowerOp, T>(input, out, power);
}

}  // namespace

void fill_norm() {
  norm_kernels.set_cpu(DType::float16, &norm_kernel<Half>);
  norm_kernels.set_cpu(DType::bfloat16, &norm_kernel<BFloat16>);
  norm_kernels.set_cpu(DType::float32, &norm_kernel<float>);
  norm_kernels.set_cpu(DType::float64, &norm_kernel<double>);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
