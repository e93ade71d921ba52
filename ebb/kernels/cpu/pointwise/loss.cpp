// ebb/kernels/cpu/pointwise/loss.cpp -- the binary cross entropies, element by element.
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/math-inl.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "ebb/kernels/tables/bernoulli_loss.h"
#include "ebb/kernels/tables/logistic_loss.h"
#include "ebb/kernels/tables/logistic_slope.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

/// log(1 + x) without losing a small x: the rounding of 1 + x is undone by the quotient.
template <class D, class V>
HWY_INLINE V log_one_plus(D d, V x) {
  const V sum = hn::Add(hn::Set(d, 1), x);
  const V kept = hn::Sub(sum, hn::Set(d, 1));
  const V result = hn::Mul(log_of(d, sum), hn::Div(x, kept));
  return hn::IfThenElse(hn::Eq(kept, hn::Zero(d)), x, result);
}

/// What a result is the sum of: the second is the one that other terms may cancel.
template <class V>
struct Terms {
  V first, second;
};

/// softplus(x) - t x, the cross entropy of t with 1 / (1 + exp(-x)); never overflows.
struct LogisticLoss {
  template <class D, class V>
  static HWY_INLINE Terms<V> terms(D d, V x, V t) {
    const V tail = log_one_plus(d, exp_of(d, hn::Neg(hn::Abs(x))));
    const V zero = hn::Zero(d);
    const auto is_negative = hn::Lt(x, zero);
    const V above = hn::IfThenElse(is_negative, zero, x);  // keeps NaN
    // An infinite logit costs nothing where the target is its own, else its size.
    const V share = hn::IfThenElse(is_negative, hn::Neg(t), hn::Sub(hn::Set(d, 1), t));
    const V far = hn::IfThenElse(hn::Eq(share, zero), zero, hn::Mul(share, x));
    return {hn::IfThenElse(hn::IsInf(x), far, hn::NegMulAdd(t, x, above)), tail};
  }
};

/// 1 / (1 + exp(-x)) - t, its slope. Where x is positive, 1 - t less the share of the other class,
/// so that no digit is lost where t is 1.
struct LogisticSlope {
  template <class D, class V>
  static HWY_INLINE Terms<V> terms(D d, V x, V t) {
    const V one = hn::Set(d, 1);
    const V decay = exp_of(d, hn::Neg(hn::Abs(x)));
    const V least = hn::Div(decay, hn::Add(one, decay));
    const auto is_negative = hn::Lt(x, hn::Zero(d));
    return {hn::IfThenElse(is_negative, hn::Neg(t), hn::Sub(one, t)),
            hn::IfThenElse(is_negative, least, hn::Neg(least))};
  }
};

template <class Op>
struct SumOfTerms {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V t) const {
    const Terms<V> terms = Op::terms(d, x, t);
    return hn::Add(terms.first, terms.second);
  }
};

/// The same in float32, by which half types keep their last digit: lanes in which the terms cancel
/// are computed again in float64.
template <class Op>
struct MendedSum {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V t) const {
    const Terms<V> terms = Op::terms(d, x, t);
    const V sum = hn::Add(terms.first, terms.second);
    const V bound = hn::Mul(hn::Abs(terms.second), hn::Set(d, 1.0f / 32));
    const auto is_cancelled = hn::Lt(hn::Abs(sum), bound);
    if (HWY_LIKELY(hn::AllFalse(d, is_cancelled))) return sum;
    const hn::Repartition<double, D> wide;
    const hn::Half<D> half;
    const SumOfTerms<Op> exact;
    const auto low = exact(wide, hn::PromoteTo(wide, hn::LowerHalf(half, x)),
                           hn::PromoteTo(wide, hn::LowerHalf(half, t)));
    const auto high = exact(wide, hn::PromoteTo(wide, hn::UpperHalf(half, x)),
                            hn::PromoteTo(wide, hn::UpperHalf(half, t)));
    const V mended = hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
    return hn::IfThenElse(is_cancelled, mended, sum);
  }
};

/// -(t log x + (1 - t) log(1 - x)), with logarithms of at least -100 as PyTorch has it.
struct BernoulliLoss {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V t) const {
    const V least = hn::Set(d, -100);
    const V log_x = hn::Max(log_of(d, x), least);
    const V log_rest = hn::Max(log_one_plus(d, hn::Neg(x)), least);
    const V rest = hn::Mul(hn::Sub(hn::Set(d, 1), t), log_rest);
    return hn::Neg(hn::MulAdd(t, log_x, rest));
  }
};

template <class Op>
void fill_sums(KernelTable<BinaryKernel>& table) {
  set_rows<&binary_function<MendedSum<Op>, Half>>(table, DType::float16);
  set_rows<&binary_function<MendedSum<Op>, BFloat16>>(table, DType::bfloat16);
  set_rows<&binary_function<MendedSum<Op>, float>>(table, DType::float32);
  set_rows<&binary_function<SumOfTerms<Op>, double>>(table, DType::float64);
}

}  // namespace

void fill_loss() {
  fill_sums<LogisticLoss>(logistic_loss_kernels);
  fill_sums<LogisticSlope>(logistic_slope_kernels);
  fill<BernoulliLoss>(bernoulli_loss_kernels);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
